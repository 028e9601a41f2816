/**
 * One cell of the matrix as a scenario: who spawns whom on which path, where something goes wrong, and what the agents answer at the end.
 *
 * The agent that does the work is `worker`, one level below its spawner. It first makes one of each kind of call that needs an answer. Then
 * it reaches the point where the fault happens: an ask that is held back, or a gate of the model when nobody can be asked.
 */
import { randomUUID } from "node:crypto";
import type { LawEvent } from "./law-event.ts";
import { type Attached, isProgram } from "./law-host.ts";
import { type Move, type Plan, promptOf, type Turn } from "./plan.ts";

export const PATHS = [
  "sync",
  "background",
  "multi-turn",
  "promoted",
  "resumed",
  "fork",
  "selected agent",
  "MCP task",
  "fleet",
] as const;
/** The main agent, its child, the first with an agent between, the deepest that may start one, and one that may not. Those between are like 2. */
export const DEPTHS = [0, 1, 2, 5, 6] as const;
export const MAX_DEPTH = 6;
export const ATTACHED = ["sdk", "protocol 2", "our SDK", "terminal", "nobody"] as const satisfies readonly Attached[];
export const FAULTS = [
  "nothing",
  "cancel",
  "model error",
  "client gone",
  "late client",
  "budget",
  "store fails",
  "hook hangs",
  "kill -9",
  "host gone too",
  "budget, killed",
] as const;

/** The process is killed. */
export const isKilled = ({ fault }: Cell): boolean =>
  fault === "kill -9" || fault === "host gone too" || fault === "budget, killed";

/** The worker has a budget, and asks for more than it has. */
export const hasBudget = ({ fault }: Cell): boolean => fault === "budget" || fault === "budget, killed";

/** On this path the worker is a task of an MCP server, and the fault happens while the server works on it. */
export const isMcpTask = ({ path }: Cell): boolean => path === "MCP task";

/** On this path a program gives the main agent's work to a fleet, which starts the agent below it. */
export const isFleet = ({ path }: Cell): boolean => path === "fleet";

/** The fault leaves another client to go on with the session. */
const hasSuccessor = ({ fault }: Cell): boolean =>
  fault === "client gone" || fault === "late client" || fault === "host gone too";

export interface Cell {
  path: (typeof PATHS)[number];
  /** The depth of the agent that spawns. The deepest one may not spawn, and its model must read so. */
  depth: number;
  attached: Attached;
  fault: (typeof FAULTS)[number];
}

/**
 * Every program does the same work, so another one makes a difference only where it is asked, told, or gone: in how it gets an ask, gives
 * an answer, hears that it is too late, and comes back. That a model fails and that a budget is used up is found out in the runtime, before
 * any program could know of it.
 */
const SAME_FOR_EVERY_PROGRAM: readonly Cell["fault"][] = ["model error", "budget", "budget, killed"];

/** The main agent asks, its child asks, and the deepest agent asks; all programs meet these in the same way at the depths between. */
const DEPTHS_OF_OTHER_PROGRAMS: readonly number[] = [0, 1, MAX_DEPTH];

function isRun(cell: Cell): boolean {
  const { fault, depth, attached } = cell;
  if (isMcpTask(cell) && hasBudget(cell)) return false; // It is the server's work, and has no budget.
  if (isFleet(cell) && hasBudget(cell) && depth === 0) return false; // A todo has no budget; an agent gives one to what it starts.
  if (attached === "nobody") return fault !== "host gone too"; // There is no host that could be gone.
  if (attached === "sdk" || attached === "terminal") return true;
  return !SAME_FOR_EVERY_PROGRAM.includes(fault) && DEPTHS_OF_OTHER_PROGRAMS.includes(depth);
}

/**
 * The client that is there first, and the one that goes on with the session. Where another program comes, the two also speak different
 * protocols: at depth 1 the client that comes is one of protocol 3, at the deepest the one that was there first.
 */
export function clientsOf(cell: Cell): { first: Attached; next: Attached } {
  const { attached, depth } = cell;
  const isMixed = isProgram(attached) && hasSuccessor(cell);
  return {
    first: isMixed && depth === MAX_DEPTH ? "sdk" : attached,
    next: isMixed && depth === 1 ? "sdk" : attached,
  };
}

/** The whole matrix. */
export const CELLS: readonly Cell[] = PATHS.flatMap((path) =>
  ATTACHED.flatMap((attached) => FAULTS.flatMap((fault) => DEPTHS.map((depth) => ({ path, depth, attached, fault })))),
).filter(isRun);

export const cellName = ({ path, depth, attached, fault }: Cell): string =>
  `${path.replace(" ", "-")}-${depth}-${attached.replace(" ", "-")}-${fault.replace(/\W+/g, "")}`;

/** `lead` may start real background work of its own. */
export const CUSTOM_AGENTS = [{ name: "lead", description: "Leads others.", prompt: "Lead.", nestedBackground: true }];

/** At the limit no agent may be started; a task of a server is no agent. */
export const isRefused = (cell: Cell): boolean => cell.depth === MAX_DEPTH && !isMcpTask(cell);

/** What the server is called with. */
export const jobOf = (cell: Cell): string => `job of ${cellName(cell)}.`;

/** What its session is configured with; on one path the main agent is itself a selected agent. */
export const configOf = ({ path }: Cell) => ({
  customAgents: CUSTOM_AGENTS,
  ...(path === "selected agent" ? { agent: "lead" } : {}),
});

