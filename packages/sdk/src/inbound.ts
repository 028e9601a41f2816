/**
 * Routes what comes from the runtime: requests to their handlers, events to their sessions, lifecycle changes to listeners.
 *
 * Owns the order of steps for one event: the maps of child sessions change first, then the ask is answered, then
 * listeners get it.
 */
import type { Dispatch, SessionEvent } from "@retinue/protocol";
import type { Attached } from "./attached.ts";
import { answerEvent, type BroadcastHost } from "./broadcast.ts";
import { isRecord } from "./questions.ts";
import { answerRequest } from "./requests.ts";

export interface InboundHost extends BroadcastHost {
  /** Asks come as events from version 3 on. */
  asksByEvent(): boolean;
  lifecycle(notice: Record<string, unknown>): void;
}

export function inbound(host: InboundHost): Required<Pick<Dispatch, "request" | "notification">> {
  return {
    request: (method, params, options) => answerRequest(host, method, params, options),
    notification: (method, params) => {
      if (!isRecord(params)) return;
      if (method === "session.event") receive(host, params.sessionId, params.event);
      else if (method === "session.lifecycle") host.lifecycle(params);
    },
  };
}

function receive(host: InboundHost, sessionId: unknown, value: unknown): void {
  if (typeof sessionId !== "string" || !isEvent(value)) {
    host.onError(new TypeError("the runtime sent an event that cannot be read"));
    return;
  }
  const found = find(host, sessionId);
  if (!found) return; // A session that another client has, or that was left a moment ago.
  const { session, isChild } = found;
  const event = isChild && value.agentId === undefined ? { ...value, agentId: sessionId } : value;
  for (const next of session.received.admit(event)) deliver(host, session, next);
}

export function deliver(host: InboundHost, session: Attached, event: SessionEvent): void {
  host.children.observe(session.sessionId, event);
  session.activity.follow(event);
  session.outage.follow(event);
  if (host.asksByEvent()) answerEvent(host, session, event);
  session.hub.emit(event);
}

function find({ children }: InboundHost, sessionId: string) {
  try {
    return children.resolveSession(sessionId);
  } catch {
    return undefined; // Not ours: unlike a request, an event needs no answer.
  }
}

/** Checks the envelope of an event; its data is trusted as the runtime sent it. */
function isEvent(value: unknown): value is SessionEvent {
  return (
    isRecord(value) &&
    typeof value.type === "string" &&
    isRecord(value.data) &&
    typeof value.id === "string" &&
    typeof value.timestamp === "string"
  );
}
