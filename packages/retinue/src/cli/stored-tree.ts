/** The agent tree of a stored session. */
import type { SessionEvent } from "@retinue/protocol";
import { type AgentTree, treeOf } from "@retinue/sdk";

/** `assistant.usage` is told and not kept; the log has the same figures in the message of the turn. */
export function storedTree(events: readonly SessionEvent[]): AgentTree {
  return treeOf(events.flatMap((event) => [...usageOf(event), event]));
}

function usageOf(event: SessionEvent): SessionEvent[] {
  if (event.type !== "assistant.message" || !event.data.usage) return [];
  const { usage, model = "" } = event.data;
  return [{ ...event, type: "assistant.usage", data: { ...usage, model } }];
}
