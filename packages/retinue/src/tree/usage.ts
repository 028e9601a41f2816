/** What each session of a tree has used, ended ones included, and the latest activity of sub-agents. */
import type { Session } from "../session/session.ts";
import type { Tally, UsageTotals } from "../session/usage.ts";
import { Activity } from "./activity.ts";
import type { Amounts } from "./ledger.ts";

export class Usage {
  readonly activity = new Activity();
  readonly #root: Session;
  readonly #totals = new Map<string, UsageTotals>();

  constructor(root: Session) {
    this.#root = root;
    this.restart(new Map());
  }

  of(sessionId: string): UsageTotals | undefined {
    return this.#totals.get(sessionId);
  }

  /** The main agent first, then the others in the order in which they started. */
  entries(): readonly [string, UsageTotals][] {
    return [...this.#totals];
  }

  get nanoAiu(): number {
    return [...this.#totals.values()].reduce((sum, { nanoAiu }) => sum + nanoAiu, 0);
  }

  /** What a sub-agent and everything below it have used, ended agents included. */
  bySubtree(sessionId: string): Amounts {
    const own = this.of(sessionId);
    const below = [...this.#totals].filter(([id, { path }]) => id !== sessionId && path.includes(sessionId));
    const all = [...below.map(([, totals]) => totals.tally), ...(own ? [own.tally] : [])];
    return { ...sum(all), turns: own?.turns ?? 0, spawns: below.length };
  }

  /** What the whole tree has used since the run of the main agent began, in an earlier process. */
  byRun(): Amounts {
    const all = [...this.#totals.values()].map((totals) => totals.inLatestRun);
    return { ...sum(all), turns: this.#root.state.usage.inLatestRun.turns };
  }

  count(sessionId: string, totals: UsageTotals): void {
    this.#totals.set(sessionId, totals);
  }

  /** Takes over what a replay of the log has counted for sub-agents. */
  restart(children: ReadonlyMap<string, UsageTotals>): void {
    this.#totals.clear();
    this.count(this.#root.id, this.#root.state.usage);
    for (const [sessionId, totals] of children) this.count(sessionId, totals);
  }
}

function sum(all: readonly Tally[]): Amounts {
  let [subtreeTurns, tokens, toolCalls, nanoAiu, spawns] = [0, 0, 0, 0, 0];
  for (const each of all) {
    subtreeTurns += each.turns;
    tokens += each.tokens;
    toolCalls += each.toolCalls;
    nanoAiu += each.nanoAiu;
    spawns += each.spawns;
  }
  return { subtreeTurns, tokens, toolCalls, nanoAiu, spawns };
}
