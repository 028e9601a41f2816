/**
 * What a call may do: a pure function from a request and the current rules to a verdict, which names the rule that decided.
 *
 * Owns the order: denials first, then approvals of everything, then rules, then earlier answers; otherwise a person is asked.
 */
import type { Approval, PermissionMode, PermissionRequest, PermissionRule } from "@retinue/protocol";
import { coversPaths, deniedPaths, isAllWithin } from "./path-rules.ts";
import { onlyReads, type ReadingPlace } from "./reading-lines.ts";
import {
  allowsLine,
  deniesLine,
  identifiersCover,
  isShellRule,
  lineOf,
  mayHideDenied,
  type ShellRequest,
} from "./shell-rules.ts";
import { coversUrl } from "./url-rules.ts";

export interface Policy {
  mode: PermissionMode;
  approveAll: boolean;
  approveReads: boolean;
  denied: readonly PermissionRule[];
  approved: readonly PermissionRule[];
  /** Answers "for this session" and "for this folder". */
  approvals: readonly { approval: Approval; scope: "session" | "location" }[];
  /** Folders in which standing approvals of reads and writes apply. */
  directories: readonly string[];
  isPathUnrestricted: boolean;
  allowedDomains: readonly string[];
  isUrlUnrestricted: boolean;
  /** Where a command line would run. Absent: it is not known, so none counts as one that only reads. */
  shell?: Pick<ReadingPlace, "workingDirectory" | "searchPath">;
}

export const askForAll: Policy = {
  mode: "manual",
  approveAll: false,
  approveReads: false,
  denied: [],
  approved: [],
  approvals: [],
  directories: [],
  isPathUnrestricted: false,
  allowedDomains: [],
  isUrlUnrestricted: false,
};

export type Verdict =
  | { type: "allow"; rule: string }
  | { type: "deny"; rule: string; rules: readonly PermissionRule[] }
  /** `mustAsk`: a denied command may hide in it, so no blanket approval decides, not even a hook. */
  | { type: "ask"; rule: string; mustAsk?: boolean };

export function decide(request: PermissionRequest, policy: Policy): Verdict {
  const [base = "/"] = policy.directories;
  const denying = policy.denied.filter((rule) => matches(rule, request, { how: "some", base }));
  if (denying.length > 0)
    return { type: "deny", rule: `deny rule ${denying.map(ruleText).join(", ")}`, rules: denying };
  if (request.kind === "hook") return { type: "ask", rule: "a hook asked" };
  const hidden = hiddenDenial(request, policy);
  if (hidden) return hidden;
  if (policy.approveAll) return { type: "allow", rule: "everything is approved" };
  if (policy.mode === "allow-all") return { type: "allow", rule: "permission mode allow-all" };
  if (policy.approveReads && request.kind === "read" && isAllInside(request, policy)) {
    return { type: "allow", rule: "reads in the allowed folders" };
  }
  if (policy.approveReads && request.kind === "shell" && isReading(request, policy)) {
    return { type: "allow", rule: "a command that only reads, in the allowed folders" };
  }
  const allowing = policy.approved.find((rule) => matches(rule, request, { how: "every", base }));
  if (allowing) return { type: "allow", rule: `allow rule ${ruleText(allowing)}` };
  const standing = policy.approvals.find(({ approval }) => covers(approval, request, policy));
  if (standing) return { type: "allow", rule: `approved for the ${standing.scope}: ${standing.approval.kind}` };
  if (request.kind === "url" && isUrlAllowed(request.url, policy)) return { type: "allow", rule: "allowed address" };
  return { type: "ask", rule: "no rule" };
}

export function ruleText({ kind, argument }: PermissionRule): string {
  return argument === null ? kind : `${kind}(${argument})`;
}

/** `write`, `shell(git push:*)`, `url(example.com)`, `my-server(tool)`, or the bare name of a tool. */
export function parseRule(text: string): PermissionRule {
  const [, kind = text, argument] = /^([^()]+)\((.*)\)$/s.exec(text.trim()) ?? [];
  return { kind: kind.trim(), argument: argument === undefined || argument === "" ? null : argument };
}

/** The tools that read files go by one rule, so that none of them is a way round it. */
export function isReadRule({ kind }: Pick<PermissionRule, "kind">): boolean {
  return kind === "read" || kind === "view" || kind === "grep" || kind === "glob";
}

