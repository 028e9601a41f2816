/**
 * What an agent may use in one run, and what happens when it is nearly used up: a nudge, one turn to wrap up, then the end.
 *
 * What a sub-agent uses counts for every agent above it.
 */
import type { Budget } from "@retinue/protocol";

export type { Budget };

export interface Used {
  turns: number;
  tokens: number;
  toolCalls: number;
  cost: number;
}

export class OverBudget extends Error {
  override readonly name = "OverBudget";
  constructor(what: string) {
    super(`The budget is used up: ${what}`);
  }
}

const NUDGE_AT = 0.8;
const LIMITS = ["maxTurns", "maxTokens", "maxToolCalls", "maxSeconds", "maxCost"] as const;

/** The lower of each pair of limits, so that a call cannot get more than the agent's definition allows. */
export function lowerBudget(a: Budget, b: Budget = {}): Budget {
  const both = LIMITS.map(
    (name) => [name, Math.min(a[name] ?? Number.POSITIVE_INFINITY, b[name] ?? Number.POSITIVE_INFINITY)] as const,
  );
  return Object.fromEntries(both.filter(([, limit]) => limit < Number.POSITIVE_INFINITY));
}

export class Meter {
  readonly #budget: Budget;
  readonly #above: Meter | undefined;
  readonly #isPerRun: boolean;
  readonly #used: Used = { turns: 0, tokens: 0, toolCalls: 0, cost: 0 };
  #isNudged = false;
  #isWrapping = false;

  /** Usage counts for `above` as well. */
  constructor(budget: Budget, { above, isPerRun = false }: { above?: Meter; isPerRun?: boolean } = {}) {
    this.#budget = budget;
    this.#above = above;
    this.#isPerRun = isPerRun;
  }

  get used(): Readonly<Used> {
    return this.#used;
  }

  /** The last turn was the one to wrap up, so its text is a partial result. */
  get isSpent(): boolean {
    return this.#isWrapping;
  }

  /** Called when a run begins: a budget per run is reset, one for a lifetime is not. */
  begin(): void {
    if (!this.#isPerRun) return;
    Object.assign(this.#used, { turns: 0, tokens: 0, toolCalls: 0, cost: 0 });
    this.#isNudged = false;
    this.#isWrapping = false;
  }

  add(used: Partial<Used>): void {
    this.#used.turns += used.turns ?? 0;
    this.#used.tokens += used.tokens ?? 0;
    this.#used.toolCalls += used.toolCalls ?? 0;
    this.#used.cost += used.cost ?? 0;
    // Turns count only for the agent itself; tokens, calls and money also for the agents above.
    this.#above?.add({ ...used, turns: 0 });
  }

  /** Nothing, words for the model, or the end. A used-up budget above ends this agent too, after a turn to wrap up. */
  beforeTurn(): string | undefined {
    const words = this.#check();
    this.add({ turns: 1 });
    return words;
  }

  #check(): string | undefined {
    const { what, share } = this.#fullest();
    if (share >= 1) {
      if (this.#isWrapping) throw new OverBudget(what);
      this.#isWrapping = true;
      return `The budget is used up (${what}). This is the last turn: call no more tools, and answer now with what you have.`;
    }
    if (share >= NUDGE_AT && !this.#isNudged) {
      this.#isNudged = true;
      return `Most of the budget is used (${what}). Come to an end soon.`;
    }
    return undefined;
  }

  #fullest(): { what: string; share: number } {
    const { maxTurns, maxTokens, maxToolCalls, maxCost } = this.#budget;
    const shares = [
      share("turns", this.#used.turns, maxTurns),
      share("tokens", this.#used.tokens, maxTokens),
      share("tool calls", this.#used.toolCalls, maxToolCalls),
      share("cost", this.#used.cost, maxCost),
    ];
    const above = this.#above ? this.#above.#fullest() : { what: "", share: 0 };
    return shares.reduce((most, each) => (each.share > most.share ? each : most), above);
  }
}

function share(name: string, used: number, limit: number | undefined): { what: string; share: number } {
  return limit === undefined
    ? { what: "", share: 0 }
    : { what: `${used} of ${limit} ${name}`, share: limit === 0 ? 1 : used / limit };
}
