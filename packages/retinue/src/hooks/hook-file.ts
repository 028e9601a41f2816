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
import { type CommandHook, type HookForm, matcherOf } from "./command-hook.ts";

export interface HookFile {
  hooks: readonly CommandHook[];
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
});
const Entry = lazy(() => z.object(entryFields()));
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

function hooksOf(entries: unknown, place: Place): CommandHook[] {
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
        const unknown = unknownField(member);
        if (unknown !== undefined) problems.push(`${where}: ${unknown}`);
        return [hook];
      } catch (error) {
        problems.push(`${where} does not run: ${messageOf(error)}`);
        return [];
      }
    });
  });
}

function hookOf(member: unknown, { event, eventName, form, matcher }: Place & { matcher?: string }): CommandHook {
  const parsed = Entry().safeParse(member);
  if (!parsed.success) throw new Error(issueIn(parsed.error));
  const entry = parsed.data;
  if (entry.type !== undefined && entry.type !== "command")
    throw new Error(`only hooks of the type command run here, not ${entry.type}`);
  const hook: CommandHook = {
    event,
    eventName,
    form,
    matcher: entry.matcher ?? matcher,
    run: runOf(entry),
    cwd: entry.cwd,
    env: entry.env ?? {},
    limitMs: 1000 * (entry.timeoutSec ?? entry.timeout ?? DEFAULT_SECONDS[form]),
    isGuard: entry.onError === undefined ? form === "own" : entry.onError === "deny",
    isAsync: entry.async === true,
  };
  matcherOf(hook);
  return hook;
}

function runOf(entry: z.infer<ReturnType<typeof Entry>>): CommandHook["run"] {
  if (entry.exec !== undefined) return { program: entry.exec, args: entry.args ?? [] };
  const own = { win32: entry.powershell ?? entry.windows, darwin: entry.bash ?? entry.osx };
  const shell = process.platform === "win32" || process.platform === "darwin" ? own[process.platform] : undefined;
  const line = shell ?? (process.platform === "win32" ? undefined : (entry.bash ?? entry.linux)) ?? entry.command;
  if (line !== undefined) return { shell: line };
  throw new Error("it names no command for this system (bash, command or exec)");
}

function unknownField(member: unknown): string | undefined {
  const known = Object.keys(Entry().shape);
  const name = Object.keys(member ?? {}).find((each) => !known.includes(each) && !HARMLESS.has(each));
  return name === undefined ? undefined : `the field ${name} has no effect${didYouMean(name, known)}`;
}

function issueIn({ issues }: z.ZodError): string {
  const [first] = issues;
  const at = first?.path.join(".") ?? "";
  return `${at === "" ? "it" : at}: ${first?.message ?? "cannot be read"}`;
}