interface Match {
  how: "some" | "every";
  /** The working folder. */
  base: string;
}

/** A command line has parts, and a linked file two paths: one match is enough to deny, but all must match to allow. */
function matches({ kind, argument }: PermissionRule, request: PermissionRequest, { how, base }: Match): boolean {
  switch (request.kind) {
    case "shell":
      return (
        isShellRule({ kind, argument }) &&
        (argument === null || (how === "some" ? deniesLine(argument, request) : allowsLine(argument, request)))
      );
    case "write":
      return (
        (kind === "write" || kind === "create" || kind === "edit") && coversPaths(argument, request, { how, base })
      );
    case "read":
      return isReadRule({ kind }) && coversPaths(argument, request, { how, base });
    case "url":
      return (
        (kind === "url" || kind === "web_fetch") &&
        (argument === null ||
          coversUrl(argument, request.url, { hasSubdomains: how === "some", isDenial: how === "some" }))
      );
    case "mcp":
      return (
        (kind === "mcp" && (argument === null || argument === request.serverName || argument === request.toolName)) ||
        (kind === request.serverName && (argument === null || `${kind}-${argument}` === request.toolName)) ||
        kind === request.toolName
      );
    case "custom-tool":
      return (
        kind === request.toolName || (kind === "custom-tool" && (argument === null || argument === request.toolName))
      );
    default:
      return kind === request.kind && argument === null;
  }
}

/** With a deny rule for commands, a line that cannot be seen through is asked about, unless exactly this line was approved. */
function hiddenDenial(request: PermissionRequest, policy: Policy): Verdict | undefined {
  if (request.kind !== "shell") return undefined;
  const denied = policy.denied.filter(isShellRule).flatMap(({ argument }) => argument ?? []);
  const reason = mayHideDenied(denied, request);
  if (reason === undefined) return undefined;
  const line = request.fullCommandText;
  const isNamed =
    policy.approved.some((rule) => isShellRule(rule) && rule.argument === line) ||
    policy.approvals.some(({ approval }) => approval.kind === "commands" && approval.commandIdentifiers.includes(line));
  return isNamed ? undefined : { type: "ask", rule: `a denied command may hide in the line: ${reason}`, mustAsk: true };
}

function covers(approval: Approval, request: PermissionRequest, policy: Policy): boolean {
  switch (approval.kind) {
    case "commands":
      return request.kind === "shell" && identifiersCover(approval.commandIdentifiers, request);
    case "read":
      return request.kind === "read" && isAllInside(request, policy);
    case "write":
      return request.kind === "write" && isAllInside(request, policy);
    case "mcp":
      return (
        request.kind === "mcp" &&
        approval.serverName === request.serverName &&
        (approval.toolName === null || toolOf(request) === approval.toolName || request.toolName === approval.toolName)
      );
    case "custom-tool":
      return request.kind === "custom-tool" && approval.toolName === request.toolName;
    case "memory":
      return request.kind === "memory";
    default:
      return false;
  }
}

function toolOf({ serverName, toolName }: { serverName: string; toolName: string }): string {
  return toolName.startsWith(`${serverName}-`) ? toolName.slice(serverName.length + 1) : toolName;
}

function isReading(request: ShellRequest, { shell, directories, denied }: Policy): boolean {
  if (!shell) return false;
  const [base = "/"] = directories;
  const reads = denied.filter(isReadRule);
  if (reads.some(({ argument }) => argument === null)) return false;
  const unreadable = deniedPaths(
    reads.flatMap(({ argument }) => argument ?? []),
    base,
  );
  return onlyReads(lineOf(request), { ...shell, directories, unreadable });
}

/** Whether every path of a request is in the folders. */
function isAllInside(
  request: Extract<PermissionRequest, { kind: "read" | "write" }>,
  { directories, isPathUnrestricted }: Policy,
): boolean {
  return isPathUnrestricted || isAllWithin(directories, request);
}

function isUrlAllowed(url: string, { isUrlUnrestricted, allowedDomains }: Policy): boolean {
  return (
    isUrlUnrestricted ||
    allowedDomains.some((domain) => coversUrl(domain, url, { hasSubdomains: true, isDenial: false }))
  );
}
