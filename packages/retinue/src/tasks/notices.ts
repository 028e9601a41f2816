/**
 * Notices of background tasks, put into the inbox of the agent that owns them.
 *
 * Owns the rule that an owner is notified once. The words of a notice are in the view of the task's executor.
 */
import { leaveNotice, type Notice } from "../session/inbox.ts";
import type { Session } from "../session/session.ts";
import type { Executor, Mailbox } from "./executor.ts";
import type { Live } from "./live.ts";
import type { TaskRecord } from "./record.ts";
import type { TaskRecords } from "./records.ts";

export interface NoticesOptions {
  root: Session;
  records: TaskRecords;
  executorOf(record: TaskRecord): Executor;
  /** The agent that owns tasks, while it is open. */
  mailboxOf(ownerId: string): Mailbox | undefined;
}

export class Notices {
  readonly #options: NoticesOptions;
  #isClosed = false;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** Does nothing when a call waits for the task, because the result of that call says it. */
  notify({ record, waiting }: Live): void {
    const { records, executorOf, mailboxOf } = this.#options;
    if (this.#isClosed || record.mode !== "background" || waiting.isAwaited || record.status === "cancelled") return;
    const owner = records.get(record.ownerId);
    if (owner && owner.status !== "running") return; // The owner has given its answer already.
    const notice = executorOf(record).view.notice(record);
    const mailbox = mailboxOf(record.ownerId);
    if (!notice) return;
    if (!mailbox) {
      if (owner) leaveNotice(this.#options.root.log, owner.id, notice); // It is opened again after a restart, and reads it then.
      return;
    }
    this.drop(record); // One that was not read yet says no more than this one.
    mailbox.session.inbox.add(notice);
    mailbox.wake();
  }

  /** The result was read, so a notice would only repeat it. */
  drop({ id, ownerId }: TaskRecord): void {
    this.#options.mailboxOf(ownerId)?.session.inbox.removeNotices((notice) => isAbout(notice, id));
  }

  /** The session closes: no agent is woken any more. */
  close(): void {
    this.#isClosed = true;
  }
}

function isAbout({ cause }: Notice, taskId: string): boolean {
  return "agentId" in cause && cause.agentId === taskId;
}
