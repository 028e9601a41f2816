/**
 * Hooks of one session tree: commands that files name, then callbacks of clients in the order in which these joined, each between two
 * events.
 *
 * Owns time limits and the merging of outputs. A hook that throws, hangs or answers nonsense is recorded and has no effect, unless it
 * is a guard: then what it was asked about must not happen.
 */
import {
  defined,
  type HookInput,
  type HookOutput,
  type HookType,
  longTimer,
  messageOf,
  parseHookOutput,
  visible,
} from "@retinue/protocol";
import type { Session } from "../session/session.ts";

/** What a file says about a hook, for events and people. */
export interface HookSource {
  file: string;
  command: string;
  plugin?: string;
}

export interface HookCall {
  hookType: HookType;
  input: object;
  /** In which it happens. */
  session: Session;
}

export interface HookHost {
  /** Absent for a callback of a client. */
  source?: HookSource;
  /** How long it may take; the limit of callbacks when not given. */
  limitMs?: number;
  /** Whether it wants to be asked; always when not given. */
  isAskedAbout?(call: HookCall): boolean;
  /** What it is asked before a call must not happen when it fails. */
  isGuard?: boolean;
  /** Its connection broke off: it fails whatever it is asked, and is asked only where that matters. */
  isLost?: boolean;
  invoke(call: HookCall, options: { signal: AbortSignal }): Promise<unknown>;
}

/** The file that every hook may read. */
export interface HookTranscript {
  readonly path: string;
  /** Brings the file up to date. */
  write(): Promise<unknown>;
}

/** The input without the fields that every hook gets. */
export type HookDetails<T extends HookType> = Omit<
  HookInput<T>,
  | "sessionId"
  | "timestamp"
  | "cwd"
  | "transcriptPath"
  | "parentSessionId"
  | "agentId"
  | "agentName"
  | "agentDisplayName"
  | "agentDescription"
  | "agentPath"
  | "agentPathNames"
>;

export interface HookCaller {
  session: Session;
  agentName?: string;
  agentDisplayName?: string;
  agentDescription?: string;
  /** Names from the main agent's child down to the caller. */
  agentPathNames?: readonly string[];
  parentToolCallId?: string;
}

export interface HookOptions {
  caller: HookCaller;
  signal: AbortSignal;
}

const DEFAULT_LIMIT_MS = 60_000;

/** Asked before something happens, which the failure of a guard prevents. */
const GATES: ReadonlySet<HookType> = new Set(["preToolUse", "preMcpToolCall"]);

/** A guard failed; its message is the reason. */
export class GuardFailed extends Error {
  override readonly name = "GuardFailed";

  constructor(hookType: HookType, { source, reason }: { source: HookSource | undefined; reason: string }) {
    super(`${nameOf(hookType, source)} that guards calls failed: ${reason}`);
  }
}

export interface HooksOptions {
  hosts(): readonly HookHost[];
  limitMs?: number;
  transcript?: HookTranscript;
}

export class Hooks {
  readonly #hosts: () => readonly HookHost[];
  readonly #limitMs: number;
  readonly #transcript: HookTranscript | undefined;
  readonly #reported = new Set<string>();

  constructor({ hosts, limitMs = DEFAULT_LIMIT_MS, transcript }: HooksOptions) {
    this.#hosts = hosts;
    this.#limitMs = limitMs;
    this.#transcript = transcript;
  }

  get isEmpty(): boolean {
    return this.#hosts().length === 0;
  }

  /**
   * Runs every hook of a type; later outputs win over earlier ones, contexts are joined. Undefined when none answered. Throws `GuardFailed`.
   */
  async run<T extends HookType>(
    hookType: T,
    details: HookDetails<T>,
    { caller, signal }: HookOptions,
  ): Promise<HookOutput<T> | undefined> {
    let merged: HookOutput<T> | undefined;
    for (const host of this.#hosts()) {
      if (host.isLost && !GATES.has(hookType)) continue;
      const input = { ...this.#shared(caller), ...details, ...changedBy(merged) };
      const call = { hookType, input, session: caller.session };
      if (host.isAskedAbout && !host.isAskedAbout(call)) continue;
      const output = await this.#runOne<T>(host, { ...call, hookType }, { caller, signal });
      if (output !== undefined) merged = merge(merged, output, host.source !== undefined);
      if (signal.aborted) break;
    }
    return merged;
  }

  #shared({ session, agentName, agentDisplayName, agentDescription, agentPathNames }: HookCaller): object {
    const agent = { agentName, agentDisplayName, agentDescription, agentPath: session.agentPath, agentPathNames };
    return {
      sessionId: session.id,
      timestamp: session.world.now(),
      cwd: session.place.workingDirectory,
      transcriptPath: this.#transcript?.path,
      ...(session.parent ? { parentSessionId: session.parent.id, agentId: session.id, ...agent } : {}),
    };
  }

