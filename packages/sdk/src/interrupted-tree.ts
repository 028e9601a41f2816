/** The agent tree of a log whose process is gone: who was at work in it is interrupted, since nothing will follow by itself. */
import type { SessionEvent } from "@retinue/protocol";
import { type AgentNode, type AgentTree, MAIN } from "./agent-node.ts";
import { treeOf } from "./agent-tree.ts";

/** The fold of a whole log that nobody writes any more. */
export function interruptedTreeOf(events: readonly SessionEvent[]): AgentTree {
  const tree = treeOf(events);
  const last = events.at(-1);
  const endedAt = last && Date.parse(last.timestamp);
  const isResting = isRunOver(events);
  const nodes = tree.nodes.values().reduce((left, node) => {
    const status = node.status !== "running" ? node.status : node.id === MAIN && isResting ? "idle" : "interrupted";
    const settled: AgentNode = {
      ...node,
      status,
      calls: [],
      asks: [],
      endedAt: node.status === "running" ? endedAt : node.endedAt,
    };
    return left.set(node.id, settled);
  }, tree.nodes);
  return { nodes, callers: treeOf([]).callers, askers: treeOf([]).askers };
}

/** Whether the main agent had answered what it was asked: a log does not say when a session is idle. */
function isRunOver(events: readonly SessionEvent[]): boolean {
  let isOver = true;
  for (const { type, data, agentId } of events) {
    if (agentId !== undefined) continue;
    if (type === "user.message") isOver = false;
    else if (type === "assistant.message") isOver = (data.toolRequests ?? []).length === 0;
    else if (type === "abort" || type === "session.error" || type === "session.shutdown") isOver = true;
  }
  return isOver;
}
