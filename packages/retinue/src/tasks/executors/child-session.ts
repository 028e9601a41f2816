/**
 * Sub-agents: tasks that are child sessions.
 *
 * Owns their runs, from the first prompt to the answer, and the events of their end. Putting a child session together is in
 * open-child.ts; whether one may be started at all, in ../spawn-gate.ts.
 */
import { AppError } from "@retinue/protocol";
import { callerOf, settleInterrupted } from "../../loop/calls.ts";
import type { RunEnd } from "../../loop/drive.ts";
import type { Prompt } from "../../session/inbox.ts";
import { modeNow } from "../../session/mode-now.ts";
import { endRun } from "../../session/run-boundary.ts";
import type { Session } from "../../session/session.ts";
import { stopOf } from "../../session/stop.ts";
import { billOf } from "../../session/usage.ts";
import type { WorkingAgent } from "../../tree/working-agent.ts";
import type { Executor, RunOptions } from "../executor.ts";
import { enter, type Isolation, isPlaceGone, leave } from "../isolation.ts";
import type { End } from "../moves.ts";
import type { AgentRecord, TaskRecord } from "../record.ts";
import { agentView } from "./agent-view.ts";
import { firstPrompt, type InheritBlock, SpawnRefused } from "./first-prompt.ts";
import { type Child, type ChildDeps, loadSession, openChild, recordStart } from "./open-child.ts";
import { type TimeLimit, timeLimit } from "./time-limit.ts";
import { judge, responseFormat, withSchema } from "./typed-result.ts";

export interface ChildSessionsOptions extends ChildDeps {
  /** The agent that a session of the tree belongs to, or that stands for it; the main agent when the session is unknown. */
  agentOf(sessionId: string): WorkingAgent;
  inherit: InheritBlock;
  isolation: Isolation;
  /** From the main agent's child down to this one. */
  pathOf(record: AgentRecord): readonly TaskRecord[];
}

export class ChildSessions implements Executor<AgentRecord> {
  readonly kind = "agent";
  readonly traits = { isKept: true, joinsOwner: true, isAddressable: true, runsHere: true, delaysIdle: true };
  readonly view;
  readonly #options: ChildSessionsOptions;
  readonly #open = new Map<string, Child>();
  readonly #closing = new Map<string, Promise<void>>();

  constructor(options: ChildSessionsOptions) {
    this.#options = options;
    const { root, usage } = options.parts;
    this.view = agentView({ root, usage, pathOf: options.pathOf });
  }

