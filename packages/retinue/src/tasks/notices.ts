/**
 * The news of tasks in the background, on their way into the inbox of the agent that owns them.
 *
 * Owns the rule that an owner is told once. What is told is in the view of the task's executor.
 */
import type { Notice } from "../session/inbox.ts";
import type { Executor, Mailbox } from "./executor.ts";
import type { Live } from "./live.ts";
import type { TaskRecord } from "./record.ts";
import type { TaskRecords } from "./records.ts";

export interface NoticesOptions {
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

  /** Not when somebody waits for the task in a call: then the call says it. */
  notify({ record, waiting }: Live): void {
    const { records, executorOf, mailboxOf } = this.#options;
    if (this.#isClosed || record.mode !== "background" || waiting.isAwaited || record.status === "cancelled") return;
    const owner = records.get(record.ownerId);
    if (owner && owner.status !== "running") return; // It has answered: what it had to say is said.
    const notice = executorOf(record).view.notice(record);
    const mailbox = mailboxOf(record.ownerId);
    if (!notice || !mailbox) return;
    mailbox.session.inbox.add(notice);
    mailbox.wake();
  }

  /** Somebody has read the result: a notice would only say it twice. */
  drop({ id, ownerId }: TaskRecord): void {
    this.#options.mailboxOf(ownerId)?.session.inbox.removeNotices((notice) => isAbout(notice, id));
  }

  /** The session closes; nobody is woken any more. */
  close(): void {
    this.#isClosed = true;
  }
}

function isAbout({ cause }: Notice, taskId: string): boolean {
  return "agentId" in cause && cause.agentId === taskId;
}
