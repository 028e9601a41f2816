/**
 * What each cell of the matrix checks: the checks by name, what they say, and the cells that they are for.
 *
 * The runners give a function for each check, and `broken` calls those that are for the cell, so the legend in docs/laws.md says what was run.
 */
import { CELLS, type Cell, clientsOf, FAULTS, hasBudget, isKilled, isMcpTask, MAX_DEPTH } from "./cell.ts";

interface Check {
  says: string;
  isFor(cell: Cell): boolean;
}

const always = () => true;

const CHECKS = {
  asks: {
    says: "law 1: every ask is settled once; no host tool runs twice; an answer that was acknowledged counts (protocol 3 acknowledges answers); each refusal is on record",
    isFor: always,
  },
  "offered again": {
    says: "law 1: the client that comes is offered each open ask once, under its id, and is told that it is a repeat",
    isFor: isOfferedAgain,
  },
  ends: {
    says: "law 2: each run of an agent, its boundaries, each call, hook and check of gates has one start and then one end; autopilot ends at most once for a prompt; no model is left without a result; the server of an MCP task is called once",
    isFor: always,
  },
  delivery: {
    says: "law 2: what the worker came to reaches the agent that started it, and only once; law 3: at the limit the start is refused in words",
    isFor: always,
  },
  limits: {
    says: "law 3: no agent is deeper than allowed, and hooks see every call before it runs",
    isFor: always,
  },
  budget: {
    says: "law 3: exactly the calls that the budget allows were run, before and after the kill together, and the worker ended for that reason",
    isFor: (cell) => hasBudget(cell) && cell.depth < MAX_DEPTH,
  },
  places: {
    says: "law 3: no more agents work at once than allowed",
    isFor: (cell) => !isKilled(cell),
  },
  "at rest": {
    says: "law 4: no agent is still running; where no process was killed, also no ask is open and no place is held; the server of an MCP task has ended it",
    isFor: always,
  },
  processes: {
    says: "law 4: no process is left when the session is closed",
    isFor: always,
  },
  "no errors": {
    says: "the SDK of the host has nothing to report",
    isFor: ({ attached }) => attached === "our SDK",
  },
  fork: {
    says: "the copy of the session comes to rest, and laws 1 to 3 hold in it",
    isFor: ({ path }) => path === "fork",
  },
} satisfies Record<string, Check>;

type Name = keyof typeof CHECKS;
const NAMES = Object.keys(CHECKS) as Name[];

/** A client of protocol 3 that follows one which is gone reads the log and may answer before anything is offered to it. */
function isOfferedAgain(cell: Cell): boolean {
  const { fault, attached } = cell;
  if (attached === "nobody" || isMcpTask(cell)) return false;
  if (fault === "late client" || fault === "host gone too") return true;
  const { next } = clientsOf(cell);
  return fault === "client gone" && (next === "protocol 2" || next === "our SDK");
}

/** What the checks for a cell find. */
export async function broken(
  cell: Cell,
  run: Record<Name, () => readonly string[] | Promise<readonly string[]>>,
): Promise<string[]> {
  const found: string[] = [];
  for (const name of NAMES) if (CHECKS[name].isFor(cell)) found.push(...(await run[name]()));
  return found;
}

/** Which checks there are, and for which faults they are: all cells with the fault, some of them, or none. */
export function legend(): string {
  const named = NAMES.map((name) => `| *${name}* | ${CHECKS[name].says} |`);
  const faults = FAULTS.map((fault) => {
    const cells = CELLS.filter((cell) => cell.fault === fault);
    const marks = NAMES.map((name) => {
      const count = cells.filter(CHECKS[name].isFor).length;
      if (count === 0) return "·";
      return count === cells.length ? "✓" : "some";
    });
    return `| ${[fault, ...marks].join(" | ")} |`;
  });
  const head = ["what goes wrong", ...NAMES.map((name) => `*${name}*`)];
  const table = [`| ${head.join(" | ")} |`, `| ${head.map(() => "---").join(" | ")} |`, ...faults];
  return ["| check | says |", "| --- | --- |", ...named, "", ...table].join("\n");
}
