/**
 * A random session tree for a seed: who starts whom, on which path, with which calls; and the crash that happens to it.
 *
 * The same seed gives the same tree. What happens in it also depends on the machine, so one seed may pass and fail.
 */
import { Random } from "../fuzz/random.ts";
import { type Move, type Plan, promptOf, type Turn } from "./plan.ts";

const MAX_AGENTS = 6;
const MAX_DEPTH = 3;

export interface Scenario {
  seed: number;
  plan: Plan;
  /** The number of recorded events after which it is killed. */
  killAt: number;
  /** Whether the host ends as well, and forgets what it has done. */
  isHostKilled: boolean;
  continuePendingWork: boolean;
  /** Killed a second time, after so many events of the resumed session. */
  killAgainAt: number | undefined;
}

/** Sync agents with this name are moved to the background when they start. */
export const isPromoted = (name: string): boolean => name.startsWith("moved");

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const tree = new RandomTree(random, `kill-${seed}-x`);
  const plan = tree.plan(0, "main");
  return {
    seed,
    plan,
    killAt: 1 + random.below(12 + tree.weight),
    isHostKilled: random.next() < 0.3,
    continuePendingWork: random.next() < 0.5,
    killAgainAt: random.next() < 0.25 ? 1 + random.below(20) : undefined,
  };
}

export const processMark = (seed: number): string => `kill-${seed}-x`;

class RandomTree {
  /** About as many events as the tree has. */
  weight = 0;
  readonly #random: Random;
  readonly #mark: string;
  #agents = 0;

  constructor(random: Random, mark: string) {
    this.#random = random;
    this.#mark = mark;
  }

  plan(depth: number, name: string): Plan {
    this.weight += 8;
    const turns: Turn[] = [];
    const wanted = depth === 0 ? 2 : 1 + this.#random.below(2);
    for (let turn = 0; turn < wanted; turn++) {
      const moves = Array.from({ length: 1 + this.#random.below(3) }, () => this.#move(depth, name));
      turns.push({ moves });
      const isWritten = depth === 0 && this.#random.next() < 0.7;
      if (isWritten && moves.some((move) => "task" in move))
        turns.push({ moves: [{ call: "write_agent", args: { agent_id: "$agent:0", message: this.#message(name) } }] });
    }
    return { turns, says: `answer of ${name}` };
  }

  #message(name: string): string {
    this.weight += 16;
    return promptOf({ turns: [{ moves: [this.#call(name)] }], says: `second answer below ${name}` });
  }

  #move(depth: number, name: string): Move {
    const isTask = depth < MAX_DEPTH && this.#agents < MAX_AGENTS && this.#random.next() < (depth === 0 ? 0.8 : 0.5);
    return isTask ? this.#task(depth) : this.#call(name);
  }

  #task(depth: number): Move {
    this.#agents++;
    const way = this.#random.pick(["sync", "background", "moved"] as const);
    const name = `${way}${this.#agents}`;
    const task = this.plan(depth + 1, name);
    return { task, name, agent: "lead", ...(way === "background" ? { mode: "background" as const } : {}) };
  }

  #call(name: string): Move {
    this.weight += 5;
    return this.#random.pick<Move>([
      { call: "probe", args: { what: name } },
      { call: "guarded_probe", args: { what: name } },
      { call: "ask_user", args: { question: `which colour, ${name}?` } },
      { call: "bash", args: { command: `echo ${name}`, description: "say it" } },
      { call: "bash", args: { command: `exec -a ${this.#mark} sleep 300`, description: "serve", mode: "async" } },
      { call: "list_agents" },
    ]);
  }
}
