/**
 * What a file says about hooks: Copilot's form (`{"version": 1, "hooks": {"preToolUse": [{"bash": …}]}}`), that of Claude Code's settings
 * (`{"hooks": {"PreToolUse": [{"matcher": …, "hooks": [{"command": …}]}]}}`), and mixtures of both.
 *
 * The spelling of an event decides whose payload its commands get. One entry that cannot be used is left out and reported, and the others
 * count; a file that cannot be read as a whole has no hooks.
 */
import { type HookType, lazy, messageOf, visible } from "@retinue/protocol";
import * as z from "zod";
import { didYouMean } from "../nearest.ts";
import { checkAddress } from "../tools/web/guarded-fetch.ts";
import { type CommandRun, type FileHook, type HookForm, type HttpRun, matcherOf, VARIABLE } from "./file-hook.ts";

export interface HookFile {
  hooks: readonly FileHook[];
  /** `disableAllHooks`. */
  isOff: boolean;
  problems: readonly string[];
}

const OWN: Readonly<Record<string, HookType>> = {
  sessionStart: "sessionStart",
  sessionEnd: "sessionEnd",
  userPromptSubmitted: "userPromptSubmitted",
  preToolUse: "preToolUse",
  postToolUse: "postToolUse",
  postToolUseFailure: "postToolUseFailure",
  agentStop: "agentStop",
  subagentStart: "subagentStart",
  subagentStop: "subagentStop",
  preCompact: "preCompact",
  notification: "notification",
  errorOccurred: "errorOccurred",
};
const CLAUDE: Readonly<Record<string, HookType>> = {
  SessionStart: "sessionStart",
  SessionEnd: "sessionEnd",
  UserPromptSubmit: "userPromptSubmitted",
  PreToolUse: "preToolUse",
  PostToolUse: "postToolUse",
  PostToolUseFailure: "postToolUseFailure",
  Stop: "agentStop",
  SubagentStart: "subagentStart",
  SubagentStop: "subagentStop",
  PreCompact: "preCompact",
  Notification: "notification",
  ErrorOccurred: "errorOccurred",
};
export const EVENT_NAMES: readonly string[] = [...Object.keys(OWN), ...Object.keys(CLAUDE)];

const DEFAULT_SECONDS = { own: 30, claude: 60 } as const;
const MAX_SECONDS = 3600;
const MAX_HOOKS = 100;

const Settings = lazy(() =>
  z.object({
    version: z.literal(1).optional(),
    disableAllHooks: z.boolean().optional(),
    hooks: z.record(z.string(), z.unknown()).optional(),
  }),
);

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const seconds = () => z.number().positive().max(MAX_SECONDS).optional();
const text = () => z.string().min(1).optional();
const entryFields = () => ({
  type: z.string().optional(),
  matcher: z.string().max(500).optional(),
  bash: text(),
  powershell: text(),
  command: text(),
  linux: text(),
  osx: text(),
  windows: text(),
  exec: text(),
  args: z.array(z.string()).optional(),
  cwd: text(),
  env: z.record(z.string(), z.string()).optional(),
  timeoutSec: seconds(),
  timeout: seconds(),
  onError: z.enum(["deny", "ignore"]).optional(),
  async: z.boolean().optional(),
  url: text(),
  headers: z.record(z.string().regex(HEADER_NAME), z.string()).optional(),
  allowedEnvVars: z.array(z.string().regex(/^\w+$/)).optional(),
});
/** Those that say what runs. The others are for all hooks. */
const OF_COMMANDS = ["bash", "powershell", "command", "linux", "osx", "windows", "exec", "args", "cwd", "env"];
const OF_HTTP = ["url", "headers", "allowedEnvVars"];
const Entry = lazy(() => z.object(entryFields()));
type Entry = z.infer<ReturnType<typeof Entry>>;
const Group = lazy(() => z.object({ matcher: z.string().max(500).optional(), hooks: z.array(z.unknown()) }));
/** For screens of other programs. */
const HARMLESS: ReadonlySet<string> = new Set(["description", "comment", "$comment", "statusMessage", "once", "name"]);

export function parseHookFile(content: string, file: string): HookFile {
  const problems: string[] = [];
  const settings = settingsIn(content, file, problems);
  const hooks = Object.entries(settings.hooks ?? {}).flatMap(([eventName, entries]) => {
    const found = eventOf(eventName);
    if (found) return hooksOf(entries, { ...found, eventName, file, problems });
    const words = didYouMean(eventName, EVENT_NAMES) || ", so its hooks do not run";
    problems.push(`${file}: there is no event ${eventName} here${words}`);
    return [];
  });
  if (hooks.length > MAX_HOOKS) problems.push(`${file}: only the first ${MAX_HOOKS} of ${hooks.length} hooks count`);
  return {
    hooks: hooks.slice(0, MAX_HOOKS),
    isOff: settings.disableAllHooks === true,
    problems: problems.map((problem) => visible(problem)),
  };
}

function settingsIn(content: string, file: string, problems: string[]): z.infer<ReturnType<typeof Settings>> {
  try {
    const parsed = Settings().safeParse(JSON.parse(content));
    if (parsed.success) return parsed.data;
    problems.push(`${file}: ${issueIn(parsed.error)}, so none of its hooks run`);
  } catch (error) {
    problems.push(`${file}: it is not JSON (${messageOf(error)}), so none of its hooks run`);
  }
  return {};
}

