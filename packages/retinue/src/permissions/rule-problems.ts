/** What is wrong with a rule, in words. A rule that can never match must not look like protection. */
import type { PermissionRule } from "@retinue/protocol";
import { isReadRule } from "./policy.ts";
import { isUrlRule } from "./url-rules.ts";

/** Undefined when the rule can be used. */
export function ruleProblem({ kind, argument }: PermissionRule): string | undefined {
  if (argument === null) return undefined;
  const isOfFiles = isReadRule({ kind }) || kind === "write" || kind === "create" || kind === "edit";
  if (isOfFiles && argument.includes("*"))
    return "it names a file or a folder with everything in it, and * is no pattern there";
  if ((kind === "url" || kind === "web_fetch") && !isUrlRule(argument)) {
    return "it names no host or address, such as example.com, *.example.com or https://example.com/docs";
  }
  return undefined;
}
