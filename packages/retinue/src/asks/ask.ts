/**
 * The steps of every ask, whatever its kind: record, commit, offer, wait, settle.
 *
 * It is committed before it is sent, it can be answered from the moment it is recorded, its agent holds no slot while it waits, and it
 * has one end. What differs between kinds is in the table of kinds.ts.
 */
import type { Session } from "../session/session.ts";
import { Stop, stopOf } from "../session/stop.ts";
import type { AskBroker } from "./broker.ts";
import type { Asked } from "./kind.ts";
import { type Answer, type AskKind, isKept, KINDS, type Payload } from "./kinds.ts";
import type { OpenAsk } from "./open-ask.ts";

/** The agent that asks. */
export interface Asker {
  readonly session: Session;
  readonly asks: AskBroker;
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
  /** Set when no one can be asked: the ask is recorded and settled with this answer. */
  unattended?: Answer<K>;
  /** Applies what the answer changes beyond this ask, before the answer is recorded. */
  onAnswer?(answer: Answer<K>): void;
}

/** Rejects when the asker is stopped while it waits. */
export async function ask<K extends AskKind>(asker: Asker, kind: K, options: AskOptions<K>): Promise<Answer<K>> {
  const { session } = asker;
  const { payload, callId, earlier, unattended, signal } = options;
  const requestId = earlier?.requestId ?? session.world.newId();
  const asked: Asked<Payload<K>> = { session, requestId, callId, payload, from: askedBy(asker) };
  const open = asker.asks.open({ requestId, kind, sessionId: session.id, callId, payload }, { signal });
  if (unattended !== undefined) open.answered(unattended);
  if (!earlier) await record(kind, asked, open);
  const wait = isForPerson(kind) ? "waitingForPerson" : "waiting"; // A person's time is not the agent's.
  const answer = await asker.slot[wait](() => offered(open), signal).catch((error: unknown) => {
    if (!earlier?.isCompleted) KINDS[kind].settleStopped(asked, stopOf(signal) ?? new Stop("abort", "withdrawn"));
    throw error;
  });
  options.onAnswer?.(answer);
  if (!earlier?.isCompleted) KINDS[kind].settle(asked, answer);
  if (KINDS[kind].endsWithCall) return answer; // The result of the call settles it, in one commit.
  if (isKept(kind)) asker.asks.settled(requestId);
  await session.log.committed();
  return answer;
}

/** The others are answered by the host program, whose time counts. */
const isForPerson = (kind: AskKind): boolean => PERSONS.includes(kind);
const PERSONS: readonly AskKind[] = ["permission", "question", "elicitation", "exit_plan"];

async function record<K extends AskKind>(kind: K, asked: Asked<Payload<K>>, open: OpenAsk<K>): Promise<void> {
  try {
    KINDS[kind].record(asked);
    await asked.session.log.committed();
  } catch (error) {
    open.withdraw(); // An ask that is not recorded must not be answered.
    throw error;
  }
}

function offered<K extends AskKind>(open: OpenAsk<K>): Promise<Answer<K>> {
  open.offer();
  return open.answer();
}

function askedBy({ session, pathNames }: Asker): Asked<unknown>["from"] {
  if (!session.parent) return {};
  return { agentId: session.id, agentPath: [...session.agentPath], agentPathNames: [...pathNames] };
}
