/** A permission rule as it was typed. One that is not understood, or could never match, is wrong usage, because it would look like protection. */
import type { PermissionRule } from "@retinue/protocol";
import { parseRule } from "../permissions/policy.ts";
import { type Effect, programProblem, ruleProblem, textProblem } from "../permissions/rule-problems.ts";
import { inOwnWords, isRuleWord } from "../permissions/rule-words.ts";
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

const refused = (typed: string, problem: string): UsageError =>
  new UsageError(`the rule ${typed} cannot be used: ${problem}`);
