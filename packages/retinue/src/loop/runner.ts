/**
 * Starts and stops the work of one session, one run at a time, and announces when it is idle.
 *
 * Owns the rule that a busy period ends in exactly one `session.idle`, however many prompts, notices and background tasks were
 * part of it, reminders of autopilot included. The work itself is in drive.ts.
 */
import { setMaxListeners } from "node:events";
import type { Prompt } from "../session/inbox.ts";
import type { Stop } from "../session/stop.ts";
import type { Agent } from "./agent.ts";
import { Autopilot } from "./autopilot.ts";
import { callerOf } from "./calls.ts";
import { drive, type RunEnd } from "./drive.ts";

/** Every call of a batch listens for the stop of its run; a large batch is no leak. */
function newController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

const NOTHING: RunEnd = { type: "completed", text: "" };

export interface RunnerOptions {
  /** Whether background work of the agent still runs. */
  hasBackground?(): boolean;
  /** Called when a busy period has used up the agent's time; without it nobody watches the time here. */
  onLate?(): void;
  /** How many reminders autopilot may send for one prompt. */
  maxContinues?(): number;
}

/** What a run begins with, when that is not the inbox. */
interface Beginning {
  isPending?: boolean;
  reminder?: Prompt;
}

export class Runner {
  readonly #agent: Agent;
  readonly #hasBackground: () => boolean;
  readonly #onLate: (() => void) | undefined;
  readonly #autopilot: Autopilot;
  #run: { controller: AbortController; ended: Promise<RunEnd> } | undefined;
  /** A busy period has begun, and its `session.idle` was not sent yet. */
  #owesIdle = false;
  #wasAborted = false;
  #isParked = false;
  #isClosed = false;
  /** How long the run had worked that an earlier process left, until it goes on. */
  #workedMs = 0;

