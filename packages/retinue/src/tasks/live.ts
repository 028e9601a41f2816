/** What this process holds for a task besides its record. None of it is needed to continue the task elsewhere. */
import { ENDS, type End, Ending } from "./moves.ts";
import { activeMs, type TaskRecord } from "./record.ts";
import { Waiting } from "./waiting.ts";

export interface Live {
  readonly record: TaskRecord;
  readonly waiting: Waiting;
  /** How it is to end, once a cancellation, a limit or a failure has decided that. */
  ending: Ending;
  opening: Promise<void> | undefined;
  /** The recording of the end, kept so that the end is recorded once. */
  settling: Promise<void> | undefined;
  /** Parked, to go on later in this process or another. */
  isParked: boolean;
  /** Its next run is recorded, and begins when the current one has unwound. */
  hasNext: boolean;
}

export function newLive(record: TaskRecord): Live {
  return {
    record,
    waiting: new Waiting(),
    ending: new Ending(),
    opening: undefined,
    settling: undefined,
    isParked: false,
    hasNext: false,
  };
}

/** A decided end wins over the one that the run reports; the text of the run is kept in either case. */
export function endOf({ ending: { end } }: Live, ofRun: End | undefined): End | undefined {
  if (!end || !("error" in end) || !ofRun || !("text" in ofRun)) return end ?? ofRun;
  return { ...end, text: ofRun.text };
}

/** Puts the end of a run into the record; the state is changed after that, by a move. */
export function noteEnd(record: TaskRecord, end: End, now: number): void {
  const { message } = record;
  const { reason } = { reason: undefined, ...ENDS[end.way], ...("reason" in end ? { reason: end.reason } : {}) };
  record.activeMs = activeMs(record, now);
  record.activeSince = undefined;
  record.message = undefined;
  if (end.way !== "closed") record.reason = reason;
  const { error } = { error: undefined, ...end };
  if (error !== undefined) record.error = error;
  if ("text" in end && end.text) record.turns.push({ message, response: end.text, error });
}
