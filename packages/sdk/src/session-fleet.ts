/** Fleets of a session as its program sees them: todos, most of all a graph of its own, that several agents work off. */
import type { FleetDependency, FleetReport, FleetTodo } from "@retinue/protocol";
import type { SessionRpc } from "./rpc.ts";

export interface FleetOptions {
  /** How many agents work at the same time at most. */
  maxConcurrent?: number;
  /** How often a todo that failed is tried again (default 1). */
  retries?: number;
  /** `worktree`: each agent writes in a git worktree of its own, and its changes are merged when it has completed. */
  isolation?: "none" | "worktree";
}

export interface FleetGraph extends FleetOptions {
  todos: readonly FleetTodo[];
  /** What must be done before what. */
  deps?: readonly FleetDependency[];
}

export interface FleetPlan extends FleetOptions {
  /** The work that the main agent splits into todos. */
  prompt?: string;
}

export class SessionFleet {
  readonly #rpc: SessionRpc;

  constructor(rpc: SessionRpc) {
    this.#rpc = rpc;
  }

  /** Starts a fleet, for a graph or for what the main agent plans. Resolves with its id; the main agent is told when it has ended. */
  async start(work: FleetGraph | FleetPlan): Promise<string> {
    return (await this.#rpc.fleet.start(sent(work))).fleetId ?? "";
  }

  /** The same, and resolves when it is over with what every todo came to. A todo that failed does not reject; its result says so. */
  async run(work: FleetGraph | FleetPlan): Promise<FleetReport> {
    const { report, fleetId } = await this.#rpc.fleet.start({ ...sent(work), wait: true });
    return report ?? (await this.read(fleetId));
  }

  /** What the todos have come to so far; of the latest fleet when none is named. */
  async read(fleetId?: string): Promise<FleetReport> {
    return await this.#rpc.fleet.read({ fleetId });
  }

  /** The same when it is over: for a program that comes back to a fleet which it has left. */
  async wait(fleetId?: string): Promise<FleetReport> {
    return await this.#rpc.fleet.read({ fleetId, wait: true });
  }
}

function sent(work: FleetGraph | FleetPlan) {
  if (!("todos" in work)) return work;
  return { ...work, todos: [...work.todos], deps: work.deps && [...work.deps] };
}
