/**
 * Messages to a task that runs: they wait in its record, and each gets a run of its own when the runs before it have answered.
 *
 * So no answer is lost behind a later one, and a call that waits for a task gets the answer to what it asked.
 */
import { AppError } from "@retinue/protocol";
import type { Executor } from "./executor.ts";
import type { Live } from "./live.ts";
import { type End, isEnded } from "./moves.ts";
import type { TaskRecord } from "./record.ts";
import type { TaskRecords } from "./records.ts";

export interface Message {
  text: string;
  /** Who sent it, as `user.message` names it. */
  source: string;
}

/** Throws when nobody would read a message. */
export function checkTakesMessages({ record, ending }: Live, canTake: boolean): void {
  const { id, status } = record;
  if (isEnded(status))
    throw new AppError("task_state", `Agent ${id} has ended (${status}) and takes no more messages. Start a new one.`);
  if (!canTake) throw new AppError("task_state", `Agent ${id} takes no more messages.`);
  if (status === "running" && ending.end)
    throw new AppError("task_state", `Agent ${id} is being stopped and takes no more messages. Start a new one.`);
}

export function addMessage(record: TaskRecord, message: Message): void {
  record.waiting = [...(record.waiting ?? []), message];
}

/** What it was asked last, whether it has read that yet or not. */
export function latestPrompt({ waiting, message, turns, prompt }: TaskRecord): string {
  return waiting?.at(-1)?.text ?? message ?? turns.at(-1)?.message ?? prompt;
}

export function hasMessage({ waiting = [] }: TaskRecord): boolean {
  return waiting.length > 0;
}

/** Records the next run of a task that has answered, with the first message that waits. False when there is none. */
export function recordNext(
  record: TaskRecord,
  { executor, records }: { executor: Pick<Executor, "message">; records: Pick<TaskRecords, "move"> },
): boolean {
  const [next, ...rest] = record.waiting ?? [];
  if (!next || isEnded(record.status)) return false;
  record.waiting = rest.length > 0 ? rest : undefined;
  record.mode = "background"; // However it was started, no call waits for it now.
  record.message = next.text;
  executor.message?.(record, next);
  records.move(record, "running");
  return true;
}

/** The end of a run after which nothing more is read: an error says so of the messages that wait. */
export function withUnread(end: End, { waiting = [] }: TaskRecord): End {
  if (waiting.length === 0 || !("error" in end)) return end;
  const unread =
    waiting.length === 1 ? "1 message to it was not read." : `${waiting.length} messages to it were not read.`;
  return { ...end, error: `${end.error} ${unread}` };
}