  async #runOne<T extends HookType>(
    host: HookHost,
    call: HookCall & { hookType: T },
    { caller, signal }: HookOptions,
  ): Promise<HookOutput<T> | undefined> {
    const { hookType, input, session } = call;
    const { source, limitMs = this.#limitMs } = host;
    const { parentToolCallId } = caller;
    const frame = { hookInvocationId: session.world.newId(), hookType, ...defined({ parentToolCallId, source }) };
    session.append("hook.start", { ...frame, input });
    await recorded(session, frame, signal);
    const limit = new AbortController();
    const isGate = host.isGuard === true && GATES.has(hookType);
    try {
      await this.#transcript?.write();
      const answer = await within(limitMs, limit, signal, () => host.invoke(call, { signal: limit.signal }));
      const output = answer === undefined || answer === null ? undefined : parseHookOutput(hookType, answer);
      if (isGate) checkReadable(answer, output);
      session.append("hook.end", { ...frame, success: true, ...(output === undefined ? {} : { output }) });
      return output;
    } catch (error) {
      session.append("hook.end", { ...frame, success: false, error: { message: messageOf(error) } });
      if (signal.aborted) return undefined;
      if (source) this.#report(session, `${nameOf(hookType, source)} failed: ${messageOf(error)}`, isGate);
      if (isGate) throw new GuardFailed(hookType, { source, reason: messageOf(error) });
      return undefined;
    }
  }

  /** Nobody else would notice that a file's hook does not work. Each failure is said once; all of them are in the log. */
  #report(session: Session, failure: string, isGate: boolean): void {
    if (this.#reported.has(failure)) return;
    this.#reported.add(failure);
    const effect = isGate ? "What it was asked about is denied." : "It has no effect.";
    const message = visible(`${failure[0]?.toUpperCase()}${failure.slice(1)}. ${effect}`);
    session.root.announce("session.warning", { warningType: "hook", message });
  }
}

function nameOf(hookType: HookType, source: HookSource | undefined): string {
  return source ? `the ${hookType} hook ${brief(source.command)} of ${source.file}` : `the ${hookType} hook`;
}

const brief = (command: string): string => (command.length > 80 ? `${command.slice(0, 79)}…` : command);

/** What a hook does outside follows a start that is on record. A hook that could not be called has ended, and its caller gets no further. */
async function recorded(
  session: Session,
  frame: { hookInvocationId: string; hookType: HookType; parentToolCallId?: string; source?: HookSource },
  signal: AbortSignal,
): Promise<void> {
  try {
    await session.log.recorded({ signal });
  } catch (error) {
    session.append("hook.end", { ...frame, success: false, error: { message: messageOf(error) } });
    throw error;
  }
}

/** A guard that says something which nobody understands may have said no. */
function checkReadable(answer: unknown, output: object | undefined): void {
  if (answer === undefined || answer === null) return;
  if (output === undefined || typeof answer !== "object") throw new Error("its answer cannot be read");
  const given = Object.entries(answer).filter(([, value]) => value !== undefined && value !== null);
  const read: ReadonlySet<string> = new Set(Object.keys(defined(output)));
  const lost = given.filter(([name]) => !read.has(name)).map(([name]) => name);
  const isForeign = given.length > 0 && lost.length === given.length && !lost.includes("suppressOutput");
  const isWrong = lost.some((name) => name in output);
  if (isForeign || isWrong) throw new Error(`its answer cannot be read (${lost.join(", ")})`);
}

async function within<T>(ms: number, limit: AbortController, signal: AbortSignal, start: () => Promise<T>): Promise<T> {
  const work = start();
  let stop: () => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    const timer = longTimer(() => reject(new Error(`the hook did not answer within ${ms / 1000} s`)), ms);
    const onAbort = () => reject(new Error("the run was stopped"));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    stop = () => {
      timer.clear();
      signal.removeEventListener("abort", onAbort);
    };
  });
  try {
    return await Promise.race([work, ended]);
  } catch (error) {
    limit.abort();
    throw error;
  } finally {
    stop();
  }
}

/** What the next hook is asked about: it must not decide about something that will not happen. */
function changedBy(merged: object | undefined): object {
  const given = Object.entries(merged ?? {});
  return Object.fromEntries(
    given.flatMap(([name, value]) => {
      const input = CHANGES.get(name);
      return input === undefined || value === undefined ? [] : [[input, value]];
    }),
  );
}

/** What of an answer replaces what of the question. */
const CHANGES: ReadonlyMap<string, string> = new Map([
  ["modifiedArgs", "toolArgs"],
  ["modifiedPrompt", "prompt"],
  ["modifiedTransformedPrompt", "transformedPrompt"],
  ["modifiedResult", "toolResult"],
]);

function merge<T extends object>(before: T | undefined, later: T, isOfFile: boolean): T {
  if (before === undefined) return later;
  const earlier = stillMeant(before, later);
  const contexts = [earlier, later]
    .map((output) => ("additionalContext" in output ? output.additionalContext : undefined))
    .filter(Boolean);
  const given: Record<string, unknown> = defined(later);
  const [said, says] = [strictnessOf(earlier), strictnessOf(later)];
  // Nothing undoes a denial, and a file does not loosen what another has said.
  if (said === STRICTNESS.deny || (isOfFile && said > says)) {
    delete given.permissionDecision;
    delete given.permissionDecisionReason; // The reason must come from the hook that decided.
  }
  return { ...earlier, ...given, ...(contexts.length > 0 ? { additionalContext: contexts.join("\n\n") } : {}) };
}

/** Who allowed a call has not allowed what a later hook makes of it. */
function stillMeant<T extends object>(earlier: T, later: T): T {
  const isChanged = "modifiedArgs" in later && later.modifiedArgs !== undefined && later.modifiedArgs !== null;
  if (!isChanged || strictnessOf(earlier) !== STRICTNESS.allow) return earlier;
  return { ...earlier, permissionDecision: undefined, permissionDecisionReason: undefined };
}

const STRICTNESS = { allow: 1, ask: 2, deny: 3 } as const;

function strictnessOf(output: object): number {
  const decision = "permissionDecision" in output ? output.permissionDecision : undefined;
  return decision === "allow" || decision === "ask" || decision === "deny" ? STRICTNESS[decision] : 0;
}
