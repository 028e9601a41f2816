/**
 * The agent tree: a pure fold over a session's events. Screens, the command line and the SDK draw the same tree because
 * they run the same fold. Owns how an event changes a node; drawing is in tree-text.ts. Events may come late or out of
 * order, because those of sub-agents travel on their own path. So an event of an unknown agent creates its node.
 */
import type { SessionEvent } from "@retinue/protocol";
import {
  type AgentNode,
  type AgentTree,
  type Ask,
  addUsage,
  emptyTree,
  isNameless,
  MAIN,
  type NodeUsage,
  newNode,
  titleOf,
} from "./agent-node.ts";
import { permissionAsk, textAsk } from "./shown-ask.ts";

export function foldTree(tree: AgentTree, event: SessionEvent): AgentTree {
  const id = event.agentId ?? MAIN;
  const at = Date.parse(event.timestamp);
  switch (event.type) {
    case "session.start":
      return change(tree, MAIN, { startedAt: at, model: event.data.selectedModel });
    case "subagent.started":
      return start(tree, event, at);
    case "subagent.progress":
      return change(tree, id, { fleet: event.data.fleet });
    case "subagent.configured":
      return change(tree, id, { model: event.data.model });
    case "subagent.completed":
      return end(tree, event, event.data.cancelled ? "cancelled" : "completed", at);
    case "subagent.failed":
      return end(tree, event, "failed", at, event.data.error);
    case "user.message":
      return begin(tree, id, at);
    case "assistant.turn_start":
      // Only a message starts a new run of a sub-agent: events of its last turns may come after its end.
      return change(count(id === MAIN ? begin(tree, id, at) : tree, id, { turns: 1 }), id, { isInTurn: true });
    case "assistant.intent":
      return event.data.intent ? change(tree, id, { latest: event.data.intent }) : tree;
    case "assistant.message":
      return addMessage(tree, id, event.data);
    case "assistant.usage":
      return markUsage(count(tree, id, usageOf(event.data)), id);
    case "assistant.turn_end":
      return settleFollowUp(change(tree, id, { isInTurn: false }), id, at);
    case "tool.execution_start":
      return startCall(tree, id, { id: event.data.toolCallId, name: event.data.toolName, startedAt: at });
    case "tool.execution_complete":
      return endCall(tree, id, event.data.toolCallId);
    case "permission.requested":
      return event.data.resolvedByHook ? tree : ask(tree, askerOf(event), permissionAsk(event.data, at));
    case "external_tool.requested":
      return ask(tree, askerOf(event), {
        id: event.data.requestId,
        kind: "host-tool",
        text: event.data.toolName,
        toolCallId: event.data.toolCallId,
        since: at,
      });
    case "user_input.requested":
      return ask(tree, askerOf(event), { ...textAsk("question", event.data, at), text: event.data.question });
    case "elicitation.requested":
      return ask(tree, askerOf(event), { ...textAsk("form", event.data, at), text: event.data.message });
    case "sampling.requested":
      return ask(tree, askerOf(event), { ...textAsk("sampling", event.data, at), text: event.data.message ?? "" });
    case "exit_plan_mode.requested":
      return ask(tree, event.agentId, { ...textAsk("plan", event.data, at), text: event.data.summary });
    case "permission.completed":
    case "external_tool.completed":
    case "user_input.completed":
    case "elicitation.completed":
    case "sampling.completed":
    case "exit_plan_mode.completed":
      return answered(tree, event.data.requestId);
    case "system.notification":
      return notified(tree, event.data.kind, at);
    case "session.model_change":
      return change(tree, id, { model: event.data.newModel });
    case "session.error":
      return change(tree, id, { error: event.data.message });
    case "abort":
      return aborted(tree, id, at);
    case "session.idle":
      return rest(tree, at);
    case "session.shutdown":
      return shutDown(tree, at);
    default:
      return tree;
  }
}

/** The fold of a whole log. */
export function treeOf(events: Iterable<SessionEvent>, tree: AgentTree = emptyTree()): AgentTree {
  let folded = tree;
  for (const event of events) folded = foldTree(folded, event);
  return folded;
}

