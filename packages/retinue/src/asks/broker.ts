/**
 * The open asks of a session tree: everything that a person or the host must answer, from any depth.
 *
 * The first answer wins, and a later one is refused. An accepted answer is kept until its consequence is recorded, so that it is never
 * asked for again. Which clients can be asked is known to `Answerers`; the kinds of asks are in kinds.ts.
 */
import { type Answer, type Ask, type AskKind, isKept, KINDS } from "./kinds.ts";
import { type Answerers, OpenAsk } from "./open-ask.ts";
import { SparseMap } from "./sparse-map.ts";

/** Stores answers whose consequence is not in the log yet. */
export interface AnswerKeeper {
  keep(requestId: string, answer: unknown): void;
  /** Stores an ask that is not in the log. */
  keepAsk(ask: { requestId: string; askKind: string; sessionId: string; callId: string; payload: unknown }): void;
  drop(requestId: string): void;
  dropAsk(requestId: string): void;
}

export interface BrokerOptions {
  answerers: Answerers;
  keeper: AnswerKeeper;
  warn(message: string): void;
}

/** An ask that the log leaves open, after a restart, until its agent opens it again. */
interface Expected<K extends AskKind> {
  ask: Ask<K>;
  answer?: { value: Answer<K> };
}

interface Waiting<K extends AskKind> {
  open: SparseMap<OpenAsk<K>>;
  expected: SparseMap<Expected<K>>;
}

export class AskBroker {
  readonly #options: BrokerOptions;
  readonly #waiting: { readonly [K in AskKind]: Waiting<K> } = {
    permission: nothing(),
    tool: nothing(),
    question: nothing(),
    elicitation: nothing(),
    sampling: nothing(),
    exit_plan: nothing(),
    command: nothing(),
    queued_command: nothing(),
  };

  /** Asks that are stored until their call has its result. */
  readonly #stored = new SparseMap<Ask>();

  constructor(options: BrokerOptions) {
    this.#options = options;
  }

  /** Lets an ask of an earlier process be answered before its agent has opened it again. `kept` is an answer from the store. */
  expect<K extends AskKind>(ask: Ask<K>, kept?: { value: unknown }): void {
    const answer = kept && this.#read(ask, kept.value);
    this.#waiting[ask.kind].expected.set(ask.requestId, { ask, answer });
    if (ask.comesAgain) this.#stored.set(ask.requestId, ask);
  }

  /** The ask of an earlier process that this call will open again. */
  expected(kind: AskKind, { sessionId, callId }: { sessionId: string; callId?: string }): Ask | undefined {
    const all = this.#waiting[kind].expected.values().map(({ ask }) => ask);
    return all.find((ask) => ask.sessionId === sessionId && ask.callId !== undefined && ask.callId === callId);
  }

  /** Stores an ask with what is recorded of it, so that an answer counts after a restart. */
  store({ requestId, kind, sessionId, callId = "", payload, ...more }: Ask): void {
    this.#stored.set(requestId, { requestId, kind, sessionId, callId, payload, ...more });
    this.#options.keeper.keepAsk({ requestId, askKind: kind, sessionId, callId, payload });
  }

  /** The result of a call is in the log now. */
  callEnded({ sessionId, callId }: { sessionId: string; callId: string }): void {
    for (const ask of this.#stored.values())
      if (ask.sessionId === sessionId && ask.callId === callId) this.settled(ask.requestId);
  }

  /** Opens an ask, so that it can be answered. Aborting the signal withdraws it. */
  open<K extends AskKind>(ask: Ask<K>, { signal }: { signal: AbortSignal }): OpenAsk<K> {
    const { open: waiting, expected } = this.#waiting[ask.kind];
    const onAbort = () => open.withdraw();
    const onEnd = () => {
      waiting.delete(ask.requestId);
      signal.removeEventListener("abort", onAbort);
    };
    const open = new OpenAsk(ask, { answerers: this.#options.answerers, onEnd });
    const known = expected.get(ask.requestId)?.answer;
    expected.delete(ask.requestId); // Its agent has come back to it, also when it was stopped on the way.
    if (signal.aborted) {
      open.withdraw();
      return open;
    }
    waiting.set(ask.requestId, open);
    signal.addEventListener("abort", onAbort, { once: true });
    if (known) open.answered(known.value);
    return open;
  }

  /** False when no ask of this kind is open under this id: it is unknown or settled. */
  answer<K extends AskKind>(kind: K, requestId: string, answer: Answer<K>): boolean {
    const { open, expected } = this.#waiting[kind];
    const found = open.get(requestId);
    const early = expected.get(requestId);
    if (!found && (!early || early.answer)) return false;
    const { ask } = found ?? early ?? {};
    if (isKept(kind) || ask?.comesAgain) this.#options.keeper.keep(requestId, answer); // The others cannot come again.
    if (found) found.answered(answer);
    else if (early) early.answer = { value: answer };
    return true;
  }

  /** Drops what this session asked in an earlier process and will not open again. */
  forget(sessionId: string): void {
    for (const { expected } of Object.values(this.#waiting)) {
      for (const { ask } of expected.values()) if (ask.sessionId === sessionId) this.settled(ask.requestId);
    }
  }

  /** The consequence of the answer is in the log now. */
  settled(requestId: string): void {
    for (const { expected } of Object.values(this.#waiting)) expected.delete(requestId);
    if (this.#stored.delete(requestId)) this.#options.keeper.dropAsk(requestId);
    this.#options.keeper.drop(requestId);
  }

  /** Offers every open ask again, after a client has joined or left. */
  redeliver(): void {
    for (const { open } of Object.values(this.#waiting)) {
      for (const each of open.values()) if (each.isOffered) each.offer();
    }
  }

  /** The asks that can be answered now. */
  list<K extends AskKind>(kind: K): Ask<K>[] {
    const { open, expected } = this.#waiting[kind];
    return [
      ...open.values().filter(({ isOffered }) => isOffered),
      ...expected.values().filter(({ answer }) => answer === undefined),
    ].map(({ ask }) => ask);
  }

  /** Parses an answer from the store. When it cannot be read, the ask stays open. */
  #read<K extends AskKind>(ask: Ask<K>, stored: unknown): { value: Answer<K> } | undefined {
    const parsed = KINDS[ask.kind].answer().safeParse(stored);
    if (parsed.success) return { value: parsed.data };
    this.#options.keeper.drop(ask.requestId);
    this.#options.warn(`The stored answer to the ${ask.kind} ${ask.requestId} cannot be read; it is asked for again.`);
    return undefined;
  }
}

function nothing<K extends AskKind>(): Waiting<K> {
  return { open: new SparseMap(), expected: new SparseMap() };
}
