/** The agent tree of a log in which nobody is at work: who was, is interrupted, since nothing will follow by itself. */
import type { SessionEvent } from "@retinue/protocol";
import { type AgentNode, type AgentTree, MAIN } from "./agent-node.ts";
import { treeOf } from "./agent-tree.ts";

/** The fold of a whole log that nobody writes any more. */
export function interruptedTreeOf(events: readonly SessionEvent[]): AgentTree {
  return settled(events, isRunOver(events) ? "idle" : "interrupted");
}

/** The same for a session that is open and has nothing to do: its main agent waits for a prompt. */
export function restingTreeOf(events: readonly SessionEvent[]): AgentTree {
  return settled(events, "idle");
}

function settled(events: readonly SessionEvent[], main: "idle" | "interrupted"): AgentTree {
  const tree = treeOf(events);
  const last = events.at(-1);
  const endedAt = last && Date.parse(last.timestamp);
  const nodes = tree.nodes.values().reduce((left, node) => {
    const isRunning = node.status === "running";
    const status = !isRunning ? node.status : node.id === MAIN ? main : "interrupted";
    const rested: AgentNode = { ...node, status, calls: [], asks: [], endedAt: isRunning ? endedAt : node.endedAt };
    return left.set(node.id, rested);
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
