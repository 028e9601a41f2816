/** What each session of a tree has used, also those that have ended, and what sub-agents have been doing lately. */
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

  /** The main agent first, then the others as they came. */
  entries(): readonly [string, UsageTotals][] {
    return [...this.#totals];
  }

  count(sessionId: string, totals: UsageTotals): void {
    this.#totals.set(sessionId, totals);
  }

  /** The log was replayed: what sub-agents used before is counted from it. */
  restart(children: ReadonlyMap<string, UsageTotals>): void {
    this.#totals.clear();
    this.count(this.#root.id, this.#root.state.usage);
    for (const [sessionId, totals] of children) this.count(sessionId, totals);
  }
}