  constructor(agent: Agent, { hasBackground = () => false, onLate, maxContinues }: RunnerOptions = {}) {
    this.#agent = agent;
    this.#hasBackground = hasBackground;
    this.#onLate = onLate;
    this.#autopilot = new Autopilot(agent, maxContinues);
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  get owesIdle(): boolean {
    return this.#owesIdle;
  }

  /** Starts a run when something waits in the inbox. */
  wake(): void {
    if (!this.#run && !this.#isClosed && !this.#agent.session.inbox.isEmpty) this.#start({});
  }

  /** Says how long the run had worked that may go on now. */
  resumeAt(workedMs: number): void {
    this.#workedMs = workedMs;
  }

  /** Continues what an earlier process left open. `isStopping`: it was asking the stop hooks, which have not answered. */
  continuePending({ isStopping = false }: { isStopping?: boolean } = {}): void {
    const { state, inbox } = this.#agent.session;
    if (this.#run || this.#isClosed) return;
    const isOwed = isStopping || this.#agent.gates.isOwed;
    if (state.openCalls.size > 0 || state.isModelDue || isOwed) this.#start({ isPending: true });
    else if (!inbox.isEmpty) this.wake();
    // The process ended between an answer and what was to become of it.
    else if (this.#autopilot.isOn && state.autopilot.isUndecided && !this.#hasBackground())
      this.#start({ isPending: true });
  }

  /** Resolves when the current run has ended; at once when there is none. */
  async ended(): Promise<RunEnd | undefined> {
    return this.#run?.ended;
  }

  /** Stops the current run and waits until it has unwound. False when there was none. */
  async stop(stop: Stop): Promise<boolean> {
    const run = this.#run;
    if (!run) return false;
    if (!run.controller.signal.aborted) run.controller.abort(stop);
    await run.ended;
    return true;
  }

  /** Called when background work started, changed or ended. */
  backgroundChanged(): void {
    if (!this.#hasBackground()) {
      this.#settleIdle();
      return;
    }
    this.#owesIdle = true;
    if (this.#workedMs > 0) this.#startClock(); // The run of an earlier process goes on, even if only agents below work.
  }

  close(): void {
    this.#isClosed = true;
    this.#agent.slot.clock.park();
  }

  #start(beginning: Beginning): void {
    this.#startClock();
    this.#owesIdle = true;
    this.#isParked = false;
    this.#wasAborted = false;
    const run = { controller: newController(), ended: Promise.resolve<RunEnd>(NOTHING) };
    this.#run = run;
    run.ended = this.#work(run, beginning);
  }

  #startClock(): void {
    const { clock } = this.#agent.slot;
    if (!this.#onLate || clock.isStarted) return;
    clock.start(this.#onLate, { fromMs: this.#workedMs });
    this.#workedMs = 0;
  }

  async #work(run: { controller: AbortController }, beginning: Beginning): Promise<RunEnd> {
    const { session } = this.#agent;
    let next = beginning;
    try {
      for (;;) {
        const { signal } = run.controller;
        const end = await drive(this.#agent, { signal, isWaiting: this.#hasBackground, ...next });
        this.#wasAborted = end.type === "stopped";
        if (end.type === "stopped" && end.stop.isParked) return this.#parked(end);
        this.#autopilot.onRunEnded(end);
        next = { reminder: this.#reminder() };
        if (next.reminder) continue;
        if (!session.parent) await this.#endRun(end, signal);
        else if (end.type === "stopped") return end; // A stopped sub-agent has ended, whatever still waits in its inbox.
        if (this.#isClosed || session.inbox.isEmpty) return end;
        run.controller = newController(); // Something came while the run was ending: the same busy period goes on.
      }
    } finally {
      this.#onEnded(); // In the same tick as the check of the inbox: what comes later starts a run of its own.
    }
  }

  #parked(end: RunEnd): RunEnd {
    if (this.#onLate) this.#agent.slot.clock.park();
    this.#isParked = true;
    return end;
  }

  #onEnded(): void {
    const { session } = this.#agent;
    this.#run = undefined;
    if (!session.parent) session.announce("assistant.idle", this.#wasAborted ? { aborted: true } : {});
    this.#settleIdle();
  }

  async #endRun(end: RunEnd, signal: AbortSignal): Promise<void> {
    const { session, hooks } = this.#agent;
    if (end.type !== "stopped") {
      if (hooks.isEmpty) return;
      const reason = end.type === "failed" ? "error" : "complete";
      const details = { reason, error: end.type === "failed" ? end.error : undefined } as const;
      // The run has ended even when the store refuses; the log reports that.
      await hooks.run("sessionEnd", details, { caller: callerOf(this.#agent), signal }).catch(() => undefined);
    } else if (end.stop.type === "interrupt") {
      session.append("abort", { reason: "user_abort" });
      session.announce("session.info", { infoType: "cancellation", message: "Operation cancelled by user" });
    }
  }

  /** What autopilot goes on with when nothing else is left to do. */
  #reminder(): Prompt | undefined {
    const isBusy = this.#isClosed || !this.#agent.session.inbox.isEmpty || this.#hasBackground();
    return isBusy ? undefined : this.#autopilot.next();
  }

  /** True when autopilot goes on. */
  #remind(): boolean {
    const reminder = this.#reminder();
    if (reminder) this.#start({ reminder });
    return reminder !== undefined;
  }

  /** True when there is something to check: what the agent had stopped to wait for has ended without a word to it. */
  #checkGates(): boolean {
    if (this.#isClosed || this.#wasAborted || !this.#agent.gates.isOwed) return false;
    this.#start({ isPending: true });
    return true;
  }

  #settleIdle(): void {
    const { session } = this.#agent;
    if (!this.#owesIdle || this.#run || session.parent || !session.inbox.isEmpty || this.#hasBackground()) return;
    if (!this.#isParked && (this.#checkGates() || this.#remind())) return;
    this.#owesIdle = false;
    if (!this.#isParked && !this.#isClosed) this.#agent.slot.clock.stop();
    const { mode } = session.state;
    session.announce("session.idle", {
      aborted: this.#wasAborted || undefined,
      // Clients skip an idle in autopilot mode; naming that mode here would keep them waiting for ever.
      mode: mode === "autopilot" ? undefined : mode,
    });
  }
}
