/**
 * The steps of every ask, whatever its kind: record, commit, offer, wait, settle.
 *
 * It is committed before it is sent, it can be answered from the moment it is recorded, its agent holds no slot while it waits, and it
 * has one end. What differs between kinds is in the table of kinds.ts.
 */
import type { Session } from "../session/session.ts";
import { Stop, stopOf } from "../session/stop.ts";
import type { AskBroker } from "./broker.ts";
import type { Asked, AskedBy } from "./kind.ts";
import { type Answer, type AskKind, isKept, KINDS, type Payload } from "./kinds.ts";
import type { OpenAsk } from "./open-ask.ts";

/** The agent that asks. */
export interface Asker {
  readonly session: Session;
  readonly asks: AskBroker;
  /** The name of its definition. */
  readonly name?: string | undefined;
  /** Names from the main agent's child down to this agent; empty for the main agent. */
  readonly pathNames: readonly string[];
  readonly slot: Record<
    "waiting" | "waitingForPerson",
    <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>
  >;
}

export interface AskOptions<K extends AskKind> {
  payload: Payload<K>;
  callId?: string;
  signal: AbortSignal;
  /** An ask from before a restart: the log has it under this id, and perhaps its end as well. */
  earlier?: { requestId: string; isCompleted?: boolean };
  /** Its call runs again after a restart and asks the same: the ask and its answer are stored until that call has its result. */
  comesAgain?: boolean;
  /** Set when no one can be asked: the ask is recorded and settled with this answer. */
  unattended?: Answer<K>;
  /** Applies what the answer changes beyond this ask, before the answer is recorded. */
  onAnswer?(answer: Answer<K>): void;
}

/** Rejects when the asker is stopped while it waits. */
export async function ask<K extends AskKind>(asker: Asker, kind: K, options: AskOptions<K>): Promise<Answer<K>> {
  const { session } = asker;
  const { payload, callId, unattended, signal } = options;
  const comesAgain = options.comesAgain === true && callId !== undefined;
  const place = { sessionId: session.id, callId };
  const earlier: AskOptions<K>["earlier"] = comesAgain ? asker.asks.expected(kind, place) : options.earlier;
  const requestId = earlier?.requestId ?? session.world.newId();
  const from = askedBy(asker);
  const asked: Asked<Payload<K>> = { session, requestId, callId, payload, from };
  const shown = () => KINDS[kind].request(asked);
  const isRepeat = earlier !== undefined;
  const open = asker.asks.open({ ...place, requestId, kind, payload, from, isRepeat, comesAgain, shown }, { signal });
  if (unattended !== undefined) open.answered(unattended);
  if (!earlier) await record(kind, asked, { open, asks: asker.asks, signal });
  else if (KINDS[kind].endsWithCall) await session.log.recorded({ signal }); // The permission that led to it.
  const wait = isForPerson(kind) ? "waitingForPerson" : "waiting"; // A person's time is not the agent's.
  const answer = await asker.slot[wait](() => offered(open), signal).catch((error: unknown) => {
    if (!earlier?.isCompleted) KINDS[kind].settleStopped(asked, stopOf(signal) ?? new Stop("abort", "withdrawn"));
    throw error;
  });
  options.onAnswer?.(answer);
  if (!earlier?.isCompleted) KINDS[kind].settle(asked, answer);
  if (KINDS[kind].endsWithCall || comesAgain) return answer; // The result of the call settles it, in one commit.
  if (isKept(kind)) asker.asks.settled(requestId);
  if (kind !== "permission") await session.log.recorded({ signal }); // A permitted call is recorded before it runs.
  return answer;
}

/** The others are answered by the host program, whose time counts. */
const isForPerson = (kind: AskKind): boolean => PERSONS.includes(kind);
const PERSONS: readonly AskKind[] = ["permission", "question", "elicitation", "sampling", "exit_plan"];

async function record<K extends AskKind>(
  kind: K,
  asked: Asked<Payload<K>>,
  { open, asks, signal }: { open: OpenAsk<K>; asks: AskBroker; signal: AbortSignal },
): Promise<void> {
  if (open.ask.comesAgain) asks.store(open.ask);
  KINDS[kind].record(asked);
  try {
    await asked.session.log.recorded({ signal });
  } catch (error) {
    open.withdraw(); // An ask that is not recorded must not be answered.
    // Its request is written when the store is back, and must not stay without an end then.
    KINDS[kind].settleStopped(asked, stopOf(signal) ?? new Stop("abort", "withdrawn"));
    if (open.ask.comesAgain) asks.settled(open.ask.requestId);
    throw error;
  }
}

function offered<K extends AskKind>(open: OpenAsk<K>): Promise<Answer<K>> {
  open.offer();
  return open.answer();
}

function askedBy({ session, name, pathNames }: Asker): AskedBy {
  if (!session.parent) return {};
  return { agentId: session.id, agentName: name, agentPath: [...session.agentPath], agentPathNames: [...pathNames] };
}