type Started = Extract<SessionEvent, { type: "subagent.started" }>;
type Ended = Extract<SessionEvent, { type: "subagent.completed" | "subagent.failed" }>;
type MessageData = Extract<SessionEvent, { type: "assistant.message" }>["data"];
type UsageData = Partial<Extract<SessionEvent, { type: "assistant.usage" }>["data"]>;
type NotificationKind = Extract<SessionEvent, { type: "system.notification" }>["data"]["kind"];

function start(tree: AgentTree, event: Started, at: number): AgentTree {
  const { data } = event;
  const id = event.agentId ?? data.remoteSessionId ?? data.toolCallId;
  const parentId = data.parentId ?? tree.callers.get(data.toolCallId) ?? MAIN;
  const known = tree.nodes.get(id);
  // A second start is the next run; a first one that comes late belongs to the run that is known.
  const isNext = known?.toolCallId !== undefined;
  const node: AgentNode = {
    ...(known ?? newNode(id)),
    parentId,
    name: data.agentName,
    displayName: data.agentDisplayName || data.agentName,
    taskName: data.taskName,
    description: data.taskDescription || (data.agentDescription ?? ""),
    childSessionId: data.remoteSessionId ?? id,
    toolCallId: data.toolCallId,
    mode: data.executionMode === "background" ? "background" : "sync",
    model: data.model ?? known?.model,
    status: known && !isNext && isOver(known) ? known.status : "running",
    startedAt: isNext ? (known?.startedAt ?? at) : at,
    ...(isNext ? { endedAt: undefined, error: undefined, followUp: false } : {}),
  };
  const above = named(tree, data);
  return place(put({ ...above, callers: above.callers.delete(data.toolCallId) }, node), node);
}

/** Agents above one that starts, which started before anybody listened: the start names them. */
function named(tree: AgentTree, { path = [], pathNames = [] }: Started["data"]): AgentTree {
  return path.slice(0, -1).reduce((all, id, at) => {
    const displayName = pathNames[at];
    const known = all.nodes.get(id);
    if (displayName === undefined || (known && !isNameless(known))) return all;
    const node = { ...(known ?? newNode(id)), displayName, parentId: path[at - 1] ?? MAIN };
    return place(put(all, node), node);
  }, tree);
}

/** Puts a node under its parent, and computes path and depth of the node and of everything below it. */
function place(tree: AgentTree, node: AgentNode): AgentTree {
  const parentId = node.parentId ?? MAIN;
  const withParent = tree.nodes.get(parentId) ? tree : known(tree, newNode(parentId));
  const parent = withParent.nodes.get(parentId) ?? newNode(parentId);
  const children = parent.children.includes(node.id) ? parent.children : [...parent.children, node.id];
  const next = put(withParent, { ...parent, children });
  return repath(parentId === MAIN ? next : leaveMain(next, node.id), node.id, parent);
}

/** An agent whose events came before its start was under the main agent until now. */
function leaveMain(tree: AgentTree, id: string): AgentTree {
  const main = tree.nodes.get(MAIN);
  if (!main?.children.includes(id)) return tree;
  return put(tree, { ...main, children: main.children.filter((child) => child !== id) });
}

function repath(tree: AgentTree, id: string, parent: AgentNode): AgentTree {
  const node = tree.nodes.get(id);
  if (!node) return tree;
  const placed = { ...node, depth: parent.depth + 1, path: [...parent.path, titleOf(node)] };
  return node.children.reduce((next, child) => repath(next, child, placed), put(tree, placed));
}

function end(
  tree: AgentTree,
  event: Ended,
  status: "completed" | "failed" | "cancelled",
  at: number,
  error?: string,
): AgentTree {
  const id = event.agentId ?? byToolCall(tree, event.data.toolCallId);
  const found = id === undefined ? undefined : tree.nodes.get(id);
  if (!found) return tree; // An end without a start shows nothing.
  const node = isNameless(found) ? withName(found, event.data) : found;
  // Some runtimes cancel agents that wait for messages when a session ends; their last status stays.
  if (status === "cancelled" && (node.status === "completed" || node.status === "idle")) {
    return put(tree, { ...node, status: "completed" });
  }
  const { fleet = node.fleet } = event.data;
  const over = { ...node, fleet, status, error: error ?? node.error, endedAt: at, calls: [], asks: [] };
  return node === found ? put(tree, over) : place(put(tree, over), over);
}

