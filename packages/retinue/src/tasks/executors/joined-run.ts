/** The one run of a task that is a node of the tree without being an agent: where its events go, and those that end it. */
import type { EventData } from "@retinue/protocol";
import { endRun } from "../../session/run-boundary.ts";
import type { Session } from "../../session/session.ts";
import type { End } from "../moves.ts";
import type { FleetRecord, McpTaskRecord } from "../record.ts";

type Joined = FleetRecord | McpTaskRecord;

export function joinedRun({ id, ownerId }: Joined, { log }: Session): Parameters<typeof endRun>[1] {
  return { append: (type, data) => log.append(type, data, { sessionId: id }), parentId: ownerId, run: 1 };
}

/** What it answered is its last message, as with an agent. */
export function endJoinedRun(record: Joined, end: End, root: Session): void {
  const { callId: toolCallId, agentType: agentName, name, activeMs: durationMs } = record;
  const fleet: EventData<"subagent.completed">["fleet"] = record.kind === "fleet" ? record.progress : undefined;
  const who = { toolCallId, agentName, agentDisplayName: name, taskName: name };
  const about = { ...who, totalToolCalls: 0, totalTokens: 0, durationMs, ...(fleet && { fleet }) };
  const run = joinedRun(record, root);
  const text = "text" in end ? end.text : undefined;
  if (text) run.append("assistant.message", { messageId: root.world.newId(), content: text });
  if ("error" in end)
    endRun({ type: "subagent.failed", data: { ...about, error: end.error, reason: record.reason } }, run);
  else if (end.way === "completed") endRun({ type: "subagent.completed", data: about }, run);
  else endRun({ type: "subagent.completed", data: { ...about, cancelled: true } }, run);
}
