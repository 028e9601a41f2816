/**
 * What a call may do: a pure function from a request and the current rules to a verdict, which names the rule that decided.
 *
 * Owns the order: denials first, then approvals of everything, then rules, then earlier answers; otherwise a person is asked.
 */
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Approval, PermissionMode, PermissionRequest, PermissionRule } from "@retinue/protocol";
import { allowsLine, deniesLine, identifiersCover, isShellRule, mayHideDenied } from "./shell-rules.ts";

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
        (kind === "write" || kind === "create" || kind === "edit") &&
        pathsOf(request)[how]((path) => pathMatches(argument, path, base))
      );
    case "read":
      return (
        (kind === "read" || kind === "view" || kind === "grep" || kind === "glob") &&
        pathsOf(request)[how]((path) => pathMatches(argument, path, base))
      );
    case "url":
      return (
        (kind === "url" || kind === "web_fetch") &&
        (argument === null || hostOf(request.url) === argument || request.url.startsWith(argument))
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

type FileRequest = Extract<PermissionRequest, { kind: "read" | "write" }>;

/** The path as it was given, and with links resolved. */
function pathsOf(request: FileRequest): string[] {
  const given = request.kind === "read" ? request.path : request.fileName;
  return request.resolvedPath === undefined ? [given] : [given, request.resolvedPath];
}

/** A link inside a folder must not give access to what is outside. */
function isAllInside(request: FileRequest, policy: Policy): boolean {
  return pathsOf(request).every((path) => isInside(path, policy));
}

export function isInside(
  path: string,
  { directories, isPathUnrestricted }: Pick<Policy, "directories" | "isPathUnrestricted">,
): boolean {
  return isPathUnrestricted || directories.some((directory) => isWithin(directory, path));
}

export function isWithin(directory: string, path: string): boolean {
  const way = relative(directory, resolve(directory, path));
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** A relative path in a rule is relative to the working folder. */
function pathMatches(argument: string | null, path: string, base: string): boolean {
  return argument === null || path === argument || isWithin(resolve(base, argument), resolve(base, path));
}

function isUrlAllowed(url: string, { isUrlUnrestricted, allowedDomains }: Policy): boolean {
  const host = hostOf(url);
  return (
    isUrlUnrestricted ||
    (host !== undefined && allowedDomains.some((domain) => host === domain || host.endsWith(`.${domain}`)))
  );
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
