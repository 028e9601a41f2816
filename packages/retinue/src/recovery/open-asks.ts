/** The asks that a log leaves open: announced, and neither settled nor overtaken by the end of their call. */
import type { EventData } from "@retinue/protocol";
import type { Ask } from "../permissions/asks.ts";
import type { StoredEvent } from "../store/store.ts";

export function openAsks(events: readonly StoredEvent[], hasAnswer: (requestId: string) => boolean): Ask[] {
  const open = new Map<string, Ask>();
  for (const { type, sessionId, json } of events) {
    switch (type) {
      case "permission.requested": {
        const { requestId, permissionRequest, promptRequest } = dataOf<"permission.requested">(json);
        open.set(requestId, {
          requestId,
          kind: "permission",
          sessionId,
          callId: permissionRequest.toolCallId,
          payload: { permissionRequest, promptRequest },
        });
        break;
      }
      case "external_tool.requested": {
        const { requestId, toolCallId, toolName, arguments: args } = dataOf<"external_tool.requested">(json);
        open.set(requestId, {
          requestId,
          kind: "tool",
          sessionId,
          callId: toolCallId,
          payload: { toolCallId, toolName, arguments: args },
        });
        break;
      }
      case "permission.completed":
      case "external_tool.completed": {
        // An answer that is still kept has not become a result.
        const { requestId } = dataOf<"external_tool.completed">(json);
        if (!hasAnswer(requestId)) open.delete(requestId);
        break;
      }
      case "tool.execution_complete": {
        const { toolCallId } = dataOf<"tool.execution_complete">(json);
        for (const [requestId, ask] of open)
          if (ask.sessionId === sessionId && ask.callId === toolCallId) open.delete(requestId);
        break;
      }
    }
  }
  return [...open.values()];
}

function dataOf<
  T extends "permission.requested" | "external_tool.requested" | "external_tool.completed" | "tool.execution_complete",
>(json: string): EventData<T> {
  return (JSON.parse(json) as { data: EventData<T> }).data;
}
