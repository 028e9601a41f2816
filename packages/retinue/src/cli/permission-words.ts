/**
 * A permission request in words for a person: what is asked, the flag that would allow it, and what "always" would cover.
 */
import { dirname, relative } from "node:path";
import { type Approval, type PermissionRequest, visible } from "@retinue/protocol";
import { coverage } from "../permissions/shell-rules.ts";
import { hostOf } from "../permissions/url-rules.ts";
import { isWithin } from "../real-path.ts";

export interface PermissionWords {
  /** One line: `run git push`. */
  what: string;
  /** More to look at before answering, such as a diff. */
  details: readonly string[];
  /** The command line option that would allow this. */
  /** Absent where no flag would: a hook wants somebody to decide. */
  flag: string | undefined;
  /** What "yes" is for: `this command`. */
  once: string;
  /** What "always" allows for the rest of the session; undefined when nothing sensible can be offered. */
  always: Always | undefined;
}

export interface Always {
  words: string;
  approval?: Approval;
  domain?: string;
  /** It can be kept for the folder too, for later sessions. */
  isForFolder?: boolean;
}

const MAX_DETAIL_LINES = 40;
/** More of one line fills the screen, and making it visible takes its time. */
const MAX_DETAIL_CHARACTERS = 4_000;

/** Everything in a request was chosen by somebody else, so nothing in these words is hidden or breaks a line. */
export function permissionWords(request: PermissionRequest, workingDirectory: string): PermissionWords {
  const { what, details, flag, always } = wordsFor(request, workingDirectory);
  return {
    once: ONCE[request.kind] ?? "this call",
    what: visible(what),
    details: details.map(visible),
    flag: flag === undefined ? undefined : visible(flag),
    always: always && { ...always, words: visible(always.words) },
  };
}

const ONCE: Readonly<Record<string, string>> = {
  shell: "this command",
  write: "this change",
  read: "this time",
  url: "this address",
};

type Words = Omit<PermissionWords, "once">;

function wordsFor(request: PermissionRequest, workingDirectory: string): Words {
  switch (request.kind) {
    case "shell":
      return shellWords(request);
    case "write":
      return writeWords(request, workingDirectory);
    case "read": {
      const paths = request.paths ?? [request];
      const what = `read ${paths.map(({ path, resolvedPath }) => `${shown(path, workingDirectory)}${leadsTo(resolvedPath)}`).join("; ")}`;
      const folders = new Set(paths.map(({ path, resolvedPath }) => dirname(resolvedPath ?? path)));
      const flag = [...folders].map((folder) => `--add-dir ${quoted(folder)}`).join(" ");
      return { what, details: [], flag, always: undefined };
    }
    case "url": {
      const host = URL.canParse(request.url) ? hostOf(new URL(request.url)) : request.url;
      const always = { words: `every page of ${host}`, domain: host };
      return { what: `fetch ${request.url}`, details: [], flag: allow(`url(${host})`), always };
    }
    case "mcp": {
      const { serverName, toolName } = request;
      const always = {
        words: `${toolName}, whatever its arguments,`,
        approval: { kind: request.kind, serverName, toolName },
        isForFolder: true,
      };
      return {
        what: `call ${toolName} of the MCP server ${serverName}`,
        details: [
          ...(request.readOnly ? ["The server says that this only reads. Nobody has checked that."] : []),
          ...jsonLines(request.args),
        ],
        flag: allow(toolName),
        always,
      };
    }
    case "custom-tool": {
      const { toolName } = request;
      const approval = { kind: request.kind, toolName };
      const always = { words: `${toolName}, whatever its arguments,`, approval, isForFolder: true };
      return { what: `call ${toolName}`, details: jsonLines(request.args), flag: allow(toolName), always };
    }
    case "hook": {
      const details = [...(request.hookMessage ? [request.hookMessage] : []), ...jsonLines(request.toolArgs)];
      return { what: `call ${request.toolName} (a hook asks)`, details, flag: undefined, always: undefined };
    }
    case "memory":
      return { what: `remember: ${request.fact}`, details: [], flag: allow("memory"), always: undefined };
    default:
      return { what: request.kind, details: [], flag: allow(request.kind), always: undefined };
  }
}

function shellWords(request: Extract<PermissionRequest, { kind: "shell" }>): Words {
  const identifiers = [...new Set(request.commands.map(({ identifier }) => identifier))];
  const [only] = identifiers;
  const rule = identifiers.length === 1 && only ? only : request.fullCommandText;
  return {
    what: `run ${request.fullCommandText}`,
    details: [...severalLines(request.fullCommandText), ...(request.warning ? [request.warning] : [])],
    flag: allow(`shell(${rule})`),
    always: request.canOfferSessionApproval ? alwaysRun(request, identifiers) : undefined,
  };
}

/** A line that is remembered whole is one to look at again in the next session, so it is not kept for the folder. */
function alwaysRun(request: Extract<PermissionRequest, { kind: "shell" }>, commandIdentifiers: string[]): Always {
  const approval = { kind: "commands" as const, commandIdentifiers };
  const { names, isWholeLine } = coverage(request);
  if (isWholeLine) return { words: "exactly this line", approval };
  const words = names.map(({ name, isExact }) => (isExact ? `\`${name}\`` : `\`${name} …\``)).join(" and ");
  return { words, approval, isForFolder: true };
}

/** A command of several lines is shown once more as it is laid out. */
function severalLines(command: string): readonly string[] {
  const lines = command.trimEnd().split("\n");
  return lines.length === 1 ? [] : bounded(lines);
}

function writeWords(request: Extract<PermissionRequest, { kind: "write" }>, workingDirectory: string): Words {
  const file = request.resolvedPath ?? request.fileName;
  const isInside = isWithin(workingDirectory, file);
  return {
    what: `write ${shown(request.fileName, workingDirectory)}${leadsTo(request.resolvedPath)}`,
    details: bounded(request.diff.split("\n")),
    flag: allow(isInside ? "write" : `write(${file})`),
    always: isInside
      ? { words: "every file in the working folder", approval: { kind: "write" }, isForFolder: true }
      : undefined,
  };
}

/** Where a link leads: the person must know what is really read or written. */
function leadsTo(target: string | undefined): string {
  return target === undefined ? "" : `, which is ${target}`;
}

function shown(path: string, workingDirectory: string): string {
  return isWithin(workingDirectory, path) ? relative(workingDirectory, path) || "." : path;
}

function jsonLines(args: unknown): readonly string[] {
  return args === undefined ? [] : bounded(JSON.stringify(args, null, 2).split("\n"));
}

function bounded(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_DETAIL_LINES) return lines.map(boundedLine);
  return [...lines.slice(0, MAX_DETAIL_LINES).map(boundedLine), `… ${lines.length - MAX_DETAIL_LINES} more lines`];
}

function boundedLine(line: string): string {
  if (line.length <= MAX_DETAIL_CHARACTERS) return line;
  return `${line.slice(0, MAX_DETAIL_CHARACTERS)} … ${line.length - MAX_DETAIL_CHARACTERS} more characters`;
}

const allow = (rule: string): string => `--allow-tool ${quoted(rule)}`;

/** As a shell reads it back. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