export const holdMark = (cell: Cell): string => `hold-${cellName(cell)}`;

/** Processes are looked up in the whole machine, where another run of these tests may be in the same cell. */
const RUN = randomUUID().slice(0, 8);
export const processMark = (cell: Cell): string => `law-${RUN}-${cellName(cell)}`;

/** The hook that hangs: after the held call, or after the call that follows the gate. */
export const isHanging = (cell: Cell) => (call: { hookType: string; input: Record<string, unknown> }) => {
  if (cell.fault !== "hook hangs" || call.hookType !== "postToolUse") return false;
  const inAgent = cell.attached === "nobody" ? "list_agents" : holdMark(cell);
  const mark = isMcpTask(cell) ? jobOf(cell) : inAgent;
  return JSON.stringify(call.input).includes(mark);
};

/** The ask at which the fault happens. */
export const isHeld = (cell: Cell) => (event: LawEvent) => JSON.stringify(event.data).includes(holdMark(cell));

/** The call that sets everything in motion. */
export function startOf(cell: Cell): { method: string; params: object } {
  if (!isFleet(cell)) return { method: "session.send", params: { prompt: rootPrompt(cell) } };
  const [id, plan] = cell.depth === 0 ? ["worker", workerPlan(cell)] : ["lead1", planDownTo(cell, 1)];
  const todo = { id, title: id, description: promptOf(plan), ...(cell.depth === 0 ? {} : { agent: "lead" }) };
  return { method: "session.fleet.start", params: { todos: [todo], retries: 0 } };
}

export const rootPrompt = (cell: Cell): string => promptOf(planDownTo(cell, 0));

/** What the agent at a depth is told, down to the one that spawns the worker. */
function planDownTo(cell: Cell, top: number): Plan {
  let plan = spawnerPlan(cell);
  for (let depth = cell.depth; depth > top; depth--) {
    plan = { turns: [{ moves: [{ task: plan, name: `lead${depth}`, agent: "lead" }] }], says: `above lead${depth}` };
  }
  return plan;
}

export const secondAnswer = (cell: Cell): string => `worker answered again in ${cellName(cell)}`;
export const workerAnswer = (cell: Cell): string => `worker answered in ${cellName(cell)}`;

function spawnerPlan(cell: Cell): Plan {
  if (isMcpTask(cell))
    return { turns: [{ moves: [{ call: "jobs-worker", args: { job: jobOf(cell) } }] }], says: "the spawner is done" };
  const task: Move = {
    task: workerPlan(cell),
    name: "worker",
    ...(isBackground(cell) ? { mode: "background" } : {}),
    ...(hasBudget(cell) ? { budget: { maxToolCalls: callsAllowed(cell) } } : {}),
  };
  const isTooDeep = cell.depth === MAX_DEPTH;
  const turns: Turn[] = [{ moves: [task] }];
  if (isTooDeep) turns.push(...(workerPlan(cell).turns ?? []));
  else if (cell.path === "multi-turn")
    turns.push({
      moves: [{ call: "write_agent", args: { agent_id: "$agent:0", message: promptOf({ says: secondAnswer(cell) }) } }],
    });
  return { turns, says: isTooDeep ? workerAnswer(cell) : "the spawner is done" };
}

const isBackground = ({ path }: Cell) => path === "background" || path === "multi-turn";

function workerPlan(cell: Cell): Plan {
  const shell: Move = { call: "bash", args: { command: `exec -a ${processMark(cell)} sleep 300`, mode: "async" } };
  const work = {
    program: [
      { call: "probe", args: { what: "first" } },
      { call: "guarded_probe", args: { what: "second" } },
      { call: "ask_user", args: { question: "which colour?" } },
      shell,
    ],
    terminal: [
      { call: "create", args: { path: `${cellName(cell)}.txt`, file_text: "x" } },
      { call: "ask_user", args: { question: "which colour?" } },
      shell,
    ],
    nobody: [shell, { call: "create", args: { path: `${cellName(cell)}.txt`, file_text: "x" } }],
  } satisfies Record<string, Move[]>;
  const { attached } = cell;
  const who = attached === "terminal" || attached === "nobody" ? attached : "program";
  const turns: Turn[] = [{ moves: work[who] }, holdTurn(cell)];
  if (cell.fault === "model error") turns.push({ fails: "the model is broken" });
  // More calls in one turn than its budget has left.
  if (hasBudget(cell)) turns.push({ moves: Array.from({ length: 4 }, () => ({ call: "list_agents" })) });
  return { turns, says: workerAnswer(cell) };
}

/** How many calls the worker may make where its budget goes wrong: what it does before the fault, and two more. */
export function callsAllowed(cell: Cell): number {
  const { turns = [] } = workerPlan({ ...cell, fault: "nothing" });
  return turns.reduce((sum, { moves = [] }) => sum + moves.length, 0) + 2;
}

function holdTurn(cell: Cell): Turn {
  const mark = holdMark(cell);
  if (isProgram(cell.attached)) return { moves: [{ call: "probe", args: { what: mark } }] };
  if (cell.attached === "terminal") return { moves: [{ call: "bash", args: { command: `echo ${mark}` } }] };
  return { gate: mark, moves: [{ call: "list_agents" }] };
}
