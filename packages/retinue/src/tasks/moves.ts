/** The states of a task, the legal moves between them, and the ways to end. */
import { AppError, type EndReason } from "@retinue/protocol";

export const TASK_STATES = ["running", "idle", "orphaned", "completed", "failed", "cancelled"] as const;
export type TaskStatus = (typeof TASK_STATES)[number];

const NEXT = {
  running: ["idle", "orphaned", "completed", "failed", "cancelled"],
  idle: ["running", "orphaned", "completed", "failed", "cancelled"], // Has answered and takes more messages.
  orphaned: ["running", "idle", "completed", "failed", "cancelled"], // Its client has left, and may come back.
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<TaskStatus, readonly TaskStatus[]>;

export function isEnded(status: TaskStatus): boolean {
  return NEXT[status].length === 0;
}

export function checkMove(id: string, from: TaskStatus, to: TaskStatus): void {
  const allowed: readonly TaskStatus[] = NEXT[from];
  if (!allowed.includes(to)) throw new AppError("task_state", `Task ${id} cannot go from ${from} to ${to}`);
}

/** How a run of a task ended. `text` is its answer, or what there is of it. */
export type End =
  /** `result` is the answer as data, where a schema was asked for. */
  | { way: "completed"; text?: string; reason?: EndReason; result?: { value: unknown } }
  /** `closed`: it had answered, and nobody can send it messages any more. */
  | { way: "cancelled" | "closed" }
  | { way: "failed" | "timed_out" | "over_budget" | "lost" | "refused"; error: string; text?: string };

/** The state that each way to end leads to, and the reason to report when the task did not end by itself. */
export const ENDS = {
  completed: { status: "completed" },
  cancelled: { status: "cancelled" },
  closed: { status: "completed" },
  failed: { status: "failed" },
  timed_out: { status: "failed", reason: "timed_out" },
  over_budget: { status: "failed", reason: "over_budget" },
  lost: { status: "failed", reason: "lost" },
  refused: { status: "failed", reason: "refused" },
} as const satisfies Record<End["way"], { status: TaskStatus; reason?: EndReason }>;

/** What hooks and clean-up get between the decision to end a task and its end. */
export const LAST_WORDS_MS = 2_000;

/**
 * Several causes may end a run at the same time. The first one wins; later ones change nothing.
 *
 * The time for last words begins with the decision and not with the first hook: whole trees are cancelled at once, and end one after the other.
 */
export class Ending {
  #end: End | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #over = new AbortController();

  get end(): End | undefined {
    return this.#end;
  }

  /** Aborted when the task is to end and nobody waits for last words any more. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  claim(end: End): void {
    this.#end ??= end;
    this.lastWords();
  }

  /** The same signal; the time begins now, unless it began with the claim. */
  lastWords(): AbortSignal {
    this.#timer ??= setTimeout(() => this.#over.abort(), LAST_WORDS_MS).unref();
    return this.signal;
  }
}
