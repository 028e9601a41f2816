/**
 * What a shell command line is about, for whoever must allow it: command identifiers, paths, addresses, writes.
 *
 * An identifier is what an approval is remembered by, so it must not cover more than a person would think: a program with
 * subcommands is named with its subcommand, and a program that runs other programs only by its whole text.
 */
import type { PermissionRequest } from "@retinue/protocol";
import { isReadOnlyCommand } from "./read-only-commands.ts";
import { type ParsedLine, parseShellLine, type Segment, type Word } from "./shell-syntax.ts";

export type ShellPermission = Extract<PermissionRequest, { kind: "shell" }>;

const names = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const RUN_OTHERS = names(
  "sudo doas su env nohup nice ionice timeout stdbuf setsid command builtin exec xargs parallel watch chroot unshare eval source . " +
    "bash sh zsh dash ksh fish python python2 python3 node deno bun perl ruby php lua osascript ssh awk gawk mawk trap alias",
);
const HAVE_SUBCOMMANDS = names(
  "git npm yarn pnpm npx bunx uvx uv docker podman kubectl helm cargo go gh pip pip3 apt apt-get brew systemctl dotnet terraform aws gcloud az",
);
/** Their arguments are words, not files. */
const TAKE_TEXT = names("echo printf sleep seq exit true false kill wait export type which");
/** Their first operand is a pattern, unless an option gives it. */
const TAKE_PATTERN = names("grep egrep fgrep rg sed jq");
const PATTERN_OPTION = /^(-[a-zA-Z]*[ef]|--(regexp|file|expression|from-file|files|type-list))/;
const FETCH = names("curl wget");
const URL_PATTERN = /\b(?:https?|ftp|wss?):\/\/[^\s'"`<>|;)]+/g;
const NUMBER = /^[+-]?\d+(\.\d+)?[smhd]?$/;

/** The permission that a command line needs. */
export function shellPermission(
  command: string,
  { intention, toolCallId }: { intention: string; toolCallId: string },
): ShellPermission {
  const line = parseShellLine(command);
  const isKnown = line.isComplete && line.segments.every((segment) => !nameOf(segment).isDynamic);
  return {
    kind: "shell",
    toolCallId,
    fullCommandText: command,
    intention,
    commands: isKnown ? commandsOf(line) : [{ identifier: command, readOnly: false }],
    commandSegments: line.segments.map((segment) => ({
      identifier: identifierOf(segment),
      fullCommandText: segment.text,
    })),
    possiblePaths: pathsOf(line),
    possibleUrls: urlsOf(command, line).map((url) => ({ url })),
    hasWriteFileRedirection: hasWriteRedirection(line),
    canOfferSessionApproval: isKnown,
  };
}

/** What `tool.execution_start` shows of a command line. */
export function shellToolInfo(command: string): { possiblePaths: string[]; hasWriteFileRedirection: boolean } {
  const line = parseShellLine(command);
  return { possiblePaths: pathsOf(line), hasWriteFileRedirection: hasWriteRedirection(line) };
}

const hasWriteRedirection = (line: ParsedLine) => line.redirections.some((redirection) => redirection.isWrite);

function commandsOf(line: ParsedLine): ShellPermission["commands"] {
  const readOnly = new Map<string, boolean>();
  for (const segment of line.segments) {
    const identifier = identifierOf(segment);
    const isReadOnly = !line.hasAssignments && isReadOnlySegment(segment);
    readOnly.set(identifier, isReadOnly && (readOnly.get(identifier) ?? true));
  }
  return [...readOnly].map(([identifier, isReadOnly]) => ({ identifier, readOnly: isReadOnly }));
}

const NO_WORD: Word = { value: "", source: "", isDynamic: true };
const nameOf = (segment: Segment): Word => segment.words[0] ?? NO_WORD;
const argsOf = (segment: Segment): Word[] => segment.words.slice(1);

function isReadOnlySegment(segment: Segment): boolean {
  const name = nameOf(segment).value;
  const args = argsOf(segment);
  if (segment.writesFile || (args.some((arg) => arg.isDynamic) && !TAKE_TEXT.has(name))) return false;
  if (name === "cd" && args.length === 0) return false;
  return isReadOnlyCommand(
    name,
    args.map((arg) => arg.value),
  );
}

function identifierOf(segment: Segment): string {
  const name = nameOf(segment).value;
  const [first, second] = argsOf(segment);
  if (RUN_OTHERS.has(name) || (name === "find" && !isReadOnlySegment(segment))) return segment.text;
  if (!HAVE_SUBCOMMANDS.has(name) || !first) return name;
  if (first.isDynamic || first.value.startsWith("-")) return segment.text;
  const isScript = first.value === "run" && second !== undefined;
  if (isScript && (second.isDynamic || second.value.startsWith("-"))) return segment.text;
  return isScript ? `${name} run ${second.value}` : `${name} ${first.value}`;
}

function pathsOf(line: ParsedLine): string[] {
  const redirected = line.redirections.map(({ target }) => target.value);
  return unique([...redirected, ...line.segments.flatMap(pathsOfSegment)]);
}

function pathsOfSegment(segment: Segment): string[] {
  const name = nameOf(segment).value;
  const program = name.includes("/") ? [name] : [];
  if (TAKE_TEXT.has(name)) return program;
  if (name === "cd" && segment.words.length === 1) return ["~"];
  const args = argsOf(segment).map((arg) => arg.value);
  const operands = args.filter((arg) => !arg.startsWith("-"));
  if (TAKE_PATTERN.has(name) && !args.some((arg) => PATTERN_OPTION.test(arg))) operands.shift();
  const files = HAVE_SUBCOMMANDS.has(name) ? operands.slice(1).filter(looksLikePath) : operands;
  return [...program, ...files, ...args.flatMap(pathInOption)].filter(isPossiblePath);
}

const looksLikePath = (text: string) => /[/.~]/.test(text);
const isPossiblePath = (text: string) =>
  text !== "" && text !== "]" && text !== "]]" && !NUMBER.test(text) && !text.includes("://");

/** `--file=/etc/x`, `-I/usr/include` */
function pathInOption(arg: string): string[] {
  const long = /^--[\w-]+=(.+)$/.exec(arg)?.[1];
  const short = /^-[a-zA-Z]([/~].*)$/.exec(arg)?.[1];
  return [long, short].filter((value) => value !== undefined && looksLikePath(value)).map(String);
}

function urlsOf(command: string, line: ParsedLine): string[] {
  const written = command.match(URL_PATTERN) ?? [];
  const bare = line.segments
    .filter((segment) => FETCH.has(nameOf(segment).value))
    .flatMap((segment) => argsOf(segment).map((arg) => arg.value))
    .filter((arg) => /^[\w-]+(\.[\w-]+)+(:\d+)?(\/|$)/.test(arg));
  return unique([...written, ...bare.map((host) => `http://${host}`)]);
}

const unique = (values: readonly string[]) => [...new Set(values)];
