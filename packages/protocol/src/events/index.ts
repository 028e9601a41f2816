/**
 * All events, and the envelope around them.
 *
 * `SessionEvent` is the union that code is written against; `parseEvent` turns what came over a wire into it. An event
 * of a type that we do not know is passed on unchecked: clients must not break on new events.
 */
import * as z from "zod";
import { AppError } from "../errors.ts";
import { flag, lazy, open, text } from "../schema.ts";
import { ASK_EVENTS } from "./asks.ts";
import { CONVERSATION_EVENTS } from "./conversation.ts";
import { GATE_EVENTS } from "./gates.ts";
import { MCP_EVENTS } from "./mcp.ts";
import { SESSION_EVENTS } from "./session.ts";
import { SKILL_EVENTS } from "./skills.ts";
import { SUBAGENT_EVENTS } from "./subagents.ts";
import { TOOL_EVENTS } from "./tools.ts";

export const EVENTS = {
  ...SESSION_EVENTS,
  ...CONVERSATION_EVENTS,
  ...TOOL_EVENTS,
  ...SUBAGENT_EVENTS,
  ...ASK_EVENTS,
  ...MCP_EVENTS,
  ...SKILL_EVENTS,
  ...GATE_EVENTS,
};

export type EventType = keyof typeof EVENTS;
export type EventData<T extends EventType> = z.output<ReturnType<(typeof EVENTS)[T]["data"]>>;

export interface Envelope<Type extends string, Data> {
  type: Type;
  data: Data;
  id: string;
  /** ISO 8601. */
  timestamp: string;
  /** The previous stored event of the log; null only for the first. */
  parentId: string | null;
  /** Present and true when the event is not stored. */
  ephemeral?: boolean;
  /** The sub-agent whose event it is; absent for the main agent. */
  agentId?: string;
}

export type EventOf<T extends EventType> = Envelope<T, EventData<T>>;

/** Every event that we know, distinguished by `type`. */
export type SessionEvent = { [T in EventType]: EventOf<T> }[EventType];

/** An event of a type that we do not know. */
export type UnknownEvent = Envelope<string, Record<string, unknown>>;
/** What comes over a wire: ask `isKnownEvent` before switching on `type`. */
export type AnyEvent = SessionEvent | UnknownEvent;

const AnyEnvelope = lazy(() =>
  open({
    type: z.string(),
    data: z.record(z.string(), z.unknown()),
    id: z.string(),
    timestamp: z.string(),
    parentId: z.string().nullable(),
    ephemeral: flag(),
    agentId: text(),
  }),
);

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(EVENTS, type);
}

export function isKnownEvent(event: AnyEvent): event is SessionEvent {
  return isEventType(event.type);
}

/** Whether the log keeps events of this type. A single event may still be marked `ephemeral`. */
export function isPersisted(type: EventType): boolean {
  return EVENTS[type].persisted;
}

/** The event as it came, checked: its envelope always, its data when we know the type. */
export function parseEvent(value: unknown): AnyEvent {
  const envelope = AnyEnvelope().safeParse(value);
  if (!envelope.success) throw malformed("event", envelope.error);
  const { type, data } = envelope.data;
  if (isEventType(type)) {
    const parsed = EVENTS[type].data().safeParse(data);
    if (!parsed.success) throw malformed(`${type} event`, parsed.error);
  }
  return value as AnyEvent;
}

function malformed(what: string, error: z.ZodError): AppError {
  const [issue] = error.issues;
  const where = issue && issue.path.length > 0 ? `${issue.path.join(".")}: ` : "";
  return new AppError("invalid_params", `malformed ${what}: ${where}${issue?.message ?? ""}`, { cause: error });
}
