/**
 * The agent tree as text: one line per agent, drawn with box characters.
 *
 * Owns wording, symbols and colours. The facts about an agent come from agent-node.ts.
 */
import { visible } from "@retinue/protocol";
import {
  type AgentNode,
  type AgentStatus,
  type AgentTree,
  childrenOf,
  mainNode,
  type NodeUsage,
  titleOf,
  waitReason,
} from "./agent-node.ts";

export interface RenderOptions {
  /** ANSI colours; off unless asked for. */
  color?: boolean;
  /** Lines are cut to this many columns. */
  width?: number;
  /** The time that running agents are measured against (default: the clock). */
  now?: number;
}

const SIGNS: Record<AgentStatus, { sign: string; ansi: number }> = {
  running: { sign: "●", ansi: 36 },
  idle: { sign: "○", ansi: 2 },
  completed: { sign: "✓", ansi: 32 },
  failed: { sign: "✗", ansi: 31 },
  cancelled: { sign: "⊘", ansi: 33 },
  interrupted: { sign: "⊘", ansi: 33 },
};
const WAITING = { sign: "◌", ansi: 33 };

/** The whole tree, or the part below one node, without a line break at the end. */
export function renderTree(tree: AgentTree, options: RenderOptions = {}): string {
  return draw(tree, mainNode(tree), { first: "", rest: "" }, { now: Date.now(), ...options }).join("\n");
}

function draw(
  tree: AgentTree,
  node: AgentNode,
  lead: { first: string; rest: string },
  options: RenderOptions & { now: number },
): string[] {
  const children = childrenOf(tree, node);
  const below = children.flatMap((child, index) => {
    const isLast = index === children.length - 1;
    const next = { first: lead.rest + (isLast ? "└─ " : "├─ "), rest: lead.rest + (isLast ? "   " : "│  ") };
    return draw(tree, child, next, options);
  });
  return [line(tree, node, lead.first, options), ...below];
}

function line(
  tree: AgentTree,
  node: AgentNode,
  lead: string,
  { color, width, now }: RenderOptions & { now: number },
): string {
  const waits = waitReason(tree, node);
  const isAsk = waits !== undefined && waits.kind !== "tool" && waits.kind !== "sub-agent";
  const { sign, ansi } = isAsk ? WAITING : SIGNS[node.status];
  const facts = [state(node, waits && wordsFor(waits)), ...figures(node, now)].filter((fact) => fact !== "");
  const name = nameOf(node);
  const tail = cut(`  ${facts.join(" · ")}`, width === undefined ? Infinity : width - lead.length - 2 - name.length);
  if (!color) return `${lead}${sign} ${name}${tail}`;
  return `${dim(lead)}\u001b[${ansi}m${sign}\u001b[0m \u001b[1m${name}\u001b[0m${dim(tail)}`;
}

function nameOf(node: AgentNode): string {
  const title = titleOf(node);
  const agent = title === node.displayName ? node.name : node.displayName;
  const whole = title === agent ? title : `${title} (${agent})`;
  return oneLine(node.mode === "background" ? `${whole} &` : whole);
}

function state(node: AgentNode, waiting: string | undefined): string {
  if (waiting !== undefined) return oneLine(waiting);
  if (node.status === "failed" && node.error) return oneLine(`failed: ${node.error}`);
  return node.status;
}

function wordsFor({ kind, text }: { kind: string; text: string }): string {
  if (kind === "tool") return `runs ${text}`;
  return `waits for ${kind}: ${text}`;
}

/** What the agent itself has used; what is below it has lines of its own. */
function figures(node: AgentNode, now: number): string[] {
  const { usage } = node;
  return [todosOf(node), timeOf(node, now), count(usage.turns, "turn"), count(usage.calls, "call"), tokensOf(usage)];
}

function todosOf({ fleet }: AgentNode): string {
  if (!fleet) return "";
  const failed = fleet.failed + fleet.blocked;
  return `${fleet.done}/${fleet.total} todos${failed > 0 ? `, ${failed} blocked` : ""}`;
}

function timeOf({ startedAt, endedAt, status }: AgentNode, now: number): string {
  if (startedAt === undefined) return "";
  const until = status === "running" ? now : (endedAt ?? now);
  return `${(Math.max(0, until - startedAt) / 1000).toFixed(1)}s`;
}

function tokensOf({ inputTokens, outputTokens }: NodeUsage): string {
  if (inputTokens + outputTokens === 0) return "";
  return `${compact(inputTokens)} in, ${compact(outputTokens)} out`;
}

function compact(amount: number): string {
  if (amount < 1000) return String(amount);
  return amount < 1_000_000 ? `${(amount / 1000).toFixed(1)}k` : `${(amount / 1_000_000).toFixed(1)}M`;
}

function count(amount: number, word: string): string {
  if (amount === 0) return "";
  return `${amount} ${word}${amount === 1 ? "" : "s"}`;
}

/** Text from agents goes to a terminal: nothing in it is hidden or steers the terminal, and a line stays one line. */
function oneLine(text: string): string {
  return visible(text.trim());
}

function cut(text: string, columns: number): string {
  if (text.length <= columns) return text;
  return columns < 2 ? "" : `${text.slice(0, columns - 1)}…`;
}

function dim(text: string): string {
  return text === "" ? "" : `\u001b[2m${text}\u001b[0m`;
}
