/** What each session of a tree has used, ended ones included, and the latest activity of sub-agents. */
import type { Session } from "../session/session.ts";
import type { UsageTotals } from "../session/usage.ts";
import { Activity } from "./activity.ts";

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
