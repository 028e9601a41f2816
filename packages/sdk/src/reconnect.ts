/**
 * Reconnecting: how often to try, and which events were missed meanwhile.
 *
 * Owns the promise that no stored event is lost or delivered twice. Events that are not stored cannot be read again. A
 * missed `session.idle` is delivered again, because a program may wait for it (rejoin.ts).
 */
import type { SessionEvent } from "@retinue/protocol";
import { isUnknownMethod } from "./handshake.ts";
import type { Call } from "./rpc.ts";

export interface ReconnectOptions {
  /** How often to try (default 5). */
  attempts?: number;
  /** The pause before the second try; each later one is twice as long (default 100). */
  delayMs?: number;
}

const PAGE = 100;
const KEPT = 10 * PAGE;

/** The stored events of a session that were received already, and the live ones that wait for those that were missed. */
export class Received {
  readonly #ids = new Set<string>();
  #held: SessionEvent[] | undefined;
  #early: SessionEvent[] | undefined;

  /** Events to deliver now, given one that has just come. */
  admit(event: SessionEvent): SessionEvent[] {
    if (this.#held) {
      this.#held.push(event);
      return [];
    }
    if (!this.note(event)) return [];
    if (!this.#early) return [event];
    this.#early.push(event);
    return [];
  }

  /** Keeps live events back until the program has its session and can listen. */
  join(): void {
    this.#early ??= [];
  }

  /** What came while the session was joined. */
  get early(): readonly SessionEvent[] {
    return this.#early ?? [];
  }

  /** The same, to be delivered now. */
  joined(): readonly SessionEvent[] {
    const early = this.early;
    this.#early = undefined;
    return early;
  }

  /** Keeps live events back until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  /** What was missed, then what came meanwhile, each once. */
  release(missed: readonly SessionEvent[]): SessionEvent[] {
    const held = this.#held ?? [];
    this.#held = undefined;
    return [...this.joined(), ...[...missed, ...held].filter((event) => this.note(event))];
  }

  has(event: SessionEvent): boolean {
    return this.#ids.has(event.id);
  }

  /** False when the event was received before. */
  note(event: SessionEvent): boolean {
    if (event.ephemeral) return true;
    if (this.#ids.has(event.id)) return false;
    this.#ids.add(event.id);
    const [oldest] = this.#ids;
    if (this.#ids.size > KEPT && oldest !== undefined) this.#ids.delete(oldest);
    return true;
  }
}

/**
 * Stored events that were not received, oldest first. Reads back from the end, page by page, until a page holds nothing
 * new: the cost is that of what was missed, however long the log is.
 */
export async function missedEvents(call: Call, sessionId: string, received: Received): Promise<SessionEvent[]> {
  const missed: SessionEvent[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await readBack(call, sessionId, cursor);
    const fresh = page.events.filter((event) => !event.ephemeral && !received.has(event));
    missed.unshift(...fresh);
    if (!page.hasMore || fresh.length === 0) return missed;
    cursor = page.cursor;
  }
}

/** Marks the end of a session's log as received: a client that joins late must not get it as new. */
export async function markTail(call: Call, sessionId: string, received: Received): Promise<void> {
  const { events } = await readBack(call, sessionId, undefined);
  for (const event of events) received.note(event);
}

interface Page {
  events: SessionEvent[];
  cursor?: string;
  hasMore: boolean;
}

async function readBack(call: Call, sessionId: string, cursor: string | undefined): Promise<Page> {
  try {
    return await call("session.eventLog.read", {
      sessionId,
      direction: "backward",
      max: PAGE,
      cursor,
    });
  } catch (error) {
    if (!isUnknownMethod(error)) throw error;
    return { ...(await call("session.getMessages", { sessionId })), hasMore: false };
  }
}

/** Asks that were settled while the connection was lost need no answer. */
export function settledRequests(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "external_tool.completed" || event.type === "permission.completed" ? [event.data.requestId] : [],
  );
}

/** Tries until it works or the tries are used up; resolves with whether it worked. */
export async function retrying(
  attempt: () => Promise<void>,
  { attempts = 5, delayMs = 100 }: ReconnectOptions,
  { signal, mayGoOn }: { signal: AbortSignal; mayGoOn: () => boolean },
): Promise<boolean> {
  for (let tried = 0; tried < attempts && mayGoOn() && !signal.aborted; tried += 1) {
    if (tried > 0) await pause(delayMs * 2 ** (tried - 1), signal);
    if (signal.aborted) return false;
    try {
      await attempt();
      return true;
    } catch (error) {
      if (tried === attempts - 1) throw error;
    }
  }
  return false;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
