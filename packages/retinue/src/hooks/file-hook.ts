/** A hook that a file names: a command or an address, which calls it is for, and how it is known to a person who allows it. */
import { createHash } from "node:crypto";
import { type HookType, visible } from "@retinue/protocol";
import { claudeNameOf } from "./claude-tools.ts";

/** Whose names the payload and the matcher have: ours, which are also Copilot's, or those of Claude Code. */
export type HookForm = "own" | "claude";

/** Started here. */
export type CommandRun = { shell: string } | { program: string; args: readonly string[] };

/** `${NAME}` and `$NAME`. */
export const VARIABLE = /\$(?:\{(\w+)\}|(\w+))/g;

/** Asked over HTTP. */
export interface HttpRun {
  url: string;
  /** Values may name variables: `Bearer $TOKEN`. */
  headers: Readonly<Record<string, string>>;
  /** The variables of our environment that may be sent. */
  variables: readonly string[];
}

export interface FileHook {
  event: HookType;
  /** The event as the file calls it. */
  eventName: string;
  form: HookForm;
  matcher?: string;
  run: CommandRun | HttpRun;
  cwd?: string;
  env: Readonly<Record<string, string>>;
  limitMs: number;
  /** When it fails before a call, the call is denied. */
  isGuard: boolean;
  /** Nobody waits for it. */
  isAsync: boolean;
}

export function commandLine({ run }: FileHook): string {
  if ("url" in run) return `POST ${run.url}`;
  return "shell" in run ? run.shell : [run.program, ...run.args].map(word).join(" ");
}

/** In full, for the person who allows it. */
export function hookLine(hook: FileHook): string {
  const env = Object.entries(hook.env).map(([name, value]) => `${name}=${word(value)}`);
  const about = hook.matcher ? `${hook.eventName}(${hook.matcher})` : hook.eventName;
  const where = hook.cwd === undefined ? "" : ` in ${hook.cwd}`;
  return visible(`${about}: ${[...env, commandLine(hook), ...sentWith(hook)].join(" ")}${where}`);
}

function sentWith({ run }: FileHook): string[] {
  if (!("url" in run)) return [];
  const headers = Object.entries(run.headers).map(([name, value]) => `${name}: ${word(value)}`);
  const variables = run.variables.length > 0 ? [`(sends the variables ${run.variables.join(", ")})`] : [];
  return [...(headers.length > 0 ? [`with ${headers.join(", ")}`] : []), ...variables];
}

/** Consent is for exactly this; a hook that has changed in any way is another one. */
export function hookIdentity({ eventName, matcher, run, cwd, env, isGuard, isAsync, limitMs }: FileHook): string {
  const sorted = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  const what = [eventName, matcher ?? null, run, cwd ?? null, sorted, isGuard, isAsync, limitMs];
  return `${HOOK_MARK}${createHash("sha256").update(JSON.stringify(what)).digest("hex")}`;
}

/** No identity of an MCP server begins with a space. */
const HOOK_MARK = " hook:";

/** Throws for a pattern that cannot be read. */
export function matcherOf({ form, matcher }: Pick<FileHook, "form" | "matcher">): (value: string) => boolean {
  if (matcher === undefined || matcher === "" || matcher === "*" || matcher === "**") return () => true;
  if (form === "claude" && /^[\w\s|.:-]+$/.test(matcher)) {
    const names = new Set(matcher.split("|").map((name) => name.trim()));
    return (value) => names.has(value);
  }
  const pattern = new RegExp(`^(?:${matcher})$`);
  return (value) => pattern.test(value.slice(0, MAX_VALUE));
}

/** Names are short; a pattern of somebody else is not let loose on more. */
const MAX_VALUE = 200;

/** What the matcher of an event is compared with: any of these. Undefined where a matcher has no meaning. */
export function matchedValues(event: HookType, input: object, form: HookForm): string[] | undefined {
  const field = MATCHED[event];
  if (field === undefined) return undefined;
  const value: unknown = Reflect.get(input, field);
  const own = typeof value === "string" ? [value] : [];
  if (form === "own") return own;
  if (field === "toolName") return [...own, ...claudeNames(input)];
  return event === "sessionStart" && value === "new" ? ["startup"] : own;
}

const MATCHED: Readonly<Partial<Record<HookType, string>>> = {
  preToolUse: "toolName",
  postToolUse: "toolName",
  postToolUseFailure: "toolName",
  subagentStart: "agentName",
  subagentStop: "agentName",
  notification: "notification_type",
  preCompact: "trigger",
  sessionStart: "source",
  sessionEnd: "reason",
};

function claudeNames(input: object): string[] {
  const name = claudeNameOf(input);
  return name === "Agent" ? [name, "Task"] : [name]; // The older name is still in many files.
}

const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : JSON.stringify(text));
