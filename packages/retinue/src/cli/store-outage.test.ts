/** The command line while the store refuses to write: it says so, waits as the session does, and never ends as if all were done. */
import { join } from "node:path";
import { call, type ModelRequest, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { type Database, openDatabase } from "../store/sqlite-door.ts";
import { modelWorld } from "./test-world.ts";

/** Another program that holds the database from the first model request on, until it is released. */
function holder(home: () => string) {
  let held: Database | undefined;
  return {
    hold() {
      if (held) return;
      held = openDatabase(join(home(), "retinue.db"));
      held.exec("BEGIN IMMEDIATE");
    },
    release() {
      held?.exec("ROLLBACK");
      held?.close();
    },
  };
}

const PLAN = call("sql", { query: "INSERT INTO todos (id, title) VALUES ('walls', 'Walls'), ('roof', 'Roof')" });
const isOfTodo = ({ prompt }: ModelRequest) => prompt.includes("Yours is the todo");

test.each([
  ["a prompt", "go", []],
  ["a fleet", "/fleet build", [PLAN, say("Planned.")]],
])("%s waits until the store can be written again, and is answered then", async (_, prompt, plan) => {
  const turns = [...plan];
  const store = holder(() => world.home);
  await using world = await modelWorld((request) => {
    const planning = isOfTodo(request) ? undefined : turns.shift();
    if (!planning) store.hold();
    return planning ?? say("Seen.");
  });
  const running = world.start(["-p", prompt, "--allow-all-tools", "--quiet"]);
  await Promise.race([running.says("The session waits"), running.ended]);
  store.release();
  const { code, stdout, stderr } = await running.ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Seen.") });
  expect(stderr).toContain("The store can be written again");
});

test("Ctrl-C ends a run that waits for the store, and says so by its exit code", async () => {
  const store = holder(() => world.home);
  await using world = await modelWorld(() => {
    store.hold();
    return say("Seen.");
  });
  const running = world.start(["-p", "go"]);
  await Promise.race([running.says("The session waits"), running.ended]);
  running.process.kill("SIGINT");
  await Promise.race([running.says("Stopping."), running.ended]);
  store.release();
  expect(await running.ended).toMatchObject({ code: 130 });
});

test("a run whose session was taken over by another process fails, in words that say what to do", async () => {
  await using world = await modelWorld(() => {
    const other = openDatabase(join(world.home, "retinue.db"));
    other.exec("DELETE FROM leases");
    other.close();
    return say("Seen.");
  });
  const { code, stderr } = await world.run(["-p", "go"]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("Resume it to go on") });
});
