/**
 * Events as they are read from the store.
 *
 * A replay folds every event of a session, so it checks only the envelope: these events were appended by us, from typed data, and only a
 * damaged or edited file can make them wrong. Parsing the data of every event as well would take ten times as long as the whole replay
 * of a long session in a new process. Code that needs the data of a few events parses those in full.
 */
import {
  AppError,
  type EventOf,
  type EventType,
  isEventType,
  isKnownEvent,
  messageOf,
  parseEvent,
  type SessionEvent,
} from "@retinue/protocol";
import type { StoredEvent } from "./store.ts";

export interface StoredEnvelope {
  id: string;
  /** Undefined for a type that this version does not know. */
  type: EventType | undefined;
  timestamp: string;
  data: object;
}

/** Throws when the event is damaged; the message says which. */
export function envelopeOf(event: Pick<StoredEvent, "type" | "json">): StoredEnvelope {
  const envelope = parseJson(event);
  if (typeof envelope !== "object" || envelope === null) throw damaged(event, "it is no object");
  if (!("id" in envelope && "timestamp" in envelope && "data" in envelope)) throw damaged(event, "a part is missing");
  const { id, timestamp, data } = envelope;
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof data !== "object" || data === null)
    throw damaged(event, "a part is not what it should be");
  return { id, type: isEventType(event.type) ? event.type : undefined, timestamp, data };
}

/** The whole event, parsed; undefined when it is of another type. */
export function eventOf<T extends EventType>(
  event: Pick<StoredEvent, "type" | "json">,
  type: T,
): EventOf<T> | undefined {
  if (event.type !== type) return undefined;
  const parsed = parseEvent(parseJson(event));
  return isKnownEvent(parsed) && isOf(parsed, type) ? parsed : undefined;
}

/** Events for a client, as they were stored; clients check what they read. Damaged ones are left out. */
export function wireEvents(events: readonly { json: string }[]): SessionEvent[] {
  return events.flatMap(({ json }) => {
    try {
      const value: unknown = JSON.parse(json);
      return isOnWire(value) ? [value] : [];
    } catch {
      return []; // A resume of the session warns which it is.
    }
  });
}

function isOnWire(value: unknown): value is SessionEvent {
  return typeof value === "object" && value !== null && "id" in value && "type" in value && "data" in value;
}

function isOf<T extends EventType>(event: { type: EventType }, type: T): event is EventOf<T> {
  return event.type === type;
}

function parseJson(event: Pick<StoredEvent, "type" | "json">): unknown {
  try {
    return JSON.parse(event.json);
  } catch (error) {
    throw damaged(event, messageOf(error));
  }
}

function damaged({ type, json }: Pick<StoredEvent, "type" | "json">, why: string): AppError {
  const start = json.length > 80 ? `${json.slice(0, 80)}…` : json;
  return new AppError("store_unavailable", `A stored event (${type}) cannot be read: ${why}. It begins: ${start}`);
}
