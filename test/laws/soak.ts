/**
 * Much work in one process, and what is left of it: turns, sub-agents, and sessions that are opened and deleted.
 *
 * Owns the amounts, the work, and what is counted afterwards: sessions, rows, handles, files, processes and live heap.
 */
import { readdirSync } from "node:fs";
import path from "node:path";
import v8 from "node:v8";
import vm from "node:vm";
import { childrenOf } from "../../bench/processes.ts";
import { serveConnection } from "../../packages/retinue/src/server/connection.ts";
import { openDatabase } from "../../packages/retinue/src/store/sqlite-door.ts";
import { LawClient } from "./law-client.ts";
import { type Plan, promptOf, type Turn } from "./plan.ts";
import type { World } from "./world.ts";

export interface Amounts {
  turns: number;
  agents: number;
  sessions: number;
}

export interface Left {
  sessions: number;
  /** By table. */
  rows: Record<string, number>;
  /** Timers, sockets, pipes and so on that keep the event loop busy, by type. */
  resources: Record<string, number>;
  files: number;
  processes: number;
  heapMb: number;
}

const AGENTS_PER_TURN = 10;
const TURNS_PER_SESSION = 100;

/** Does the work and deletes every session that it opened. `onProgress` is told after each of them. */
export async function soak(world: World, amounts: Amounts, onProgress: (done: string) => void): Promise<void> {
  for (let done = 0; done < amounts.turns; done += TURNS_PER_SESSION) {
    const count = Math.min(TURNS_PER_SESSION, amounts.turns - done);
    await inSession(world, Array.from({ length: count }, withHostTool));
    onProgress(`${done + count} of ${amounts.turns} turns`);
  }
  for (let done = 0; done < amounts.agents; done += TURNS_PER_SESSION) {
    const count = Math.min(TURNS_PER_SESSION, amounts.agents - done);
    const turns = Math.ceil(count / AGENTS_PER_TURN);
    await inSession(
      world,
      Array.from({ length: turns }, () => withAgents(Math.ceil(count / turns))),
    );
    onProgress(`${done + count} of ${amounts.agents} sub-agents`);
  }
  for (let done = 1; done <= amounts.sessions; done++) {
    await inSession(world, [withHostTool()]);
    if (done % 50 === 0 || done === amounts.sessions) onProgress(`${done} of ${amounts.sessions} sessions`);
  }
}

const withHostTool = (): Plan => ({ turns: [{ moves: [{ call: "probe", args: { what: "it" } }] }], says: "done" });

/** Half of them in the background, each with a host tool of its own. */
function withAgents(count: number): Plan {
  const moves: Turn["moves"] = Array.from({ length: count }, (_, at) => ({
    task: withHostTool(),
    name: `worker${at}`,
    mode: at % 2 === 0 ? ("sync" as const) : ("background" as const),
  }));
  return { turns: [{ moves }], says: "all have started" };
}

/** A session with a client of its own, which sends these prompts one after another. */
async function inSession(world: World, plans: readonly Plan[]): Promise<void> {
  const { client, serverEnd } = LawClient.link({ attached: "sdk" });
  const served = serveConnection(serverEnd, { version: "test", load: async () => world.runtime });
  const sessionId = await world.createSession(client);
  for (const plan of plans) {
    client.events.length = 0;
    await client.call("session.send", { sessionId, prompt: promptOf(plan) });
    await client.until("session.idle");
  }
  await client.call("session.delete", { sessionId });
  client.vanish();
  await served;
}

/** Tables that must be as empty as before once every session was deleted. */
const TABLES = ["sessions", "leases", "events", "inbox", "documents", "transcript_sessions", "transcript_turns"];

/** What there is now, after everything that can be collected was. */
export async function leftIn({ runtime, home }: World): Promise<Left> {
  await new Promise((resolve) => setImmediate(resolve)); // What closed in this turn of the event loop is still counted.
  const resources: Record<string, number> = {};
  for (const type of process.getActiveResourcesInfo()) resources[type] = (resources[type] ?? 0) + 1;
  return {
    sessions: runtime.sessions.open.length,
    rows: rowsIn(path.join(home, "retinue.db")),
    resources,
    files: readdirSync("/proc/self/fd").length,
    processes: childrenOf(process.pid).length,
    heapMb: liveHeapMb(),
  };
}

function rowsIn(file: string): Record<string, number> {
  const db = openDatabase(file);
  try {
    return Object.fromEntries(
      TABLES.map((table) => [table, Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n)]),
    );
  } finally {
    db.close();
  }
}

let collect: (() => void) | undefined;

function liveHeapMb(): number {
  v8.setFlagsFromString("--expose-gc");
  collect ??= vm.runInNewContext("gc") as () => void;
  for (let n = 0; n < 3; n++) collect();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}
