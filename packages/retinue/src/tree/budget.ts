/**
 * What an agent may use, and what happens when it is nearly used up: a nudge, one turn to wrap up, then the end.
 *
 * A turn is sent only when its worst case fits into the limits of the agent and of every agent above it. The turn to wrap up is the
 * last one that fits, so room for it is kept from the first turn on. Counting is in ledger.ts.
 */
import type { Budget } from "@retinue/protocol";
import type { RequestLease, RequestNeed, RunBudget, Used } from "../loop/agent.ts";
import { Derived } from "./derived.ts";
import { type Amounts, type Hold, Ledger, RESOURCES, type Share } from "./ledger.ts";
import { limitsOf, shareOf, words } from "./limits.ts";
import { amountsOf, type Cost, costsOf, promptOf, worstOf } from "./request-cost.ts";

export type { Budget };

export class OverBudget extends Error {
  override readonly name = "OverBudget";
  constructor(what: string) {
    super(`The budget is used up: ${what}`);
  }
}

const NUDGE_AT = 0.8;
/** An answer of this length is useful: an ordinary turn has room for one, and leaves room for one more. */
const ANSWER_TOKENS = 1024;
/** The shortest answer that endpoints let a request ask for. */
const SHORTEST_TOKENS = 16;
/** How long an answer may get when a limit needs a bound and the model names none. */
const LONGEST_TOKENS = 16_384;

export interface MeterOptions {
  above?: Meter;
  /** The main agent's budget is for one run: a prompt, and everything that follows from it. */
  isPerRun?: boolean;
  /** How much of `maxSeconds` is gone. */
  seconds?(): number;
  /** Called when a turn begins. */
  onTurn?(): void;
  /** What the whole tree has been billed. */
  billed?(): number;
}

export class Meter implements RunBudget {
  readonly #ledger: Ledger;
  readonly #options: MeterOptions;
  readonly #budget: () => Budget;
  readonly #limitsOf = new Derived<Amounts | undefined>();
  /** Room for the turn to wrap up, kept from the first turn to the end of the run. */
  #kept: Hold | undefined;
  #isNudged = false;
  #isWrapping = false;
  #isCut = false;
  /** The limit that ended it, in words. */
  #reached = "";
  /** Tokens of the last request for each one that was estimated. */
  #ratio = 1;

  constructor(budget: Budget | (() => Budget), options: MeterOptions = {}) {
    const above = options.above ? options.above.#ledger : undefined;
    this.#options = options;
    this.#budget = typeof budget === "function" ? budget : () => budget;
    this.#ledger = new Ledger(() => this.#limits(), above);
  }