function eventOf(name: string): { event: HookType; form: HookForm } | undefined {
  if (Object.hasOwn(OWN, name)) return { event: OWN[name] ?? "preToolUse", form: "own" };
  if (Object.hasOwn(CLAUDE, name)) return { event: CLAUDE[name] ?? "preToolUse", form: "claude" };
  return undefined;
}

interface Place {
  event: HookType;
  eventName: string;
  form: HookForm;
  file: string;
  problems: string[];
}

function hooksOf(entries: unknown, place: Place): FileHook[] {
  const { file, eventName, problems } = place;
  if (!Array.isArray(entries)) {
    problems.push(`${file}: ${eventName} must be a list, so its hooks do not run`);
    return [];
  }
  return entries.flatMap((entry: unknown, index) => {
    const where = `${file}: entry ${index + 1} of ${eventName}`;
    const group = Group().safeParse(entry);
    const members = group.success ? group.data.hooks : [entry];
    const matcher = group.success ? group.data.matcher : undefined;
    return members.flatMap((member) => {
      try {
        const hook = hookOf(member, { ...place, matcher });
        const remark = unknownField(member, hook) ?? unsentVariable(hook) ?? unheard(hook) ?? unpassed(member, hook);
        if (remark !== undefined) problems.push(`${where}: ${remark}`);
        return [hook];
      } catch (error) {
        problems.push(`${where} does not run: ${messageOf(error)}`);
        return [];
      }
    });
  });
}

function hookOf(member: unknown, { event, eventName, form, matcher }: Place & { matcher?: string }): FileHook {
  const parsed = Entry().safeParse(member);
  if (!parsed.success) throw new Error(issueIn(parsed.error));
  const entry = parsed.data;
  if (entry.type !== undefined && entry.type !== "command" && entry.type !== "http")
    throw new Error(`only hooks of the types command and http run here, not ${entry.type}`);
  const hook: FileHook = {
    event,
    eventName,
    form,
    matcher: entry.matcher ?? matcher,
    run: entry.type === "http" ? httpRunOf(entry) : runOf(entry),
    cwd: entry.cwd,
    env: entry.env ?? {},
    limitMs: 1000 * (entry.timeoutSec ?? entry.timeout ?? DEFAULT_SECONDS[form]),
    isGuard: entry.onError === undefined ? form === "own" : entry.onError === "deny",
    isAsync: entry.async === true,
  };
  matcherOf(hook);
  return hook;
}

function httpRunOf({ url, headers = {}, allowedEnvVars = [] }: Entry): HttpRun {
  if (url === undefined) throw new Error("it names no url");
  // An address may be shown as another one than it is; the one that is asked is the one that is read here.
  const { href } = checkAddress(url, url, { what: "the hook" });
  return { url: href, headers, variables: allowedEnvVars };
}

function runOf(entry: Entry): CommandRun {
  if (entry.exec !== undefined) return { program: entry.exec, args: entry.args ?? [] };
  const own = { win32: entry.powershell ?? entry.windows, darwin: entry.bash ?? entry.osx };
  const shell = process.platform === "win32" || process.platform === "darwin" ? own[process.platform] : undefined;
  const line = shell ?? (process.platform === "win32" ? undefined : (entry.bash ?? entry.linux)) ?? entry.command;
  // As Claude Code has it: arguments make a program of the command, and no shell is between.
  if (line !== undefined && line === entry.command && entry.args !== undefined)
    return { program: line, args: entry.args };
  if (line !== undefined) return { shell: line };
  throw new Error("it names no command for this system (bash, command or exec)");
}

function unknownField(member: unknown, { run }: FileHook): string | undefined {
  const ofOthers = "url" in run ? OF_COMMANDS : OF_HTTP;
  const known = Object.keys(Entry().shape).filter((name) => !ofOthers.includes(name));
  const name = Object.keys(member ?? {}).find((each) => !known.includes(each) && !HARMLESS.has(each));
  return name === undefined ? undefined : `the field ${name} has no effect${didYouMean(name, known)}`;
}

function unsentVariable({ run }: FileHook): string | undefined {
  if (!("url" in run)) return undefined;
  const named = Object.values(run.headers).flatMap((value) =>
    [...value.matchAll(VARIABLE)].map((found) => found[1] ?? found[2] ?? ""),
  );
  const unsent = named.find((name) => !run.variables.includes(name));
  return unsent === undefined ? undefined : `$${unsent} is sent as nothing, because allowedEnvVars does not name it`;
}

function unheard({ event, isAsync }: FileHook): string | undefined {
  return isAsync && event === "preToolUse" ? "it cannot deny a call, because nobody waits for it (async)" : undefined;
}

function unpassed(member: unknown, { run }: FileHook): string | undefined {
  const isGiven = typeof member === "object" && member !== null && "args" in member;
  return isGiven && "shell" in run ? "the field args has no effect: it goes with exec or command" : undefined;
}

function issueIn({ issues }: z.ZodError): string {
  const [first] = issues;
  const at = first?.path.join(".") ?? "";
  return `${at === "" ? "it" : at}: ${first?.message ?? "cannot be read"}`;
}
