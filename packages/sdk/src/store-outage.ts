/**
 * A runtime whose store refuses to write: what it could not take is sent again when it says that the store is back.
 *
 * Owns what a session's events say about that. A host's answer exists only once, in the handler that has returned it, so nobody else could
 * give it again; docs/errors.md says the same of every other call to whoever makes it.
 */
import { messageOf, RemoteError, type SessionEvent } from "@retinue/protocol";
import type { EventHub } from "./event-hub.ts";

/** As long as a runtime waits between two tries, at most. */
const TRY_AGAIN_MS = 5_000;

export class StoreOutage {
  #isOn = false;
  #count = 0;

  get isOn(): boolean {
    return this.#isOn;
  }

  follow({ type, data }: SessionEvent): void {
    if (type === "session.error" && "errorType" in data && data.errorType === "storage") this.#begin();
    else if (isOver({ type, data })) this.over();
  }

  over(): void {
    this.#isOn = false;
  }

  /** Says later whether the store has refused since now. */
  watch(): () => boolean {
    const before = this.#isOn ? -1 : this.#count;
    return () => this.#isOn || this.#count !== before;
  }

  #begin(): void {
    this.#isOn = true;
    this.#count += 1;
  }
}

/** Sends until the runtime has taken it or refuses it for another reason. */
export async function outlasting<Result>(
  { hub, outage }: { hub: EventHub; outage: StoreOutage },
  send: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const hasRefused = outage.watch();
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof RemoteError) || isSessionGone(error) || !hasRefused()) throw error;
    }
    if (outage.isOn) await back(hub);
  }
}

/** Resolves also when it is time for another try; the wait of a session that was left rejects. */
async function back(hub: EventHub): Promise<void> {
  const over = hub.until((event) => (isOver(event) ? true : undefined), {
    timeoutMs: TRY_AGAIN_MS,
    what: "the store of the runtime",
  });
  await over.catch((error: unknown) => {
    if (hub.ended) throw error;
  });
}

function isOver({ type, data }: Pick<SessionEvent, "type" | "data">): boolean {
  return type === "session.info" && "infoType" in data && data.infoType === "storage";
}

/** A session whose lease was lost is closed by the runtime: nothing that is sent to it can be taken any more. */
function isSessionGone(error: RemoteError): boolean {
  return messageOf(error).includes("Session not found");
}
