/** The asks that a log leaves open: announced, and neither settled nor overtaken by the end of their call. */
import { AppError } from "@retinue/protocol";
import type { Ask } from "../permissions/asks.ts";
import type { StoredEvent } from "../store/store.ts";
import { envelopeOf, eventOf } from "../store/stored-event.ts";

export function openAsks(events: readonly StoredEvent[], hasAnswer: (requestId: string) => boolean): Ask[] {
  const open = new Map<string, Ask>();
  for (const event of events) {
    try {
      const asked = askOf(event);
      if (asked) open.set(asked.requestId, asked);
      else if (open.size > 0) settle(open, event, hasAnswer);
    } catch (error) {
      if (!(error instanceof AppError)) throw error; // One that cannot be read is reported by the replay.
    }
  }
  return [...open.values()];
}

function askOf(event: StoredEvent): Ask | undefined {
  const { sessionId } = event;
  const permission = eventOf(event, "permission.requested");
  if (permission) {
    const { requestId, permissionRequest, promptRequest } = permission.data;
    const payload = { permissionRequest, promptRequest };
    return { requestId, kind: "permission", sessionId, callId: permissionRequest.toolCallId, payload };
  }
  const tool = eventOf(event, "external_tool.requested");
  if (!tool) return undefined;
  const { requestId, toolCallId, toolName, arguments: args } = tool.data;
  const payload = { toolCallId, toolName, arguments: args };
  return { requestId, kind: "tool", sessionId, callId: toolCallId, payload };
}

function settle(open: Map<string, Ask>, event: StoredEvent, hasAnswer: (requestId: string) => boolean): void {
  const completed = eventOf(event, "permission.completed") ?? eventOf(event, "external_tool.completed");
  // An answer that is still kept has not become a result.
  if (completed && !hasAnswer(completed.data.requestId)) open.delete(completed.data.requestId);
  if (event.type !== "tool.execution_complete") return;
  const { data } = envelopeOf(event);
  const callId = "toolCallId" in data ? data.toolCallId : undefined;
  for (const [requestId, ask] of open)
    if (ask.sessionId === event.sessionId && ask.callId === callId) open.delete(requestId);
}
