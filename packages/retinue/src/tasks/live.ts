/** What a task has in this process beside its record. Nothing of it is needed to go on elsewhere. */
import { ENDS, type End, Ending } from "./moves.ts";
import { activeMs, type TaskRecord } from "./record.ts";
import { Waiting } from "./waiting.ts";

export interface Live {
  readonly record: TaskRecord;
  readonly waiting: Waiting;
  /** Why it is to end, when somebody or something has decided that. */
  ending: Ending;
  opening: Promise<void> | undefined;
  /** An end that is being recorded: it is recorded once, whoever asks for it. */
  settling: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Set aside for a later process, or for later in this one. */
  isParked: boolean;
}

export function newLive(record: TaskRecord): Live {
  return {
    record,
    waiting: new Waiting(),
    ending: new Ending(),
    opening: undefined,
    settling: undefined,
    timer: undefined,
    isParked: false,
  };
}

/** What somebody decided comes before what the run says; the text of the run is kept in either case. */
export function endOf({ ending: { end } }: Live, ofRun: End | undefined): End | undefined {
  if (!end || end.way === "cancelled" || !ofRun || !("text" in ofRun)) return end ?? ofRun;
  return { ...end, text: ofRun.text };
}

/** Writes down how a run ended; the state changes after that, by a move. */
export function noteEnd(record: TaskRecord, end: End, now: number): void {
  const { message } = record;
  const { reason } = { reason: undefined, ...ENDS[end.way] };
  record.activeMs = activeMs(record, now);
  record.activeSince = undefined;
  record.message = undefined;
  record.reason = reason;
  if ("error" in end) record.error = end.error;
  if ("text" in end && end.text) record.turns.push({ message, response: end.text });
}
