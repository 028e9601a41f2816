/**
 * The interface of a kind of task. A new kind is a new executor; nothing else knows kinds.
 *
 * The registry owns records, states, waiting and cancelling; an executor owns the work and its descriptions. Everything it needs to
 * start or continue the work is in the record or in the log.
 */
import type { TaskInfo, TaskProgress } from "@retinue/protocol";
import type { Notice } from "../session/inbox.ts";
import type { Session } from "../session/session.ts";
import type { End } from "./moves.ts";
import type { TaskRecord } from "./record.ts";

export interface Traits {
  /** Its records are stored, and another process can continue it. */
  isKept: boolean;
  /** Its owner's run waits for it, and it ends when its owner has answered. */
  joinsOwner: boolean;
  /** Agents can list it and send it messages. */
  isAddressable: boolean;
  /** This runtime does the work, so aborting the session ends it. */
  runsHere: boolean;
  /** It comes to an end by itself, so `session.idle` waits for it. A shell may serve for ever. */
  delaysIdle: boolean;
}

/** The inbox of an agent that owns tasks, and how to wake that agent. */
export interface Mailbox {
  readonly session: Session;
  wake(): void;
}

export interface TaskView<R extends TaskRecord = TaskRecord> {
  describe(record: R): TaskInfo;
  progress(record: R): TaskProgress;
  /** How far it is, in a few words for the model that reads it; absent where the status says all. */
  state?(record: R): string;
  /** The notice for the owner when a background task has answered or ended; undefined when it needs none. */
  notice(record: R): Notice | undefined;
}

export interface RunOptions {
  signal: AbortSignal;
  /** Resolves when one of the tasks that this one must wait for has changed; undefined when there are none. */
  joining(): Promise<unknown> | undefined;
}

export interface Executor<R extends TaskRecord = TaskRecord> {
  readonly kind: R["kind"];
  readonly traits: Traits;
  readonly view: TaskView<R>;
  /** Prepares what a run needs, and saves the record of a new task with its start event. A failure before that fails the start without any event. */
  open?(record: R, options: { isNew: boolean; signal: AbortSignal }): Promise<void>;
  /** The first run. Returns how it ended; undefined when it was parked. */
  start(record: R, options: RunOptions): Promise<End | undefined>;
  /** A later run: after a restart, or with a message that was sent to an idle task. */
  continue?(record: R, options: RunOptions): Promise<End | undefined>;
  /** Records the start of a run with this message; it begins after that. */
  message?(record: R, message: { text: string; source: string }): void;
  /** Hands a message to the work that runs; rejects in words when it takes none. Absent: messages wait for the end of the run. */
  steer?(record: R, message: { text: string; source: string }): Promise<void>;
  /** Asks the client that does the work to stop; false when it goes on. Absent when stopping the run is enough. */
  cancel?(record: R, reason: string): Promise<boolean>;
  /** The task moved to the background: no call waits for it any more. */
  promoted?(record: R): void;
  /** Runs before an end is recorded: hooks to run, calls to settle. The signal says when nobody waits for that any more. */
  ending?(record: R, end: End, options: { signal: AbortSignal }): Promise<void>;
  /** Records the end, in the transaction in which the record changes. */
  ended?(record: R, end: End): void;
  /** Ends everything that belongs to the task in this process. */
  close?(record: R): Promise<void>;
}
