/**
 * The ask broker: everything that a person or the host must answer, from any depth of a session tree.
 *
 * Owns the open asks. An ask is announced by an event and answered once: the first answer wins, a later one is told so. Who can
 * be asked is the server's knowledge (`Answerers`); what an answer means is up to the caller.
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

interface OpenAsk {
  ask: Ask;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
  retract: (() => void) | undefined;
}

export class Asks {
  readonly #answerers: Answerers;
  readonly #open = new Map<string, OpenAsk>();

  constructor(answerers: Answerers) {
    this.#answerers = answerers;
  }

  /** Waits for the answer. Rejects when the signal is aborted or the ask is withdrawn. */
  open(ask: Ask, { signal }: { signal: AbortSignal }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(withdrawn(ask));
        return;
      }
      const onAbort = () => this.withdraw(ask.requestId);
      signal.addEventListener("abort", onAbort, { once: true });
      const settle = () => signal.removeEventListener("abort", onAbort);
      const open: OpenAsk = {
        ask,
        resolve: (answer) => (settle(), resolve(answer)),
        reject: (error) => (settle(), reject(error)),
        retract: undefined,
      };
      this.#open.set(ask.requestId, open);
      open.retract = this.#answerers.deliver(ask);
    });
  }

  /** False when nothing waits under this id: unknown, or settled by an earlier answer. */
  answer(requestId: string, answer: unknown, kind?: AskKind): boolean {
    const open = this.#open.get(requestId);
    if (!open || (kind !== undefined && open.ask.kind !== kind)) return false;
    this.#open.delete(requestId);
    open.retract?.();
    open.resolve(answer);
    return true;
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
    return [...this.#open.values()].map(({ ask }) => ask).filter((ask) => kind === undefined || ask.kind === kind);
  }
}

function withdrawn(ask: Ask): AppError {
  return new AppError("cancelled", `The ${ask.kind} ${ask.requestId} was withdrawn`);
}
