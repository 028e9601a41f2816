/**
 * A crash after each single commit of a run: the database as it was then is opened by another runtime, and the four laws hold in what
 * comes of it, whether pending work goes on or not. What a kill -9 leaves is always the state after some commit.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { openSqlite, type SqliteStore } from "../../packages/retinue/src/store/sqlite/store.ts";
import { CUSTOM_AGENTS } from "../laws/cell.ts";
import { brokenLaws, leftBehind } from "../laws/checker.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { type Plan, promptOf } from "../laws/plan.ts";
import { World } from "../laws/world.ts";

const SESSION = "crashed";
const leaf = (name: string): Plan => ({
  turns: [{ moves: [{ call: "probe", args: { what: name } }] }],
  says: `answer of ${name}`,
});
/** A sync agent with one below it, a background agent, and a message to it while it works. */
const PLAN: Plan = {
  turns: [
    {
      moves: [
        { name: "back", task: leaf("back"), mode: "background" },
        {
          name: "lead",
          agent: "lead",
          task: { turns: [{ moves: [{ name: "below", task: leaf("below") }] }], says: "answer of lead" },
        },
      ],
    },
    { moves: [{ call: "write_agent", args: { agent_id: "$agent:0", message: promptOf(leaf("again")) } }] },
  ],
  says: "answer of main",
};

/** Runs the plan. Returns the files with what the database held after each commit. */
async function snapshots(folder: string): Promise<string[]> {
  const files: string[] = [];
  await using world = new World();
  const store = world.runtime.sessions.store as SqliteStore;
  const commit = store.commit.bind(store);
  store.commit = async (batch) => {
    await commit(batch);
    const file = path.join(folder, `${files.length}.db`);
    store.db.exec(`VACUUM INTO '${file}'`);
    files.push(file);
  };
  const { get } = store.sessions;
  store.sessions.get = async (id) => {
    await setImmediate(); // A store may be slow: then what is appended before and after a look are two commits.
    return await get(id);
  };
  const client = world.connect({ attached: "sdk" });
  await world.createSession(client, { sessionId: SESSION, customAgents: CUSTOM_AGENTS });
  await client.call("session.send", { sessionId: SESSION, prompt: promptOf(PLAN) });
  await client.until("session.idle");
  store.commit = commit;
  for (const file of files) await forgetWriter(file);
  return files;
}

/** The process that wrote it is gone. */
async function forgetWriter(file: string): Promise<void> {
  const store = openSqlite({ path: file });
  store.db.exec("DELETE FROM leases");
  await store.close();
}

async function afterCrash(database: string, continuePendingWork: boolean): Promise<string[]> {
  await using world = new World({ database });
  const client = world.connect({ attached: "sdk" });
  await world.resumeSession(client, SESSION, { customAgents: CUSTOM_AGENTS, continuePendingWork });
  await client.answerOpen(SESSION);
  await client.atRest(SESSION);
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: SESSION });
  return [...brokenLaws(events, { clients: [client], maxDepth: 6 }), ...leftBehind(world.runtime)];
}

test.each([false, true])(
  "a run that ends after any of its commits keeps the laws; pending work goes on: %s",
  async (goesOn) => {
    const folder = mkdtempSync(path.join(tmpdir(), "retinue-commits-"));
    try {
      const files = await snapshots(folder);
      expect(files.length).toBeGreaterThan(30);
      const problems: Record<number, string[]> = {};
      for (const [at, file] of files.entries()) {
        const broken = await afterCrash(file, goesOn).catch((error: unknown) => [String(error)]);
        if (broken.length > 0) problems[at] = broken;
      }
      expect(problems).toEqual({});
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  120_000,
);
