/**
 * What an agent has used and has reserved, checked against its limits and those of every agent above it.
 *
 * What an agent does is reserved first, on all levels in one step, and counted when it is done. So agents that work at the same time
 * cannot pass a limit together. Which amounts a turn needs is worked out in budget.ts.
 */

export const RESOURCES = ["turns", "subtreeTurns", "tokens", "toolCalls", "nanoAiu", "spawns"] as const;
export type Resource = (typeof RESOURCES)[number];
export type Amounts = Readonly<Partial<Record<Resource, number>>>;

/** Something reserved. It ends once: counted with what was really used, or given back. */
export interface Hold {
  /** Counts `used`, and gives back the rest. */
  settle(used?: Amounts): void;
}

/** How much of one limit is used. */
export interface Share {
  resource: Resource;
  used: number;
  limit: number;
  /** Whether the limit is that of an agent above. */
  isAbove: boolean;
}

export class Ledger {
  readonly #limitsNow: () => Amounts | undefined;
  /** This one and those above it: what all resources but an agent's own turns count on. */
  readonly #levels: readonly Ledger[];
  readonly #used = new Map<Resource, number>();
  readonly #held = new Map<Resource, number>();
  /** Reservations that will soon be settled with less than their worst case. */
  #pending = 0;
  readonly #waiters = new Set<() => void>();

  /** Undefined when nothing is limited. The limits of a main agent change with the agent that is selected. */
  constructor(limits: () => Amounts | undefined, above?: Ledger) {
    this.#limitsNow = limits;
    this.#levels = [this, ...(above ? above.#levels : [])];
  }

  get isLimited(): boolean {
    return this.#levels.some((level) => level.#hasLimits);
  }

  /** Whether somebody else's reservation may still give something back, here or above. */
  get isPending(): boolean {
    return this.#levels.some((level) => level.#pending > 0 && level.#hasLimits);
  }

  used(resource: Resource): number {
    return this.#used.get(resource) ?? 0;
  }

  /** Sets what this agent has used, without counting it again for the agents above. */
  restore(used: Amounts): void {
    this.#used.clear();
    for (const resource of RESOURCES) this.#used.set(resource, used[resource] ?? 0);
  }

  /** What is left on the level that has least. */
  left(resource: Resource): number {
    return Math.min(...this.#counting(resource).map((level) => level.#leftHere(resource)));
  }

  /** Reserves all of it on every level, or nothing. */
  reserve(need: Amounts, { isPending = false }: { isPending?: boolean } = {}): Hold | undefined {
    return this.#fits(need) ? this.#hold(need, isPending) : undefined;
  }

  /** Counts at once what is used as soon as it begins, if it fits. */
  take(need: Amounts): boolean {
    const fits = this.#fits(need);
    if (fits) this.count(need);
    return fits;
  }

  /** Counts what was used without a reservation. */
  count(used: Amounts): void {
    for (const resource of RESOURCES)
      for (const level of this.#counting(resource)) add(level.#used, resource, used[resource] ?? 0);
  }

  /** Every limit that counts here, with what is used of it when `next` comes on top. */
  shares(next: Amounts = {}): Share[] {
    return RESOURCES.flatMap((resource) =>
      this.#counting(resource).flatMap((level) => {
        const limit = level.#limits[resource];
        const used = level.used(resource) + (next[resource] ?? 0);
        return limit === undefined ? [] : [{ resource, used, limit, isAbove: level !== this }];
      }),
    );
  }

  /** Resolves when a reservation of this tree was settled. */
  async change(signal: AbortSignal): Promise<void> {
    const levels = this.#levels;
    await new Promise<void>((resolve, reject) => {
      const done = () => {
        for (const level of levels) level.#waiters.delete(done);
        signal.removeEventListener("abort", done);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      for (const level of levels) level.#waiters.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }

  #fits(need: Amounts): boolean {
    return !this.isLimited || RESOURCES.every((resource) => (need[resource] ?? 0) <= this.left(resource));
  }

  #hold(need: Amounts, isPending: boolean): Hold {
    let isSettled = false;
    const change = (sign: 1 | -1) => {
      for (const level of this.#levels) if (isPending) level.#pending += sign;
      for (const resource of RESOURCES)
        for (const level of this.#counting(resource)) add(level.#held, resource, sign * (need[resource] ?? 0));
    };
    change(1);
    return {
      settle: (used) => {
        if (isSettled) return;
        isSettled = true;
        change(-1);
        if (used) this.count(used);
        // Only what others wait for wakes them: two that wait would otherwise wake each other for ever.
        if (isPending) for (const level of this.#levels) for (const wake of [...level.#waiters]) wake();
      },
    };
  }

  get #limits(): Amounts {
    return this.#limitsNow() ?? {};
  }

  get #hasLimits(): boolean {
    return this.#limitsNow() !== undefined;
  }

  #leftHere(resource: Resource): number {
    const limit = this.#limits[resource] ?? Number.POSITIVE_INFINITY;
    return limit - this.used(resource) - (this.#held.get(resource) ?? 0);
  }

  /** The levels on which a resource counts: `turns` are an agent's own, everything else counts for the agents above as well. */
  #counting(resource: Resource): readonly Ledger[] {
    return resource === "turns" ? [this] : this.#levels;
  }
}

function add(to: Map<Resource, number>, resource: Resource, amount: number): void {
  if (amount !== 0) to.set(resource, (to.get(resource) ?? 0) + amount);
}
