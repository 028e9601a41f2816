/**
 * Which todos of a graph can be started, which never can, and when nothing is left to do.
 *
 * Plain data in and out: no clock, no store, no agent. A change costs as much as what it touches, so a graph of ten thousand todos is
 * worked off in linear time. What the states mean for the tables is in todo-table.ts.
 */

/** Where a todo stands when a schedule is made. */
export type Standing =
  | { type: "open" }
  | { type: "running" }
  | { type: "done" }
  /** Tried and given up, or set aside by somebody. */
  | { type: "blocked"; reason: string }
  /** Somebody else's: the fleet neither starts nor counts it, and what depends on it waits. */
  | { type: "outside" };

export interface Graph {
  readonly todos: ReadonlyMap<string, Standing>;
  readonly deps: readonly { todoId: string; dependsOn: string }[];
}

export interface Progress {
  total: number;
  done: number;
  running: number;
  /** Tried and given up. */
  failed: number;
  /** Waits for one that has failed, or for itself. */
  blocked: number;
  /** Not started yet. */
  pending: number;
}

/** A todo that cannot be started any more, and why. */
export interface Blocked {
  id: string;
  reason: string;
}

type State = "waiting" | "ready" | "running" | "done" | "failed" | "blocked" | "outside";

interface Node {
  readonly id: string;
  state: State;
  /** How many of its dependencies are not done. */
  missing: number;
  readonly needs: string[];
  readonly neededBy: string[];
}

export class Schedule {
  readonly #nodes = new Map<string, Node>();
  readonly #ready: string[] = [];
  #nextReady = 0;
  readonly #counts = new Map<State, number>();
  /** Todos that the graph itself blocks, found when the schedule was made. */
  readonly blockedByGraph: readonly Blocked[];

