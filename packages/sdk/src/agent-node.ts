/**
 * What the agent tree is made of, and functions that look things up in it.
 *
 * Owns the shape only; how events change it is in agent-tree.ts.
 */

import type { FleetProgress } from "@retinue/protocol";
import { PersistentMap } from "./persistent-map.ts";

/** The id of the main agent's node. Sub-agents have the id that their events carry as `agentId`. */
export const MAIN = "main";

/** `interrupted`: its process ended while it was at work, and a resume may go on with it. */
export type AgentStatus = "running" | "idle" | "completed" | "failed" | "cancelled" | "interrupted";

export interface Ask {
  readonly id: string;
  readonly kind: "permission" | "question" | "form" | "sampling" | "plan" | "host-tool";
  readonly text: string;
  readonly toolCallId: string | undefined;
  readonly since: number;
}

export interface NodeUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly cost: number;
  readonly turns: number;
  readonly calls: number;
}

export interface AgentNode {
  readonly id: string;
  readonly parentId: string | null;
  /** Names from the main agent down to this one; empty for the main agent. */
  readonly path: readonly string[];
  readonly depth: number;
  readonly name: string;
  readonly displayName: string;
  /** What its task is called; two tasks of one agent differ by it. */
  readonly taskName: string | undefined;
  readonly description: string;
  readonly childSessionId: string | undefined;
  /** The `task` call that started this agent. */
  readonly toolCallId: string | undefined;
  readonly mode: "sync" | "background";
  readonly model: string | undefined;
  readonly status: AgentStatus;
  readonly error: string | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Whether a turn of its own goes on. */
  readonly isInTurn: boolean;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly startedAt: number }[];
  readonly asks: readonly Ask[];
  readonly usage: NodeUsage;
  /** The usage of the next message is counted already. */
  readonly isUsageTold: boolean;
  /** Its last message or intent. */
  readonly latest: string | undefined;
  /** Whether its last message asked for calls. */
  readonly hasCalls: boolean;
  /** Whether it runs again after its first end, because it was sent a message. */
  readonly followUp: boolean;
  /** How far its todos are, of a fleet. */
  readonly fleet?: FleetProgress | undefined;
  readonly children: readonly string[];
}

export interface AgentTree {
  /** By id; the main agent's is MAIN. */
  readonly nodes: PersistentMap<AgentNode>;
  /** Which agent made a call that has not ended: permission and host-tool events name only the call. */
  readonly callers: PersistentMap<string>;
  /** Which agent an open ask belongs to, by the ask's id. */
  readonly askers: PersistentMap<string>;
}

export type WaitReason =
  | { readonly kind: Ask["kind"]; readonly text: string; readonly since: number }
  | { readonly kind: "sub-agent"; readonly text: string; readonly since: number }
  | { readonly kind: "tool"; readonly text: string; readonly since: number };

const NO_USAGE: NodeUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: 0,
  turns: 0,
  calls: 0,
};

export function newNode(id: string): AgentNode {
  return {
    id,
    parentId: null,
    path: [],
    depth: 0,
    name: id === MAIN ? "main" : "agent",
    displayName: id === MAIN ? "main" : "agent",
    taskName: undefined,
    description: "",
    childSessionId: undefined,
    toolCallId: undefined,
    mode: "sync",
    model: undefined,
    status: id === MAIN ? "idle" : "running",
    error: undefined,
    startedAt: undefined,
    endedAt: undefined,
    isInTurn: false,
    calls: [],
    asks: [],
    isUsageTold: false,
    usage: NO_USAGE,
    latest: undefined,
    hasCalls: false,
    followUp: false,
    children: [],
  };
}

export function emptyTree(): AgentTree {
  return {
    nodes: new PersistentMap([[MAIN, newNode(MAIN)]]),
    callers: new PersistentMap(),
    askers: new PersistentMap(),
  };
}

export function mainNode(tree: AgentTree): AgentNode {
  return tree.nodes.get(MAIN) ?? newNode(MAIN);
}

/** Only events of its work have come so far, and those say no name. */
export const isNameless = ({ id, toolCallId, displayName }: AgentNode): boolean =>
  toolCallId === undefined && displayName === newNode(id).displayName;

/** What an agent is called beside others: by its task, unless that has the name of the agent. */
export function titleOf({ displayName, taskName }: Pick<AgentNode, "displayName" | "taskName">): string {
  return taskName && taskName.toLowerCase() !== displayName.toLowerCase() ? taskName : displayName;
}

export function childrenOf(tree: AgentTree, node: AgentNode): AgentNode[] {
  return node.children.flatMap((id) => tree.nodes.get(id) ?? []);
}

/** Every node, parents before children, in the order in which they started. */
export function walk(tree: AgentTree, node: AgentNode = mainNode(tree)): AgentNode[] {
  return [node, ...childrenOf(tree, node).flatMap((child) => walk(tree, child))];
}

/** All asks that nobody has answered yet, with the agent that asks. */
export function openAsks(tree: AgentTree): { node: AgentNode; ask: Ask }[] {
  return tree.askers.keys().flatMap((id) => {
    const node = tree.nodes.get(tree.askers.get(id) ?? MAIN);
    const ask = node?.asks.find((open) => open.id === id);
    return node && ask ? [{ node, ask }] : [];
  });
}

/** What a running agent waits for; undefined when it is not running, or when only the model works. */
export function waitReason(tree: AgentTree, node: AgentNode): WaitReason | undefined {
  const [ask] = node.asks;
  if (ask) return { kind: ask.kind, text: ask.text, since: ask.since };
  if (node.status !== "running") return undefined;
  const [call] = node.calls;
  if (!call) return node.isInTurn ? undefined : waitForBackground(tree, node);
  const child = childrenOf(tree, node).find((sub) => sub.toolCallId === call.id);
  if (child) return { kind: "sub-agent", text: titleOf(child), since: call.startedAt };
  return { kind: "tool", text: call.name, since: call.startedAt };
}

/** An agent that has said what it has to say works on until its background agents have answered. */
function waitForBackground(tree: AgentTree, node: AgentNode): WaitReason | undefined {
  const working = childrenOf(tree, node).filter(({ mode, status }) => mode === "background" && status === "running");
  const [first] = working;
  if (!first) return undefined;
  const text = working.map(titleOf).join(", ");
  return { kind: "sub-agent", text, since: first.startedAt ?? 0 };
}

/** The usage of an agent and everything below it. */
export function totalUsage(tree: AgentTree, node: AgentNode = mainNode(tree)): NodeUsage {
  return walk(tree, node).reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
}

export function addUsage(a: NodeUsage, b: Partial<NodeUsage>): NodeUsage {
  return {
    inputTokens: a.inputTokens + (b.inputTokens ?? 0),
    outputTokens: a.outputTokens + (b.outputTokens ?? 0),
    cacheReadTokens: a.cacheReadTokens + (b.cacheReadTokens ?? 0),
    cacheWriteTokens: a.cacheWriteTokens + (b.cacheWriteTokens ?? 0),
    cost: a.cost + (b.cost ?? 0),
    turns: a.turns + (b.turns ?? 0),
    calls: a.calls + (b.calls ?? 0),
  };
}
