/**
 * The ask broker: everything that a person or the host must answer, from any depth of a session tree.
 *
 * Owns the open asks. An ask is announced by an event and answered once: the first answer wins, a later one is told so. An answer is
 * kept until what follows from it is recorded, so that one that was taken is never asked for again. Who can be asked is the server's
 * knowledge (`Answerers`); what an answer means is up to the caller.
 */
import { AppError } from "@retinue/protocol";

export type AskKind = "permission" | "tool" | "question" | "elicitation" | "exit_plan" | "command";

export interface Ask {
  requestId: string;
  kind: AskKind;
  /** The session that asks. */
  sessionId: string;
  callId?: string;
  /** What clients are told, by kind. */
  payload: object;
}

/** The attached clients, seen from an ask. */
export interface Answerers {
  /**
   * Hands an ask to clients that take it as a request of its own; event-based clients have had the event. Returns what to do
   * when the ask is settled by somebody else.
   */
  deliver(ask: Ask): (() => void) | undefined;
}

/** Where answers are kept while nothing in the log tells of them. */
export interface AnswerKeeper {
  keep(requestId: string, answer: unknown): void;
  drop(requestId: string): void;
}

/** What is asked in the log and not answered there, after a restart: its agent comes back to it in a moment. */
interface Expected {
  ask: Ask;
  answer?: { value: unknown };
}

interface OpenAsk {
  ask: Ask;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
  retract: (() => void) | undefined;
}

export class Asks {
  readonly #answerers: Answerers;
  readonly #keeper: AnswerKeeper;
  readonly #open = new Map<string, OpenAsk>();
  readonly #expected = new Map<string, Expected>();

  constructor(answerers: Answerers, keeper: AnswerKeeper) {
    this.#answerers = answerers;
    this.#keeper = keeper;
  }

  /** An ask of an earlier process: it can be answered before its agent has opened it again. */
  expect(ask: Ask, answer?: { value: unknown }): void {
    this.#expected.set(ask.requestId, { ask, ...(answer ? { answer } : {}) });
  }

  /** Waits for the answer. Rejects when the signal is aborted or the ask is withdrawn. */
  open(ask: Ask, { signal }: { signal: AbortSignal }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const known = this.#expected.get(ask.requestId)?.answer;
      this.#expected.delete(ask.requestId); // Its agent has come back to it, also when it was stopped on the way.
      if (signal.aborted) {
        reject(withdrawn(ask));
        return;
      }
      if (known) {
        resolve(known.value);
        return;
      }
      const onAbort = () => this.withdraw(ask.requestId);
      signal.addEventListener("abort", onAbort, { once: true });
      const settle = () => signal.removeEventListener("abort", onAbort);
      const open: OpenAsk = {
        ask,
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
        retract: undefined,
      };
      this.#open.set(ask.requestId, open);
      open.retract = this.#answerers.deliver(ask);
    });
  }

  /** False when nothing waits under this id: unknown, or settled by an earlier answer. */
  answer(requestId: string, answer: unknown, kind?: AskKind): boolean {
    const open = this.#open.get(requestId);
    if (!open) return this.#answerEarly(requestId, answer, kind);
    if (kind !== undefined && open.ask.kind !== kind) return false;
    this.#open.delete(requestId);
    this.#keep(open.ask, answer);
    open.retract?.();
    open.resolve(answer);
    return true;
  }

  /** Nobody will come back to what this session asked in an earlier process. */
  forget(sessionId: string): void {
    for (const [requestId, { ask }] of this.#expected) {
      if (ask.sessionId !== sessionId) continue;
      this.#expected.delete(requestId);
      this.#keeper.drop(requestId);
    }
  }

  /** What follows from the answer is in the log now. */
  settled(requestId: string): void {
    this.#keeper.drop(requestId);
  }

  withdraw(requestId: string): void {
    const open = this.#open.get(requestId);
    if (!open) return;
    this.#open.delete(requestId);
    open.retract?.();
    open.reject(withdrawn(open.ask));
  }

  /** Offers every open ask again: to a client that has just come, or in place of one that has gone. */
  redeliver(): void {
    for (const open of this.#open.values()) {
      open.retract?.();
      open.retract = this.#answerers.deliver(open.ask);
    }
  }

  list(kind?: AskKind): Ask[] {
    const expected = [...this.#expected.values()].filter(({ answer }) => answer === undefined);
    return [...this.#open.values(), ...expected]
      .map(({ ask }) => ask)
      .filter((ask) => kind === undefined || ask.kind === kind);
  }

  #answerEarly(requestId: string, value: unknown, kind: AskKind | undefined): boolean {
    const expected = this.#expected.get(requestId);
    if (!expected || expected.answer || (kind !== undefined && expected.ask.kind !== kind)) return false;
    expected.answer = { value };
    this.#keep(expected.ask, value);
    return true;
  }

  /** Only asks that are in the log can come again. */
  #keep({ kind, requestId }: Ask, answer: unknown): void {
    if (kind === "permission" || kind === "tool") this.#keeper.keep(requestId, answer);
  }
}

function withdrawn(ask: Ask): AppError {
  return new AppError("cancelled", `The ${ask.kind} ${ask.requestId} was withdrawn`);
}