  constructor({ todos, deps }: Graph) {
    for (const [id, { type }] of todos) {
      const state = type === "open" ? "waiting" : type === "blocked" ? "failed" : type;
      this.#nodes.set(id, { id, state, missing: 0, needs: [], neededBy: [] });
      this.#count(state, 1);
    }
    const blocked = this.#link(deps);
    for (const [id, standing] of todos)
      if (standing.type === "blocked") blocked.push(...this.#blockAbove(id, standing.reason));
    blocked.push(...this.#blockCycles());
    for (const node of this.#nodes.values()) this.#readyIfFree(node);
    this.blockedByGraph = blocked;
  }

  /** Takes up to so many todos that can start now; they count as running. */
  take(most: number): string[] {
    const taken: string[] = [];
    while (taken.length < most && this.#nextReady < this.#ready.length) {
      const node = this.#nodes.get(this.#ready[this.#nextReady++] ?? "");
      if (node?.state !== "ready") continue;
      this.#move(node, "running");
      taken.push(node.id);
    }
    return taken;
  }

  /** The todo is done: what waited for nothing else can start. */
  done(id: string): void {
    const node = this.#running(id);
    if (!node) return;
    this.#move(node, "done");
    for (const above of node.neededBy) {
      const waiting = this.#nodes.get(above);
      if (!waiting) continue;
      waiting.missing--;
      this.#readyIfFree(waiting);
    }
  }

  /** It is to be tried again, after the others that can start. */
  again(id: string): void {
    const node = this.#running(id);
    if (!node) return;
    this.#move(node, "waiting");
    this.#readyIfFree(node);
  }

  /** It is given up: what depends on it, however far away, is blocked. Returns those. */
  fail(id: string, reason: string): Blocked[] {
    const node = this.#running(id);
    if (!node) return [];
    this.#move(node, "failed");
    return this.#blockAbove(id, reason);
  }

  has(id: string): boolean {
    return this.#nodes.has(id);
  }

  /** What a todo depends on. */
  needsOf(id: string): readonly string[] {
    return this.#nodes.get(id)?.needs ?? [];
  }

  get hasReady(): boolean {
    return this.#of("ready") > 0;
  }

  get progress(): Progress {
    const parts = {
      done: this.#of("done"),
      running: this.#of("running"),
      failed: this.#of("failed"),
      blocked: this.#of("blocked"),
      pending: this.#of("waiting") + this.#of("ready"),
    };
    return { total: Object.values(parts).reduce((sum, each) => sum + each, 0), ...parts };
  }

  #link(deps: Graph["deps"]): Blocked[] {
    const blocked: Blocked[] = [];
    const orphans: [string, string][] = [];
    for (const { todoId, dependsOn } of deps) {
      const node = this.#nodes.get(todoId);
      const needed = this.#nodes.get(dependsOn);
      if (!node) continue;
      node.needs.push(dependsOn);
      needed?.neededBy.push(todoId);
      if (needed?.state !== "done") node.missing++;
      if (!needed) orphans.push([todoId, dependsOn]);
    }
    for (const [todoId, missing] of orphans)
      blocked.push(...this.#block(todoId, `It depends on ${missing}, which is not there.`));
    return blocked;
  }

  /** What is left when everything else is imagined done waits for a cycle, or is one. Each left todo leads to one left dependency, so walking finds it. */
  #blockCycles(): Blocked[] {
    const left = this.#leftOver();
    const seen = new Map<string, number>();
    const blocked: Blocked[] = [];
    let walk = 0;
    for (const start of left) {
      walk++;
      const path: string[] = [];
      let at: string | undefined = start;
      while (at !== undefined && !seen.has(at)) {
        seen.set(at, walk);
        path.push(at);
        at = this.#nodes.get(at)?.needs.find((needed) => left.has(needed));
      }
      if (at === undefined || seen.get(at) !== walk) continue;
      const cycle = path.slice(path.indexOf(at));
      const reason = `It waits for itself: ${[...cycle, at].slice(0, MAX_NAMED).join(" → ")}${cycle.length >= MAX_NAMED ? " → …" : ""}.`;
      for (const id of cycle) if (this.#isWaiting(id)) blocked.push(...this.#blockOne(id, reason));
      for (const id of cycle) blocked.push(...this.#blockAbove(id, reason));
    }
    return blocked;
  }

  #leftOver(): ReadonlySet<string> {
    const missing = new Map<string, number>();
    const free: string[] = [];
    for (const node of this.#nodes.values()) {
      const open = node.needs.filter((id) => this.#nodes.get(id)?.state === "waiting").length;
      if (node.state !== "waiting") continue;
      missing.set(node.id, open);
      if (open === 0) free.push(node.id);
    }
    for (const id of free)
      for (const above of this.#nodes.get(id)?.neededBy ?? []) {
        const count = (missing.get(above) ?? 0) - 1;
        missing.set(above, count);
        if (count === 0) free.push(above);
      }
    for (const id of free) missing.delete(id);
    return new Set([...missing].filter(([, count]) => count > 0).map(([id]) => id));
  }

  /** Blocks a todo, and all that depends on it. */
  #block(id: string, reason: string): Blocked[] {
    return this.#isWaiting(id) ? [...this.#blockOne(id, reason), ...this.#blockAbove(id, reason)] : [];
  }

  #blockAbove(id: string, cause: string): Blocked[] {
    const reason = `It waits for ${id}, which is blocked: ${cause.slice(0, MAX_REASON)}`;
    const blocked: Blocked[] = [];
    const from = [id];
    for (const at of from)
      for (const above of this.#nodes.get(at)?.neededBy ?? []) {
        if (!this.#isWaiting(above)) continue;
        blocked.push(...this.#blockOne(above, reason));
        from.push(above);
      }
    return blocked;
  }

  #blockOne(id: string, reason: string): Blocked[] {
    const node = this.#nodes.get(id);
    if (!node) return [];
    this.#move(node, "blocked");
    return [{ id, reason }];
  }

  #isWaiting(id: string): boolean {
    return this.#nodes.get(id)?.state === "waiting";
  }

  #running(id: string): Node | undefined {
    const node = this.#nodes.get(id);
    return node?.state === "running" ? node : undefined;
  }

  #readyIfFree(node: Node): void {
    if (node.state !== "waiting" || node.missing > 0) return;
    this.#move(node, "ready");
    this.#ready.push(node.id);
  }

  #move(node: Node, to: State): void {
    this.#count(node.state, -1);
    node.state = to;
    this.#count(to, 1);
  }

  #count(state: State, change: number): void {
    this.#counts.set(state, this.#of(state) + change);
  }

  #of(state: State): number {
    return this.#counts.get(state) ?? 0;
  }
}

const MAX_NAMED = 12;
const MAX_REASON = 500;
