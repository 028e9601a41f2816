/**
 * The ids of the calls in a session tree: one id, one call, for as long as the session lives.
 *
 * Endpoints choose the ids, and many of them count anew for each answer or each conversation, so two agents at work have the same `call_0`.
 * Here an id names a call across the tree: clients, asks and tasks find it by nothing else.
 */
import type { EventData, EventType } from "@retinue/protocol";

export class CallIds {
  readonly #used = new Set<string>();

  /** Of the log of an earlier process. */
  apply({ type, data }: { type: EventType; data: object }): void {
    if (type !== "assistant.message") return;
    for (const { toolCallId } of (data as EventData<"assistant.message">).toolRequests ?? [])
      this.#used.add(toolCallId);
  }

  /** Those of calls that were cut from the log count as well: whoever watches has seen them. */
  addAll(before: CallIds): void {
    for (const id of before.#used) this.#used.add(id);
  }

  /** The id that the endpoint wants, or one like it when another call has that. */
  claim(wanted: string): string {
    let id = wanted;
    for (let times = 2; this.#used.has(id); times++) id = `${wanted}_${times}`;
    this.#used.add(id);
    return id;
  }

  /** Claimed by an answer that broke off, so there is no such call. */
  release(id: string): void {
    this.#used.delete(id);
  }
}
