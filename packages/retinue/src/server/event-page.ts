/**
 * Events of a session in pages. A cursor says which way it reads and where it stands; it holds while its event is in the log.
 */
import type { SessionEvent } from "@retinue/protocol";
import type { Store, StoredEvent } from "../store/store.ts";

export type Direction = "forward" | "backward";

export interface PageQuery {
  cursor?: string;
  max?: number;
  direction?: Direction;
  matches?(event: StoredEvent): boolean;
}

export interface Page {
  /** As they came, also when the page was read backward. */
  events: SessionEvent[];
  cursor: string;
  hasMore: boolean;
  cursorStatus: "ok" | "expired";
}

const MAX = 1000;
const DEFAULT_MAX = 200;
const BATCH = 500;

export function readPage(store: Store, rootId: string, query: PageQuery): Page {
  const { direction, position, status } = standing(store, rootId, query);
  const max = Math.min(MAX, Math.max(1, Math.floor(query.max ?? DEFAULT_MAX)));
  const found: StoredEvent[] = [];
  let at = position;
  let hasMore = true;
  while (hasMore && found.length < max) {
    const batch = readBatch(store, rootId, direction, at);
    hasMore = batch.length === BATCH;
    for (const [index, event] of batch.entries()) {
      at = event.pos;
      if (query.matches?.(event) ?? true) found.push(event);
      if (found.length < max) continue;
      hasMore ||= index < batch.length - 1;
      break;
    }
  }
  const events = (direction === "backward" ? found.toReversed() : found).map(
    ({ json }) => JSON.parse(json) as SessionEvent,
  );
  return { events, cursor: cursorOf(direction, at), hasMore, cursorStatus: status };
}

/** The cursor of the end, for reading what comes. */
export function tailCursor(store: Store, rootId: string): string {
  const [last] = store.events(rootId, { backward: true, limit: 1 });
  return cursorOf("forward", last?.pos ?? 0);
}

function readBatch(store: Store, rootId: string, direction: Direction, at: number): StoredEvent[] {
  if (direction === "forward") return store.events(rootId, { after: at, limit: BATCH });
  return store.events(rootId, { before: at, backward: true, limit: BATCH });
}

function standing(
  store: Store,
  rootId: string,
  { cursor, direction: wanted = "forward" }: PageQuery,
): { direction: Direction; position: number; status: Page["cursorStatus"] } {
  const [, way, digits] = /^([fb])(\d+)$/.exec(cursor ?? "") ?? [];
  const direction = way === "b" ? "backward" : way === "f" ? "forward" : wanted;
  const start = direction === "forward" ? 0 : Number.MAX_SAFE_INTEGER;
  if (cursor === undefined) return { direction, position: start, status: "ok" };
  const position = Number(digits);
  const isThere =
    digits !== undefined &&
    (position === start || store.events(rootId, { after: position - 1, before: position + 1 }).length > 0);
  return isThere ? { direction, position, status: "ok" } : { direction, position: start, status: "expired" };
}

function cursorOf(direction: Direction, position: number): string {
  return `${direction === "forward" ? "f" : "b"}${position}`;
}
