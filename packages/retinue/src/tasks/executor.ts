/**
 * How one kind of task is done. A new kind is a new executor; nothing else knows kinds.
 *
 * The registry owns records, states, waiting and cancelling; an executor owns the work, and the words about it. Whatever it needs to
 * do or to continue the work is in the record or in the log.
 */
import type { TaskInfo, TaskProgress } from "@retinue/protocol";
import type { Notice } from "../session/inbox.ts";
import type { Session } from "../session/session.ts";
import type { End } from "./moves.ts";
import type { TaskRecord } from "./record.ts";

export interface Traits {
  /** Its records are in the store, and another process can go on with it. */
  isKept: boolean;
  /** The run of its owner does not end before it, and it does not go on after its owner has answered. */
  joinsOwner: boolean;
  /** Takes messages from agents, and is in their lists. */
  isAddressable: boolean;
  /** Done by this runtime: aborting the session ends it. */
  runsHere: boolean;
}

/** The inbox of an agent that owns tasks, and how to wake that agent. */
export interface Mailbox {
  readonly session: Session;
  wake(): void;
}

export interface TaskView<R extends TaskRecord = TaskRecord> {
  describe(record: R): TaskInfo;
  progress(record: R): TaskProgress;
  /** What the owner is told when a task in the background has answered or ended; undefined when that is no news. */
  notice(record: R): Notice | undefined;
}

export interface RunOptions {
  signal: AbortSignal;
  /** Resolves when tasks have changed that this one must wait for; undefined when there are none. */
  joining(): Promise<unknown> | undefined;
}

export interface Executor<R extends TaskRecord = TaskRecord> {
  readonly kind: R["kind"];
  readonly traits: Traits;
  readonly view: TaskView<R>;
  /** Makes ready what a run needs. What fails here fails the start, and nobody is told of a start. */
  open?(record: R): Promise<void>;
  /** The first run. Gives its end; undefined when it was set aside for another process. */
  start(record: R, options: RunOptions): Promise<End | undefined>;
  /** Goes on: after a restart, or with a message that was sent to a task at rest. */
  continue?(record: R, options: RunOptions): Promise<End | undefined>;
  /** Puts a message where the run will find it. */
  message?(record: R, message: { text: string; source: string }): Promise<void>;
  /** Asks whoever does the work to stop; false when it goes on. Absent: stopping the run is enough. */
  cancel?(record: R, reason: string): Promise<boolean>;
  /** No call waits for it any more. */
  promoted?(record: R): void;
  /** Before an end is recorded: whatever must be asked or settled first. */
  ending?(record: R, end: End): Promise<void>;
  /** Records the end, in the transaction in which the record changes. */
  ended?(record: R, end: End): void;
  /** Ends everything that belongs to the task in this process. */
  close?(record: R): Promise<void>;
}
