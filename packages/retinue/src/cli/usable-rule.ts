/** A permission rule as it was typed. One that could never match is wrong usage, because it would look like protection. */
import type { PermissionRule } from "@retinue/protocol";
import { parseRule } from "../permissions/policy.ts";
import { ruleProblem } from "../permissions/rule-problems.ts";
import { UsageError } from "./usage-error.ts";

export function usableRule(typed: string): PermissionRule {
  const rule = parseRule(typed);
  const problem = ruleProblem(rule);
  if (problem) throw new UsageError(`the rule ${typed} cannot be used: ${problem}`);
  return rule;
}
