/** A permission rule as it was typed. One that is not understood, or could never match, is wrong usage, because it would look like protection. */
import type { PermissionRule } from "@retinue/protocol";
import { parseRule } from "../permissions/policy.ts";
import { type Effect, programProblem, ruleProblem, textProblem } from "../permissions/rule-problems.ts";
import { inOwnWords, isRuleWord } from "../permissions/rule-words.ts";
import { projectRootOf } from "../project/root.ts";
import { UsageError } from "./usage-error.ts";

export const allowRule = (typed: string): PermissionRule => usableRule(typed, "allow");
export const denyRule = (typed: string): PermissionRule => usableRule(typed, "deny");

function usableRule(typed: string, effect: Effect): PermissionRule {
  const problem = textProblem(typed);
  if (problem) throw refused(typed, problem);
  const rule = inOwnWords(parseRule(typed));
  const found = programProblem(rule) ?? ruleProblem(rule, { effect });
  if (found) throw refused(typed, found);
  return rule;
}

/** About a rule that only counts for a tool or a server which this program does not bring itself; undefined for others. */
export function unknownNameNote({ kind, argument }: PermissionRule): string | undefined {
  if (isRuleWord(kind)) return undefined;
  const what = argument === null ? "a tool or an MCP server of that name" : "an MCP server of that name";
  return `retinue: '${kind}' is no kind of permission and no built-in tool; the rule counts only for ${what}`;
}

/** The names of servers that are configured are looked for only when there is such a rule. */
export async function noteUnknownNames(
  rules: readonly PermissionRule[],
  { home, cwd, note }: { home: string; cwd: string; note(line: string): void },
): Promise<void> {
  const notes = rules
    .map((rule) => ({ rule, words: unknownNameNote(rule) }))
    .filter(({ words }) => words !== undefined);
  if (notes.length === 0) return;
  const { readProjectServers, readUserServers } = await import("../mcp/config-files.ts");
  const project = readProjectServers({ folder: cwd, root: projectRootOf(cwd) });
  const servers = [...readUserServers(home).servers, ...project.servers].map(({ name }) => name);
  const isKnown = (kind: string) => servers.some((name) => kind === name || kind.startsWith(`${name}-`));
  for (const { rule, words = "" } of notes) if (!isKnown(rule.kind)) note(words);
}

const refused = (typed: string, problem: string): UsageError =>
  new UsageError(`the rule ${typed} cannot be used: ${problem}`);
