/**
 * What a shell command line is about, for whoever must allow it: command identifiers, paths, addresses, writes.
 *
 * What the line runs is read in shell-language/. Paths and addresses are for people to look at: they are guesses, and nothing is decided
 * by them.
 */
import type { PermissionRequest } from "@retinue/protocol";
import { isOfOnePiece } from "../../shell-language/approval.ts";
import type { ShellCommand } from "../../shell-language/command.ts";
import { loadGrammar } from "../../shell-language/grammar.ts";
import { readLine, type ShellLine } from "../../shell-language/line.ts";
import { identifierOf, nameOf } from "../../shell-language/programs.ts";
import { isReadOnlyIn } from "../../shell-language/read-only.ts";

export type ShellPermission = Extract<PermissionRequest, { kind: "shell" }>;

const names = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** The first argument of these is no file. */
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

interface About {
  intention: string;
  toolCallId: string;
}

/** The permission that a command line needs. */
export async function shellPermission(command: string, about: About): Promise<ShellPermission> {
  await loadGrammar();
  return shellRequest(command, about);
}

/** The same at once, when the grammar is loaded. */
export function shellRequest(command: string, { intention, toolCallId }: About): ShellPermission {
  const line = readLine(command);
  const isPlain = line.unclear === undefined && line.commands.length > 0;
  return {
    kind: "shell",
    toolCallId,
    fullCommandText: command,
    intention,
    commands: isPlain ? commandsOf(line) : [{ identifier: command, readOnly: false }],
    commandSegments: line.commands.map((segment) => ({
      identifier: isPlain ? identifierOf(segment) : segment.text,
      fullCommandText: segment.text,
    })),
    possiblePaths: pathsOf(line),
    possibleUrls: urlsOf(line).map((url) => ({ url })),
    hasWriteFileRedirection: line.redirections.some(({ isWrite }) => isWrite),
    canOfferSessionApproval: isPlain,
  };
}

/** The permission to type text into a running program. Only the whole text counts: what the program makes of it cannot be known. */
export async function typingPermission(text: string, about: About): Promise<ShellPermission> {
  const permission = await shellPermission(text, about);
  return { ...permission, commands: [{ identifier: text, readOnly: false }], canOfferSessionApproval: false };
}

function commandsOf(line: ShellLine): ShellPermission["commands"] {
  if (isOfOnePiece(line)) return [{ identifier: line.text, readOnly: false }];
  const readOnly = new Map<string, boolean>();
  for (const command of line.commands) {
    const identifier = identifierOf(command);
    readOnly.set(identifier, isReadOnlyIn(line, command) && (readOnly.get(identifier) ?? true));
  }
  return [...readOnly].map(([identifier, isReadOnly]) => ({ identifier, readOnly: isReadOnly }));
}

const argsOf = ({ words }: ShellCommand): string[] => words.slice(1).map(({ value }) => value);

function pathsOf(line: ShellLine): string[] {
  const redirected = line.redirections.map(({ target }) => target);
  return unique([...redirected, ...line.commands.flatMap(pathsOfCommand)]);
}

function pathsOfCommand(command: ShellCommand): string[] {
  const name = nameOf(command);
  const program = name.includes("/") ? [name] : [];
  if (TAKE_TEXT.has(name)) return program;
  if (name === "cd" && command.words.length === 1) return ["~"];
  const args = argsOf(command);
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

function urlsOf(line: ShellLine): string[] {
  const written = line.text.match(URL_PATTERN) ?? [];
  const bare = line.commands
    .filter((command) => FETCH.has(nameOf(command)))
    .flatMap(argsOf)
    .filter((arg) => /^[\w-]+(\.[\w-]+)+(:\d+)?(\/|$)/.test(arg));
  return unique([...written, ...bare.map((host) => `http://${host}`)]);
}

const unique = (values: readonly string[]) => [...new Set(values)];
