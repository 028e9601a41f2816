/**
 * Events of a session in pages. A cursor has a direction and a position; it is valid while its event is in the log.
 */
import type { SessionEvent } from "@retinue/protocol";
import type { Store, StoredEvent } from "../store/store.ts";
import { wireEvents } from "../store/stored-event.ts";

export type Direction = "forward" | "backward";

export interface PageQuery {
  cursor?: string;
  max?: number;
  direction?: Direction;
  matches?(event: Pick<StoredEvent, "type" | "sessionId">): boolean;
}

export interface Page {
  /** In log order, even when the page was read backward. */
  events: SessionEvent[];
  cursor: string;
  hasMore: boolean;
  cursorStatus: "ok" | "expired";
}

const MAX = 1000;
const DEFAULT_MAX = 200;
const BATCH = 500;

export async function readPage(store: Store, rootId: string, query: PageQuery): Promise<Page> {
  const { direction, position, status } = await standing(store, rootId, query);
  const max = Math.min(MAX, Math.max(1, Math.floor(query.max ?? DEFAULT_MAX)));
  const found: StoredEvent[] = [];
  let at = position;
  let hasMore = true;
  while (hasMore && found.length < max) {
    const batch = await readBatch(store, rootId, { direction, at });
    hasMore = batch.length === BATCH;
    for (const [index, event] of batch.entries()) {
      at = event.pos;
      if (query.matches?.(event) ?? true) found.push(event);
      if (found.length < max) continue;
      hasMore ||= index < batch.length - 1;
      break;
    }
  }
  const events = wireEvents(direction === "backward" ? found.toReversed() : found);
  return { events, cursor: cursorOf(direction, at), hasMore, cursorStatus: status };
}

/** The cursor at the end of the log, for reading new events. */
export async function tailCursor(store: Store, rootId: string): Promise<string> {
  const [last] = await store.events.read(rootId, { backward: true, limit: 1 });
  return cursorOf("forward", last?.pos ?? 0);
}

async function readBatch(
  { events }: Store,
  rootId: string,
  { direction, at }: { direction: Direction; at: number },
): Promise<StoredEvent[]> {
  if (direction === "forward") return await events.read(rootId, { after: at, limit: BATCH });
  return await events.read(rootId, { before: at, backward: true, limit: BATCH });
}

async function standing(
  store: Store,
  rootId: string,
  { cursor, direction: wanted = "forward" }: PageQuery,
): Promise<{ direction: Direction; position: number; status: Page["cursorStatus"] }> {
  const [, way, digits] = /^([fb])(\d+)$/.exec(cursor ?? "") ?? [];
  const direction = way === "b" ? "backward" : way === "f" ? "forward" : wanted;
  const start = direction === "forward" ? 0 : Number.MAX_SAFE_INTEGER;
  if (cursor === undefined) return { direction, position: start, status: "ok" };
  const position = Number(digits);
  const isThere =
    digits !== undefined &&
    (position === start || (await store.events.read(rootId, { after: position - 1, before: position + 1 })).length > 0);
  return isThere ? { direction, position, status: "ok" } : { direction, position: start, status: "expired" };
}

function cursorOf(direction: Direction, position: number): string {
  return `${direction === "forward" ? "f" : "b"}${position}`;
}
