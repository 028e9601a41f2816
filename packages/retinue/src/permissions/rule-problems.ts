/**
 * What is wrong with a rule, in words. A rule that can never match must not look like protection, and one that is misspelt must not be taken for
 * the name of some tool.
 */
import type { PermissionRule } from "@retinue/protocol";
import { slipOf } from "../nearest.ts";
import { isKnownProgram } from "../shell-language/programs.ts";
import { isKnownReader } from "../shell-language/read-only.ts";
import { isReadRule } from "./policy.ts";
import { FOREIGN_WORDS, isRuleWord, KIND_WORDS, TOOL_WORDS } from "./rule-words.ts";
import { shellRuleProblem } from "./shell-rule-problems.ts";
import { isShellRule } from "./shell-rules.ts";
import { isUrlRule } from "./url-rules.ts";

export type Effect = "allow" | "deny";

export interface RuleContext {
  effect: Effect;
  /** Names of tools and servers that are known to exist. */
  names?: readonly string[];
}

const WORDS = [...KIND_WORDS, ...TOOL_WORDS, ...FOREIGN_WORDS];
const NO_NAME = /[\s,;()'"`|&<>$]/;

/** Undefined when the rule can be used. */
export function ruleProblem(rule: PermissionRule, context: RuleContext): string | undefined {
  return (
    kindProblem(rule, context) ?? (rule.argument === null ? undefined : argumentProblem(rule, rule.argument, context))
  );
}

function kindProblem({ kind, argument }: PermissionRule, { effect, names = [] }: RuleContext): string | undefined {
  if (names.includes(kind) || isRuleWord(kind)) return undefined;
  if (kind === "") return "it names no kind and no tool";
  if (NO_NAME.test(kind))
    return `'${kind}' is no name of a kind or a tool. A command is named like this: shell(${kind.trim()})`;
  if (effect === "allow" && kind.includes("*"))
    return "an allow rule has no pattern for names. --allow-all-tools allows everything";
  const meant = slipOf(kind, WORDS);
  if (meant === undefined) return undefined;
  const form = argument === null ? meant : `${meant}(${argument})`;
  return `there is no kind and no built-in tool '${kind}'. Did you mean ${form}? A tool of the host that is really called so is custom-tool(${kind})`;
}

function argumentProblem({ kind }: PermissionRule, argument: string, { effect }: RuleContext): string | undefined {
  if (argument.trim() === "") return `there is nothing in its brackets. Did you mean ${kind}?`;
  if (isShellRule({ kind, argument })) return shellRuleProblem(argument, effect);
  if (!isBalanced(argument)) return "its brackets do not match";
  const isOfFiles = isReadRule({ kind }) || kind === "write" || kind === "create" || kind === "edit";
  if (isOfFiles && argument.includes("*"))
    return "it names a file or a folder with everything in it, and * is no pattern there";
  if ((kind === "url" || kind === "web_fetch") && !isUrlRule(argument)) {
    return "it names no host or address, such as example.com, *.example.com or https://example.com/docs";
  }
  if (kind === "memory" || TOOL_WORDS.includes(kind)) return `a rule for ${kind} has nothing in brackets`;
  if (!isOfFiles && kind !== "url" && kind !== "web_fetch" && argument.includes("*"))
    return `* is no pattern here. Did you mean ${kind === "mcp" || kind === "custom-tool" ? kind : `mcp(${kind})`}?`;
  return undefined;
}

/** `--deny-tool rm`: on the command line no tool has such a name, and somebody means the program. */
export function programProblem({ kind, argument }: PermissionRule): string | undefined {
  if (isRuleWord(kind) || !(isKnownProgram(kind) || isKnownReader(kind))) return undefined;
  return `a command is named like this: shell(${argument === null ? kind : `${kind} ${argument}`})`;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === "(") depth++;
    if (char === ")" && --depth < 0) return false;
  }
  return depth === 0;
}

/** What is wrong with the text of a rule before it is taken apart. */
export function textProblem(typed: string): string | undefined {
  const text = typed.trim();
  if (text === "") return "it is empty";
  const opening = text.indexOf("(");
  if (opening < 0) return text.includes(")") ? "it has a closing bracket and no opening one" : undefined;
  if (opening === 0) return `it has no kind before its bracket. Did you mean shell${text}?`;
  if (/\)[\s,;]+[\w-]+\(/.test(text)) return "it is more than one rule. Give each of them its own option";
  if (!text.endsWith(")")) {
    if (text.includes(")")) return "something follows its closing bracket";
    return `it has no closing bracket. Did you mean ${text})?`;
  }
  return text.slice(opening + 1, -1).trim() === ""
    ? `there is nothing in its brackets. Did you mean ${text.slice(0, opening).trim()}?`
    : undefined;
}