/** Its start may still come, and says more. */
function withName(node: AgentNode, { agentName, agentDisplayName, taskName }: Ended["data"]): AgentNode {
  return { ...node, name: agentName, displayName: agentDisplayName || agentName, taskName };
}

function begin(tree: AgentTree, id: string, at: number): AgentTree {
  const node = tree.nodes.get(id) ?? newNode(id);
  if (node.status === "running") return node.startedAt === undefined ? change(tree, id, { startedAt: at }) : tree;
  return known(tree, {
    ...node,
    status: "running",
    startedAt: node.startedAt ?? at,
    endedAt: undefined,
    followUp: isOver(node),
  });
}

/** A stored message carries the usage of its turn; on a live stream `assistant.usage` came just before with the same numbers. */
function addMessage(tree: AgentTree, id: string, { content, toolRequests = [], usage }: MessageData): AgentTree {
  const node = tree.nodes.get(id) ?? newNode(id);
  const counted = usage && !node.isUsageTold ? addUsage(node.usage, usageOf(usage)) : node.usage;
  return known(tree, {
    ...node,
    latest: content || node.latest,
    hasCalls: toolRequests.length > 0,
    usage: counted,
    isUsageTold: false,
  });
}

function markUsage(tree: AgentTree, id: string): AgentTree {
  const node = tree.nodes.get(id);
  return node ? put(tree, { ...node, isUsageTold: true }) : tree;
}

/** Some runtimes tell the start and the end of the first run only: then a later run is over when a turn ends without calls. */
function settleFollowUp(tree: AgentTree, id: string, at: number): AgentTree {
  const node = tree.nodes.get(id);
  if (!node?.followUp || node.hasCalls || node.status !== "running" || id === MAIN) return tree;
  return put(tree, { ...node, status: "completed", endedAt: at });
}

function count(tree: AgentTree, id: string, more: Partial<NodeUsage>): AgentTree {
  const node = tree.nodes.get(id) ?? newNode(id);
  return known(tree, { ...node, usage: addUsage(node.usage, more) });
}

function usageOf(data: UsageData): Partial<NodeUsage> {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost } = data;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost };
}

function startCall(tree: AgentTree, id: string, call: AgentNode["calls"][number]): AgentTree {
  const node = tree.nodes.get(id) ?? newNode(id);
  const usage = { ...node.usage, calls: node.usage.calls + 1 };
  return adopt(known(tree, { ...node, usage, calls: [...node.calls, call] }), call.id, id);
}

function endCall(tree: AgentTree, id: string, callId: string): AgentTree {
  const node = tree.nodes.get(id);
  if (!node) return tree;
  return put(tree, { ...node, calls: node.calls.filter((call) => call.id !== callId) });
}

/** Some runtimes name the agent that asks, others only its call. */
function askerOf(event: { agentId?: string; data: { agentId?: string | undefined } }): string | undefined {
  return event.agentId ?? event.data.agentId;
}

function ask(tree: AgentTree, asker: string | undefined, asked: Ask): AgentTree {
  const caller = asked.toolCallId === undefined ? undefined : tree.callers.get(asked.toolCallId);
  const id = asker ?? caller ?? MAIN;
  const node = tree.nodes.get(id) ?? newNode(id);
  return known(tree, { ...node, asks: [...node.asks.filter((open) => open.id !== asked.id), asked] });
}

/** An ask that came before its call was filed under the main agent; now that the caller is known it moves. */
function adopt(tree: AgentTree, callId: string, id: string): AgentTree {
  const main = tree.nodes.get(MAIN);
  const moving = id === MAIN ? [] : (main?.asks.filter((open) => open.toolCallId === callId) ?? []);
  const node = tree.nodes.get(id);
  if (!main || !node || moving.length === 0) return tree;
  const asks = main.asks.filter((open) => open.toolCallId !== callId);
  return put(put(tree, { ...main, asks }), { ...node, asks: [...node.asks, ...moving] });
}