  /** The child sessions that are open in this process. */
  get opened(): readonly Child[] {
    return [...this.#open.values()];
  }

  find(sessionId: string): Child | undefined {
    return this.#open.get(sessionId);
  }

  async open(record: AgentRecord, { isNew, signal }: { isNew: boolean; signal: AbortSignal }): Promise<void> {
    if (this.#open.has(record.id)) return;
    const isKnown = !isNew && (await this.#options.store.sessions.get(record.id)) !== undefined;
    const parent = this.#options.agentOf(record.ownerId);
    const { isolation } = this.#options;
    if (isNew) await enter(record, isolation, { owner: parent.session.place, signal });
    try {
      this.#open.set(record.id, await openChild(record, parent, { ...this.#options, isKnown, signal }));
    } catch (error) {
      const { root } = this.#options.parts;
      if (isNew) await leave(record, isolation, { end: { way: "cancelled" }, mode: () => modeNow(root) });
      throw error;
    }
  }

  async start(record: AgentRecord, options: RunOptions): Promise<End | undefined> {
    const { signal } = options;
    const child = this.#child(record);
    const prompt = await firstPrompt(record, child, { ...this.#options, signal }).catch(refusedSpawn);
    if (typeof prompt !== "string") return prompt;
    if (signal.aborted) return stopOf(signal)?.isParked ? undefined : { way: "cancelled" };
    const { parent, root } = child.session;
    addPrompt(child, record, { prompt, displayPrompt: record.prompt, source: `agent-${parent?.id ?? root.id}` });
    child.runner.wake();
    return await endOf(child, record, { ...options, save: this.#options.save });
  }

  async continue(record: AgentRecord, options: RunOptions): Promise<End | undefined> {
    const child = this.#child(record);
    if (isPlaceGone(record)) return await endWithoutPlace(child, record);
    const { state, inbox } = child.session;
    const hasPrompt = state.messages.length > 0 || !inbox.isEmpty;
    if (!hasPrompt) return await this.start(record, options);
    child.runner.continuePending();
    return await endOf(child, record, { ...options, save: this.#options.save });
  }

  message(record: AgentRecord, { text, source }: { text: string; source: string }): void {
    const child = this.#child(record);
    recordStart(record, child);
    const displayPrompt = record.schema && text;
    addPrompt(child, record, { prompt: withSchema(text, record), displayPrompt, source });
    record.workedMs = undefined; // A new run has all its time.
    record.corrections = undefined;
  }

  /** An agent that answered has run its stop hook already; for the others it runs now. */
  async ending(record: AgentRecord, end: End, { signal }: { signal: AbortSignal }): Promise<void> {
    const child = this.#open.get(record.id);
    if (end.way !== "closed" && !child) await this.#settleLeft(record, signal);
    if (end.way !== "closed" && child?.hasBegun && !child.hasAnswered) {
      const stopReason = end.way === "cancelled" || end.way === "timed_out" ? "cancelled" : "error";
      await this.#runStopHook(child, { stopReason, signal });
    }
    if (record.isolation === undefined) return;
    await child?.endShells(); // What still runs in its folder would go on changing it.
    await leave(record, this.#options.isolation, {
      end,
      mode: () => modeNow(child?.session ?? this.#options.parts.root),
    });
  }

  ended(record: AgentRecord, end: End): void {
    if (!record.owesEnd) return; // No run was started that has no end.
    record.owesEnd = false;
    record.result = end.way === "completed" ? end.result : undefined;
    const { agentType, displayName, model, modelSelectionSource } = record;
    const used = this.#options.parts.usage.of(record.id);
    const about = {
      toolCallId: record.callId,
      agentName: agentType,
      agentDisplayName: displayName ?? record.name,
      taskName: record.name,
      model,
      firstDispatchedModel: model,
      modelSelectionSource,
      ...billOf(used),
      durationMs: record.activeMs,
    };
    const { append } = this.#sessionOf(record);
    const { reason } = record;
    const run = { append, parentId: record.ownerId, run: record.runs ?? 1 };
    if ("error" in end) endRun({ type: "subagent.failed", data: { ...about, error: end.error, reason } }, run);
    else if (end.way === "completed")
      endRun({ type: "subagent.completed", data: { ...about, reason, typedResult: record.result?.value } }, run);
    else endRun({ type: "subagent.completed", data: { ...about, cancelled: true } }, run);
  }

  /** A second call waits for the first: whoever closes the session must not be told that it is closed while processes are being ended. */
  async close({ id }: AgentRecord): Promise<void> {
    const child = this.#open.get(id);
    this.#open.delete(id);
    if (child) {
      const before = this.#closing.get(id); // It was opened again meanwhile.
      const closing = Promise.all([before, child.close()]).then(() => undefined);
      this.#closing.set(id, closing);
      const forget = () => {
        if (this.#closing.get(id) === closing) this.#closing.delete(id);
      };
      closing.then(forget, forget);
    }
    await this.#closing.get(id);
  }

  #child({ id }: AgentRecord): Child {
    const child = this.#open.get(id);
    if (!child) throw new AppError("task_state", `Agent ${id} is not open`);
    return child;
  }

  /** Where the end event is appended: through the child's session, or directly to the log when that is not open. */
  #sessionOf({ id }: AgentRecord): { append: Session["append"] } {
    const session = this.#open.get(id)?.session;
    const { log } = this.#options.parts.root;
    return {
      append: (type, data) => (session ? session.append(type, data) : log.append(type, data, { sessionId: id })),
    };
  }

  /** Gives an end to the calls and asks of a child session that will not be continued. */
  async #settleLeft(record: AgentRecord, signal: AbortSignal): Promise<void> {
    const { parts, store } = this.#options;
    parts.asks.forget(record.id);
    if (await store.sessions.get(record.id))
      settleInterrupted(await loadSession(record, parts.root, { store, signal }));
  }

  /** The agent's own signal is aborted by now; this one ends hooks that hang. */
  async #runStopHook(
    { agent, session }: Child,
    { stopReason, signal }: { stopReason: "error" | "cancelled"; signal: AbortSignal },
  ): Promise<void> {
    const { hooks } = this.#options.parts;
    if (hooks.isEmpty) return;
    const agentName = agent.name ?? "";
    const response = session.state.lastAssistantText;
    const details = { agentType: agentName, response, stopReason, stop_hook_active: false };
    // A store that refuses is not waited for either: the end that follows waits with the rest of the log.
    await hooks.run("subagentStop", details, { caller: callerOf(agent), signal }).catch(() => undefined);
  }
}

function refusedSpawn(error: unknown): End {
  if (!(error instanceof SpawnRefused)) throw error;
  return { way: "failed", error: error.message };
}

/** The end of the run, once the agent has read the notices of its own tasks and its answer has the form that was asked for. */
async function endOf(
  child: Child,
  record: AgentRecord,
  options: RunOptions & Pick<ChildDeps, "save">,
): Promise<End | undefined> {
  const { signal, save } = options;
  const { runner, session } = child;
  child.hasBegun = true;
  child.hasAnswered = false;
  const onAbort = () => {
    const stop = stopOf(signal);
    if (stop) void runner.stop(stop);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  onAbort();
  const limit = timeLimit(child, record);
  try {
    for (;;) {
      const end = await restOf(child, { ...options, limit });
      child.hasAnswered = end.type === "completed" && !limit.isLate;
      const ofRun = limit.isLate ? undefined : asEnd(end, child);
      const judged = ofRun && (await judge(ofRun, record));
      if (limit.isLate) return { way: "timed_out", error: limit.error, text: session.state.lastAssistantText };
      if (!judged || "end" in judged) return judged?.end;
      const stop = stopOf(signal); // It came while no turn ran that it could have stopped.
      if (stop) return stop.isParked ? undefined : { way: "cancelled" };
      record.corrections = (record.corrections ?? 0) + 1;
      addPrompt(child, record, { prompt: judged.next, source: "system" });
      save(record);
      runner.wake();
    }
  } finally {
    limit.clear();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves when nothing is left to do for the agent. */
async function restOf(
  { runner, session, agent }: Child,
  { signal, joining, limit }: RunOptions & { limit: TimeLimit },
): Promise<RunEnd> {
  // Nothing was left to do: an earlier process finished the run and did not record its end.
  let end = (await runner.ended()) ?? leftEnd(session);
  while (end.type === "completed" && !signal.aborted) {
    const own = joining();
    if (limit.isLate) break;
    if (!own && !runner.isRunning) {
      if (!agent.gates.isOwed) break;
      runner.continuePending(); // It had stopped to wait, and nothing has woken it since.
    }
    await Promise.race([own, limit.late]);
    end = (await runner.ended()) ?? end;
  }
  return end;
}

function addPrompt(
  { session: { inbox, world }, agent }: Child,
  record: AgentRecord,
  prompt: Pick<Prompt, "prompt" | "displayPrompt" | "source">,
): void {
  const format = agent.model().info.structuredOutput ? responseFormat(record) : undefined;
  inbox.add({ kind: "prompt", id: world.newId(), messageId: world.newId(), ...prompt, responseFormat: format });
}

const REFUSED = "Every call of the agent was refused, and it has said nothing else.";

function asEnd(end: RunEnd, { agent, session }: Child): End | undefined {
  const { text, hasAnswered, isRefused } = session.state.run; // An answer of an earlier run is not one of this run.
  if (end.type === "stopped") return end.stop.isParked ? undefined : { way: "cancelled" };
  if (agent.budget.isSpent) return { way: "over_budget", error: "The budget is used up.", text };
  if (end.type === "failed") return { way: "failed", error: end.error, text };
  if (isRefused && !hasAnswered) return { way: "refused", error: REFUSED, text };
  if (text.trim() === "") return { way: "failed", error: "The agent ended without an answer." };
  return isRefused ? { way: "completed", text, reason: "refused" } : { way: "completed", text };
}

/** Another process had brought its work back and was killed before it recorded the end; or somebody has deleted the folder. */
async function endWithoutPlace(child: Child, record: AgentRecord): Promise<End | undefined> {
  const left = child.session.state.run.hasAnswered ? asEnd(leftEnd(child.session), child) : undefined;
  const judged = left && (await judge(left, record));
  if (judged && "end" in judged) return judged.end;
  return { way: "failed", error: "The worktree that the agent worked in is gone." };
}

function leftEnd({ state: { lastError, lastAssistantText: text } }: Session): RunEnd {
  return lastError === undefined ? { type: "completed", text } : { type: "failed", text, error: lastError };
}
