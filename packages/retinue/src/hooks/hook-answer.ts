/**
 * What the end of a command means: exit code 0 and JSON on its output, exit code 2 as a refusal, anything else as a failure.
 *
 * Both forms of JSON are read whatever the form of the hook: `{"permissionDecision": …}` and `{"hookSpecificOutput": {…}}`.
 */
import type { HookType } from "@retinue/protocol";
import * as z from "zod";
import { fromClaudeArgs } from "./claude-tools.ts";
import type { FileHook } from "./file-hook.ts";

export interface CommandEnd {
  /** Undefined when a signal ended it. */
  code: number | undefined;
  signal?: string;
  stdout: string;
  stderr: string;
}

/** The output of the hook; undefined when it said nothing. Throws when it failed. */
export function answerOf(hook: FileHook, end: CommandEnd, input: object): object | undefined {
  if (end.code === 2) return refusal(hook.event, firstWords(end.stderr) ?? firstWords(end.stdout));
  if (end.code !== 0) throw new Error(failureOf(end));
  const said = withoutProgress(end.stdout).trim();
  if (said === "") return undefined;
  const parsed = objectIn(said);
  if (parsed === undefined) return TEXT_IS_CONTEXT.has(hook.event) ? { additionalContext: cut(said) } : undefined;
  return outputIn(hook, parsed, input);
}

/** Where exit code 2 has no effect, its words are a failure that is shown. */
function refusal(event: HookType, words: string | undefined): object {
  const reason = words ?? "a hook refused it and gave no reason";
  if (event === "preToolUse") return { permissionDecision: "deny", permissionDecisionReason: reason };
  if (event === "postToolUse" || event === "postToolUseFailure") return { additionalContext: reason };
  if (MAY_BLOCK.has(event)) return { decision: "block", reason };
  throw new Error(`it ended with exit code 2: ${reason}`);
}

const MAY_BLOCK: ReadonlySet<HookType> = new Set([
  "userPromptSubmitted",
  "agentStop",
  "subagentStart",
  "subagentStop",
  "preCompact",
]);
/** Claude Code and Copilot both put the plain words of such a hook before the conversation. */
const TEXT_IS_CONTEXT: ReadonlySet<HookType> = new Set(["sessionStart", "userPromptSubmitted", "subagentStart"]);
const MAX_TEXT = 32 * 1024;

function failureOf({ code, signal, stderr }: CommandEnd): string {
  const how = signal === undefined ? `exit code ${code}` : `the signal ${signal}`;
  const words = firstWords(stderr);
  return `it ended with ${how}${words === undefined ? "" : ` (${words.slice(0, 500)})`}`;
}

const Output = z.object({
  continue: z.boolean().optional(),
  stopReason: z.string().optional(),
  decision: z.enum(["block", "approve", "allow", "deny", "ask"]).optional(),
  reason: z.string().optional(),
  permissionDecision: z.enum(["allow", "deny", "ask", "defer"]).optional(),
  permissionDecisionReason: z.string().optional(),
  modifiedArgs: z.unknown().optional(),
  updatedInput: z.unknown().optional(),
  modifiedPrompt: z.string().optional(),
  modifiedResult: z.unknown().optional(),
  additionalContext: z.string().nullish(),
});
const Wrapped = z.looseObject({ hookSpecificOutput: z.looseObject({}).optional() });

/** Throws when a field that decides something cannot be read: it may have been a refusal. */
function outputIn(hook: FileHook, given: object, input: object): object {
  const { hookSpecificOutput, ...rest } = Wrapped.parse(given);
  const parsed = Output.safeParse({ ...rest, ...hookSpecificOutput });
  if (!parsed.success) throw new Error(`its answer cannot be read (${parsed.error.issues[0]?.path.join(".")})`);
  const said = parsed.data;
  const { modifiedPrompt, modifiedResult } = said;
  const additionalContext = said.additionalContext ? cut(said.additionalContext) : undefined;
  const isStopped = said.continue === false && hook.event !== "agentStop" && hook.event !== "subagentStop";
  const isBlocked = isStopped || said.decision === "block" || said.decision === "deny";
  const reason = (isStopped ? said.stopReason : undefined) ?? said.reason ?? said.permissionDecisionReason;
  if (hook.event === "preToolUse")
    return { ...permission(hook, said, { isBlocked, reason, input }), additionalContext };
  if (isBlocked) return { ...refusal(hook.event, reason), ...(additionalContext ? { additionalContext } : {}) };
  return { modifiedPrompt, modifiedResult, additionalContext };
}

function permission(
  { form }: FileHook,
  said: z.infer<typeof Output>,
  { isBlocked, reason, input }: { isBlocked: boolean; reason: string | undefined; input: object },
): object {
  const old = said.decision === "approve" ? "allow" : said.decision;
  const named = said.permissionDecision ?? (old === "block" ? undefined : old);
  const decision = isBlocked ? "deny" : named === "defer" ? undefined : named;
  const tool: unknown = Reflect.get(input, "toolName");
  const theirs = said.updatedInput ?? (form === "claude" ? said.modifiedArgs : undefined);
  const args = theirs === undefined ? said.modifiedArgs : fromClaudeArgs(String(tool), theirs);
  return { permissionDecision: decision, permissionDecisionReason: reason, modifiedArgs: args };
}

/** Lines of progress are for a screen, and no part of the answer. */
function withoutProgress(text: string): string {
  if (!text.includes('"progress"')) return text;
  return text
    .split("\n")
    .filter((line) => !isProgress(line))
    .join("\n");
}

const Progress = z.object({ type: z.literal("progress") });

function isProgress(line: string): boolean {
  try {
    return Progress.safeParse(JSON.parse(line)).success;
  } catch {
    return false; // A line of an answer that has several.
  }
}

/**
 * Undefined for plain words. Throws for what begins like an object and is none. Words before an object are no part of it: many commands
 * say something before they decide.
 */
function objectIn(text: string): object | undefined {
  if (!text.startsWith("{")) {
    const [first, last] = [text.indexOf("\n{"), text.lastIndexOf("\n{")];
    return first < 0 ? undefined : (parsedObject(text.slice(first)) ?? objectIn(text.slice(last).trim()));
  }
  try {
    return z.looseObject({}).parse(JSON.parse(text));
  } catch (error) {
    throw new Error("its answer begins like JSON and cannot be read", { cause: error });
  }
}

function parsedObject(text: string): object | undefined {
  try {
    return z.looseObject({}).parse(JSON.parse(text));
  } catch {
    return undefined; // The last line may be one.
  }
}

function firstWords(text: string): string | undefined {
  const words = text.trim();
  return words === "" ? undefined : cut(words);
}

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n[cut]` : text);
