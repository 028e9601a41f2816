/** `retinue why <session> <agent>`: every tool that the session knows, and whether this agent may call it. */
import { decideTool, type NodeLimits } from "../agents/effective-tools.ts";
import type { ToolRef } from "../agents/tool-patterns.ts";
import type { Rules } from "../permissions/rules.ts";
import { requestFor } from "./why-tool.ts";

export interface ListedTool {
  name: string;
  source: ToolRef["source"];
  /** `denied`: it may not be called. `asked`: no rule covers every call of it. */
  status: "allowed" | "asked" | "denied";
  reason: string;
}

interface Place {
  node: NodeLimits;
  rules: Rules;
  workingDirectory: string;
}

export async function toolsOf(tools: readonly ToolRef[], place: Place): Promise<ListedTool[]> {
  return await Promise.all(tools.map((tool) => listed(tool, place)));
}

async function listed(tool: ToolRef, { node, rules, workingDirectory }: Place): Promise<ListedTool> {
  const { name, source } = tool;
  const decision = decideTool(tool, node);
  if (!decision.allowed) return { name, source, status: "denied", reason: `${decision.reason} (${decision.rule})` };
  const request = await requestFor(tool, undefined, workingDirectory);
  if (!request) return { name, source, status: "allowed", reason: "needs no permission" };
  const { type, rule } = rules.decide(request);
  if (type === "allow") return { name, source, status: "allowed", reason: rule };
  if (type === "deny") return { name, source, status: "denied", reason: rule };
  return { name, source, status: "asked", reason: `needs permission (${request.kind})` };
}

export function listWords(title: string, tools: readonly ListedTool[]): string {
  const width = Math.max(...tools.map(({ name }) => name.length));
  const order = ["allowed", "asked", "denied"] as const;
  const sorted = order.flatMap((status) => tools.filter((tool) => tool.status === status));
  const lines = sorted.map(({ name, status, reason }) => `  ${name.padEnd(width)}  ${status.padEnd(7)}  ${reason}\n`);
  return `${title} and its tools:\n${lines.join("")}`;
}