  get used(): Amounts {
    return Object.fromEntries(RESOURCES.map((resource) => [resource, this.#ledger.used(resource)]));
  }

  /** It was stopped by a limit, so its text is a partial result. */
  get isSpent(): boolean {
    return this.#isCut;
  }

  get isUsedUp(): boolean {
    return this.#isCut || this.#isWrapping;
  }

  /** What the log says that this agent, with everything below it, has used before. */
  restore(used: Amounts): void {
    this.#ledger.restore(used);
  }

  begin(): void {
    if (!this.#options.isPerRun) return;
    this.#ledger.restore({});
    this.#isNudged = false;
    this.#isWrapping = false;
    this.#isCut = false;
  }

  end(): void {
    this.#keep(undefined);
  }

  async reserveTurn(need: () => RequestNeed, { signal }: { signal: AbortSignal }): Promise<RequestLease> {
    if (this.#isWrapping) {
      this.#isCut = true;
      throw new OverBudget(this.#reached);
    }
    const lease = await this.#reserved(need, { turns: 1, subtreeTurns: 1 }, signal);
    this.#options.onTurn?.();
    return lease;
  }

  async reserveRequest(need: () => RequestNeed, { signal }: { signal: AbortSignal }): Promise<RequestLease> {
    return await this.#reserved(need, {}, signal);
  }

  reserveCall(): string | undefined {
    if (this.#isWrapping) this.#isCut = true;
    return !this.#isWrapping && this.#ledger.take({ toolCalls: 1 })
      ? undefined
      : `The budget is used up (${this.#isWrapping ? this.#reached : words(this.#fullest())}), so this call did not run. Call no more tools, and answer with what you have.`;
  }

  reserveSpawn(): string | undefined {
    return !this.#isWrapping && this.#ledger.take({ spawns: 1 })
      ? undefined
      : `The budget is used up (${words(this.#fullest({ spawns: 1 }))}), so no agent was started. Do this work yourself instead of delegating it.`;
  }

  billed(): number {
    return this.#options.billed?.() ?? 0;
  }

  /** Others may hold more than they will use: then it waits for them before it settles for less. */
  async #reserved(needed: () => RequestNeed, counted: Amounts, signal: AbortSignal): Promise<RequestLease> {
    signal.throwIfAborted();
    if (!this.#ledger.isLimited) return this.#unlimited(counted);
    const need = needed();
    for (;;) {
      const lease = this.#attempt(need, { needed, counted });
      if (lease) return lease;
      await this.#ledger.change(signal);
      signal.throwIfAborted();
    }
  }

  /** Nothing limits it, so nothing is reserved; what it has used is counted all the same. */
  #unlimited(counted: Amounts): RequestLease {
    const lease: RequestLease = {
      words: counted.turns === undefined ? undefined : this.#nudge(undefined),
      isLast: false,
      maxOutputTokens: undefined,
      prompt: undefined,
      settle: once((used) => this.#ledger.count({ ...counted, ...amountsUsed(used) })),
      assume: ({ billed = 0 }) => {
        this.#ledger.count({ nanoAiu: billed });
        return undefined;
      },
      again: async () => lease,
    };
    return lease;
  }

  #attempt(need: RequestNeed, asked: Asked): RequestLease | undefined {
    const { counted } = asked;
    const isTurn = counted.turns !== undefined;
    const costs = this.#costs(need, counted);
    if (isTurn) this.#keep(undefined);
    const isOver = this.#isWrapping || (isTurn && this.#ledger.left("toolCalls") <= 0);
    const ordinary = isOver ? 0 : this.#room(costs, { isLast: false });
    if (ordinary >= ANSWER_TOKENS) {
      return this.#lease(need, asked, {
        output: ordinary,
        words: isTurn ? this.#nudge(this.#fullest(amountsOf(costs, 0))) : undefined,
      });
    }
    if (this.#ledger.isPending) {
      if (isTurn) this.#keep(costs);
      return undefined;
    }
    const last = this.#room(costs, { isLast: true });
    if (!isTurn || last < SHORTEST_TOKENS) {
      if (isTurn) this.#isCut = true;
      throw this.#over(amountsOf(costs, SHORTEST_TOKENS));
    }
    return this.#lease(need, asked, { output: last, words: this.#wrapUp(costs), isLast: true });
  }

  /** How long the answer may get; with room for a last turn, unless this is the last one. */
  #room(costs: readonly Cost[], { isLast }: { isLast: boolean }): number {
    const room = costs.map(({ resource, fixed, input, output }) => {
      const left = this.#ledger.left(resource);
      if (left === Number.POSITIVE_INFINITY) return left;
      // An answer is part of the input of the next turn.
      const over = isLast ? left - fixed : left - 2 * fixed - output * ANSWER_TOKENS;
      const each = isLast ? output : output + input;
      if (each === 0) return over >= 0 ? Number.POSITIVE_INFINITY : 0;
      return over / each;
    });
    return Math.floor(Math.max(0, Math.min(...room)));
  }

  #lease(
    need: RequestNeed,
    { needed, counted }: Asked,
    { output, words, isLast = false }: { output: number; words?: string; isLast?: boolean },
  ): RequestLease {
    const costs = this.#costs(need, counted);
    const isTurn = counted.turns !== undefined;
    const isBounded = output < Number.POSITIVE_INFINITY;
    const longest = need.maxOutputTokens ?? LONGEST_TOKENS;
    const maxOutputTokens = isBounded ? Math.min(output, longest) : need.maxOutputTokens;
    const worst = amountsOf(costs, isBounded ? (maxOutputTokens ?? 0) : 0);
    const hold = this.#ledger.reserve(worst, { isPending: true });
    if (!hold) throw this.#over(worst); // Cannot be: `output` was worked out from what is left.
    const keepRoom = (inputTokens: number) => {
      if (isTurn && !isLast) this.#keep(this.#costs({ ...need, inputTokens }, counted));
    };
    keepRoom(need.inputTokens + (isBounded ? (maxOutputTokens ?? 0) / this.#ratio : 0));
    const prompt = promptOf(need, this.#ratio);
    const reserved = { need, prompt, maxOutputTokens };
    const attempt: Attempt = { hold, counted };
    return {
      words,
      isLast,
      maxOutputTokens,
      prompt,
      settle: once((used) => {
        if (used && used.inputTokens > 0) this.#ratio = used.inputTokens / need.inputTokens;
        this.#settle(attempt, used);
        if (this.#kept && used) keepRoom(need.inputTokens + used.outputTokens / this.#ratio);
      }),
      assume: ({ outputTokens, billed = 0 }) => {
        const used = worstOf(reserved, outputTokens);
        hold.settle({ ...amountsUsed(used), nanoAiu: Math.max(billed, used.nanoAiu) });
        attempt.hold = undefined;
        return { ...used, nanoAiu: Math.max(0, used.nanoAiu - billed) };
      },
      again: async ({ signal }) => {
        const next = await this.#reserved(needed, counted, signal);
        attempt.counted = {}; // Its turn is the same turn.
        return next;
      },
    };
  }

  #settle({ hold, counted }: Attempt, used: Used | undefined): void {
    const amounts = { ...counted, ...amountsUsed(used) };
    if (hold) hold.settle(amounts);
    else this.#ledger.count(amounts);
  }

  #costs(need: RequestNeed, counted: Amounts): Cost[] {
    return costsOf(need, counted, this.#ratio);
  }

  /** Room for a last turn, after a turn with these costs. Best effort: what calls add to the next prompt is not known yet. */
  #keep(costs: readonly Cost[] | undefined): void {
    this.#kept?.settle();
    this.#kept = costs && this.#ledger.reserve(amountsOf(costs, ANSWER_TOKENS));
  }

  /** In words, unless it was said before: the last turn may take several attempts. */
  #wrapUp(costs: readonly Cost[]): string | undefined {
    if (this.#isWrapping) return undefined;
    const fullest = this.#fullest(amountsOf(costs, 0));
    const isFirst = this.#ledger.used("turns") === 0;
    this.#isWrapping = true;
    this.#reached = words(fullest);
    // An agent with one turn of its own that answers in it has done what it was asked to.
    this.#isCut = !(isFirst && fullest?.resource === "turns");
    return isFirst
      ? `This is the only turn that the budget allows (${this.#reached}). Call no tools, and answer now.`
      : `The budget is used up (${this.#reached}). This is the last turn: call no more tools, and answer now with what you have.`;
  }

  #nudge(fullest: Share | undefined): string | undefined {
    const seconds = this.#options.seconds?.() ?? 0;
    const { maxSeconds } = this.#budget();
    const isLate = maxSeconds !== undefined && seconds >= NUDGE_AT * maxSeconds;
    if (this.#isNudged || (shareOf(fullest) < NUDGE_AT && !isLate)) return undefined;
    this.#isNudged = true;
    const what = isLate ? `${Math.round(seconds)} of ${maxSeconds} seconds` : words(fullest);
    return `Most of the budget is used (${what}). Come to an end soon.`;
  }

  #limits(): Amounts | undefined {
    const budget = this.#budget();
    return this.#limitsOf.get([budget], () => limitsOf(budget));
  }

  #over(next: Amounts = {}): OverBudget {
    return new OverBudget(words(this.#fullest(next)));
  }

  #fullest(next: Amounts = {}): Share | undefined {
    return this.#ledger.shares(next).sort((a, b) => shareOf(b) - shareOf(a))[0];
  }
}

/** What a reservation is for. */
interface Asked {
  /** Works out the need; for another attempt once more. */
  needed: () => RequestNeed;
  counted: Amounts;
}

/** One attempt of a request, until it is settled. */
interface Attempt {
  hold: Hold | undefined;
  counted: Amounts;
}

type Settle = RequestLease["settle"];

const amountsUsed = (used: Used | undefined): Amounts =>
  used ? { tokens: used.inputTokens + used.outputTokens, nanoAiu: used.nanoAiu } : {};

function once(settle: Settle): Settle {
  let isSettled = false;
  return (used) => {
    if (isSettled) return;
    isSettled = true;
    settle(used);
  };
}
