/**
 * Hooks of one session tree: host callbacks, run in the order in which their clients joined, each between two events.
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
} from "@retinue/protocol";
import type { Session } from "../session/session.ts";

export interface HookHost {
  /** What it is asked before a call must not happen when it fails. */
  isGuard?: boolean;
  /** Its connection broke off: it fails whatever it is asked, and is asked only where that matters. */
  isLost?: boolean;
  invoke(call: { hookType: HookType; input: object }, options: { signal: AbortSignal }): Promise<unknown>;
}

/** The input without the fields that every hook gets. */
export type HookDetails<T extends HookType> = Omit<
  HookInput<T>,
  "sessionId" | "timestamp" | "cwd" | "agentId" | "agentName" | "agentPath" | "agentPathNames"
>;

export interface HookCaller {
  session: Session;
  agentName?: string;
  /** Names from the main agent's child down to the caller. */
  agentPathNames?: readonly string[];
  parentToolCallId?: string;
}

export interface HookOptions {
  caller: HookCaller;
  signal: AbortSignal;
  /** How long a hook may take; the session's limit when not given. */
  limitMs?: number;
}

const DEFAULT_LIMIT_MS = 60_000;

/** Asked before something happens, which the failure of a guard prevents. */
const GATES: ReadonlySet<HookType> = new Set(["preToolUse", "preMcpToolCall"]);

/** A guard failed; its message is the reason. */
export class GuardFailed extends Error {
  override readonly name = "GuardFailed";

  constructor(hookType: HookType, reason: string) {
    super(`the ${hookType} hook that guards calls failed: ${reason}`);
  }
}

export class Hooks {
  readonly #hosts: () => readonly HookHost[];
  readonly #limitMs: number;

  constructor({ hosts, limitMs = DEFAULT_LIMIT_MS }: { hosts: () => readonly HookHost[]; limitMs?: number }) {
    this.#hosts = hosts;
    this.#limitMs = limitMs;
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
    { caller, signal, limitMs = this.#limitMs }: HookOptions,
  ): Promise<HookOutput<T> | undefined> {
    let merged: HookOutput<T> | undefined;
    for (const host of this.#hosts()) {
      if (host.isLost && !GATES.has(hookType)) continue;
      const output = await this.#runOne(host, { hookType, details, caller, signal, limitMs });
      if (output !== undefined) merged = merge(merged, output);
      if (signal.aborted) break;
    }
    return merged;
  }

  async #runOne<T extends HookType>(
    host: HookHost,
    { hookType, details, caller, signal, limitMs }: Required<HookOptions> & { hookType: T; details: HookDetails<T> },
  ): Promise<HookOutput<T> | undefined> {
    const { session, agentName, agentPathNames, parentToolCallId } = caller;
    const hookInvocationId = session.world.newId();
    const input = {
      // Hooks of a sub-agent's start and stop are about it and belong to the root session; all others belong to its own session.
      sessionId: hookType === "subagentStart" || hookType === "subagentStop" ? session.root.id : session.id,
      timestamp: session.world.now(),
      cwd: session.place.workingDirectory,
      ...(session.parent ? { agentId: session.id, agentName, agentPath: session.agentPath, agentPathNames } : {}),
      ...details,
    };
    const frame = { hookInvocationId, hookType, ...(parentToolCallId ? { parentToolCallId } : {}) };
    session.append("hook.start", { ...frame, input });
    await recorded(session, frame, signal);
    const limit = new AbortController();
    const isGate = host.isGuard === true && GATES.has(hookType);
    try {
      const answer = await within(limitMs, limit, signal, host.invoke({ hookType, input }, { signal: limit.signal }));
      const output = answer === undefined || answer === null ? undefined : parseHookOutput(hookType, answer);
      if (isGate) checkReadable(answer, output);
      session.append("hook.end", { ...frame, success: true, ...(output === undefined ? {} : { output }) });
      return output;
    } catch (error) {
      session.append("hook.end", { ...frame, success: false, error: { message: messageOf(error) } });
      if (isGate && !signal.aborted) throw new GuardFailed(hookType, messageOf(error));
      return undefined;
    }
  }
}

/** What a hook does outside follows a start that is on record. A hook that could not be called has ended, and its caller gets no further. */
async function recorded(
  { log, append }: Pick<Session, "log" | "append">,
  frame: { hookInvocationId: string; hookType: HookType; parentToolCallId?: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await log.recorded({ signal });
  } catch (error) {
    append("hook.end", { ...frame, success: false, error: { message: messageOf(error) } });
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

async function within<T>(ms: number, limit: AbortController, signal: AbortSignal, work: Promise<T>): Promise<T> {
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

function merge<T extends object>(earlier: T | undefined, later: T): T {
  if (earlier === undefined) return later;
  const contexts = [earlier, later]
    .map((output) => ("additionalContext" in output ? output.additionalContext : undefined))
    .filter(Boolean);
  const given: Record<string, unknown> = defined(later);
  if ("permissionDecision" in earlier && earlier.permissionDecision === "deny") {
    given.permissionDecision = "deny";
    delete given.permissionDecisionReason; // The reason must come from the hook that denied.
  }
  return { ...earlier, ...given, ...(contexts.length > 0 ? { additionalContext: contexts.join("\n\n") } : {}) };
}