function answered(tree: AgentTree, requestId: string): AgentTree {
  const owner = tree.nodes.get(tree.askers.get(requestId) ?? "");
  if (!owner) return tree;
  return put(tree, { ...owner, asks: owner.asks.filter((open) => open.id !== requestId) });
}

function notified(tree: AgentTree, kind: NotificationKind, at: number): AgentTree {
  if (kind.type !== "agent_idle" && kind.type !== "agent_completed") return tree;
  const node = tree.nodes.get(kind.agentId);
  if (!node || node.status === "failed" || node.status === "cancelled") return tree;
  const status = kind.type === "agent_idle" ? "idle" : kind.status;
  return put(tree, { ...node, status, endedAt: node.endedAt ?? at });
}

function aborted(tree: AgentTree, id: string, at: number): AgentTree {
  const node = tree.nodes.get(id);
  if (!node) return tree;
  // Calls that an abort cuts off get no completion event.
  const cut = { ...node, calls: [], asks: [] };
  return put(tree, id === MAIN ? cut : { ...cut, status: "cancelled", endedAt: at });
}

function rest(tree: AgentTree, at: number): AgentTree {
  const main = tree.nodes.get(MAIN) ?? newNode(MAIN);
  return put(tree, { ...main, status: "idle", endedAt: at, calls: [], asks: [] });
}

function shutDown(tree: AgentTree, at: number): AgentTree {
  const over = tree.nodes.values().map((node): AgentNode => {
    if (node.status !== "running") return { ...node, calls: [], asks: [] };
    return { ...node, status: node.id === MAIN ? "idle" : "cancelled", endedAt: at, calls: [], asks: [] };
  });
  return over.reduce((left, node) => put(left, node), tree);
}

function change(tree: AgentTree, id: string, parts: Partial<AgentNode>): AgentTree {
  return known(tree, { ...(tree.nodes.get(id) ?? newNode(id)), ...parts });
}

/** Stores a node. One whose start has not arrived is placed under the main agent until then. */
function known(tree: AgentTree, node: AgentNode): AgentTree {
  if (node.id === MAIN || tree.nodes.get(node.id)) return put(tree, node);
  const placed = { ...node, parentId: MAIN };
  return place(put(tree, placed), placed);
}

/** The one place where a node is stored: what finds it by its calls and asks is kept with it. */
function put(tree: AgentTree, node: AgentNode): AgentTree {
  const before = tree.nodes.get(node.id);
  return {
    nodes: tree.nodes.set(node.id, node),
    callers: before?.calls === node.calls ? tree.callers : indexCalls(tree.callers, before?.calls ?? [], node),
    askers: before?.asks === node.asks ? tree.askers : indexAsks(tree.askers, before?.asks ?? [], node),
  };
}

function indexCalls(callers: AgentTree["callers"], before: AgentNode["calls"], { id, calls }: AgentNode) {
  const over = before.filter((call) => !calls.includes(call));
  // A background `task` call ends before `subagent.started` comes: its caller stays known until then.
  const kept = over.reduce((left, call) => (call.name === "task" ? left : left.delete(call.id)), callers);
  const made = calls.filter((call) => !before.includes(call));
  return made.reduce((left, call) => left.set(call.id, id), kept);
}

function indexAsks(askers: AgentTree["askers"], before: AgentNode["asks"], { id, asks }: AgentNode) {
  const kept = before.reduce((left, ask) => (left.get(ask.id) === id ? left.delete(ask.id) : left), askers);
  return asks.reduce((left, ask) => left.set(ask.id, id), kept);
}

function byToolCall(tree: AgentTree, toolCallId: string): string | undefined {
  return tree.nodes.values().find((node) => node.toolCallId === toolCallId)?.id;
}

const isOver = ({ status }: AgentNode): boolean => status !== "running" && status !== "interrupted";
