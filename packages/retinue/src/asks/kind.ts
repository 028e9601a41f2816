/**
 * The type of a row of the table in kinds.ts, and the events of an ask.
 *
 * Owns the rule that events of an ask have no agent id on their envelope, because clients expect asks on the root's stream.
 */
import { type EventData, type EventType, type Lazy, lazy } from "@retinue/protocol";
import type * as z from "zod";
import type { Session } from "../session/session.ts";
import type { Stop } from "../session/stop.ts";

/** The sub-agent that asks, by its session, its definition and its place in the tree; empty for the main agent. */
export interface AskedBy {
  agentId?: string;
  agentName?: string;
  agentPath?: string[];
  agentPathNames?: string[];
}

/** An ask as its events describe it. */
export interface Asked<Payload> extends Ending {
  payload: Payload;
  from: AskedBy;
}

/** The part of an ask that its end event needs. */
export interface Ending {
  session: Session;
  requestId: string;
  callId?: string;
}

interface Row<Payload, Answer, Requested extends EventType, Completed extends EventType> {
  /** What a client is shown: a part of the request event. */
  payload: Lazy<z.ZodType<Payload>>;
  answer: Lazy<z.ZodType<Answer>>;
  requested: Requested;
  completed: Completed;
  request(asked: Asked<Payload>): EventData<Requested>;
  completion(ending: Ending, answer: Answer): EventData<Completed>;
  /** The end event of an ask whose asker was stopped; absent when it stays open in the log, or was never in it. */
  stopped?(ending: Ending, stop: Stop): { data: EventData<Completed>; ephemeral?: boolean } | undefined;
  /** The call that asks, for kinds that can come again in another process. */
  callOf?(payload: Payload): string | undefined;
  /** The consequence of the answer is the result of the call: the answer is kept until that is recorded. */
  endsWithCall?: boolean;
}

export interface Kind<Payload, Answer>
  extends Pick<Row<Payload, Answer, EventType, EventType>, "payload" | "answer" | "requested" | "completed"> {
  readonly endsWithCall: boolean;
  callOf(payload: Payload): string | undefined;
  /** The data of its request event. */
  request(asked: Asked<Payload>): object;
  record(asked: Asked<Payload>): void;
  settle(ending: Ending, answer: Answer): void;
  settleStopped(ending: Ending, stop: Stop): void;
}

const UNTAGGED = { untagged: true } as const;

export function kind<Payload, Answer, Requested extends EventType, Completed extends EventType>(
  row: Row<Payload, Answer, Requested, Completed>,
): Kind<Payload, Answer> {
  const { payload, answer, requested, completed, endsWithCall = false } = row;
  return {
    payload: lazy(payload),
    answer: lazy(answer),
    requested,
    completed,
    endsWithCall,
    callOf: (shown) => row.callOf?.(shown),
    request: (asked) => row.request(asked),
    record: (asked) => asked.session.append(requested, row.request(asked), UNTAGGED),
    settle: (ending, given) => ending.session.append(completed, row.completion(ending, given), UNTAGGED),
    settleStopped: (ending, stop) => {
      const end = row.stopped?.(ending, stop);
      if (end) ending.session.append(completed, end.data, { ...UNTAGGED, ephemeral: end.ephemeral });
    },
  };
}
