/** Fleets that are given bad input, or whose todos are changed under their hands. */
import { expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { graph, lead, plan, shortly, sql, statuses, todo, todoHeld, todoOf } from "./test-fleets.ts";
import { agentNamed, agentsOf, by, delegate, held, lifeOf, never } from "./test-tasks.ts";

const noReport = { results: [] };

test.each([
  ["deps that name nobody", { ...graph("a"), deps: [{ todoId: "a", dependsOn: "ghost" }] }, "deps name ghost"],
  ["deps of nobody", { ...graph("a"), deps: [{ todoId: "ghost", dependsOn: "a" }] }, "deps name ghost"],
  ["deps alone", { deps: [{ todoId: "a", dependsOn: "b" }] }, "deps without todos"],
  ["no todos", { todos: [] }, "todos is empty"],
  ["an id twice", { todos: [...graph("a").todos, ...graph("a").todos] }, "two todos have the id a"],
  ["an empty id", { todos: [{ id: "", title: "x" }] }, /id/],
  ["a line break in an id", { todos: [{ id: "a\nb", title: "x" }] }, /id/],
  ["an id that is too long", { todos: [{ id: "x".repeat(201), title: "x" }] }, /id/],
])("%s are refused at the start, and the tables stay as they were", async (_, given, words) => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await expect(client.call("session.fleet.start", { sessionId, ...given })).rejects.toThrow(words);
    expect(await statuses(client, sessionId)).toEqual({});
    expect(await agentsOf(client, sessionId)).toEqual([]);
  });
});

const ODD = [
  "__proto__",
  "constructor",
  "two words",
  " two words ",
  "ﬁx-the-ﬂow",
  "修复 🧱",
  "a:1",
  "a:1:2",
  "'; DROP TABLE todos; --",
  "{{title}}",
  "{{description}}",
  "$&$1",
  "../../etc",
  "x".repeat(200),
];

test("odd ids are ids like others: each todo is done by an agent of its own, which is told its own id", async () => {
  const turns = ODD.map((id) => todo(id, say(`did ${id}`)));
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const deps = ODD.slice(1).map((todoId, index) => ({ todoId, dependsOn: ODD[index] ?? "" }));
    const todos = ODD.map((id) => ({ id, title: "Odd" }));
    const { report } = await client.call("session.fleet.start", { sessionId, todos, deps, wait: true });
    expect(report?.results.map(({ todoId, status, text }) => [todoId, status, text])).toEqual(
      ODD.map((id) => [id, "done", `did ${id}`]),
    );
    expect(new Set(report?.results.map(({ agentId }) => agentId)).size).toBe(ODD.length);
    expect(provider.requests.map(todoOf)).toEqual(ODD);
    provider.assertSpent();
  });
});

test("an id of ten thousand characters that the main agent planned is worked off like others", async () => {
  const long = "long ".repeat(2_000).trim();
  const turns = [lead(plan(long)), lead(say("planned")), todo(long, say("done")), lead(say("seen"))];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const { report } = await client.call("session.fleet.start", { sessionId, prompt: "x", wait: true });
    expect(shortly(report ?? noReport)).toEqual({ [long]: "done: done" });
    provider.assertSpent();
  });
});

test("a todo that waits for itself, and a cycle that the main agent plans, are blocked with words, and the rest is done", async () => {
  const turns = [lead(plan("x", "y", "self")), todo("free", say("ok")), lead(say("planned")), lead(say("seen"))];
  const cycle = "INSERT INTO todo_deps VALUES ('x', 'y'), ('y', 'x'), ('self', 'self')";
  turns.splice(1, 0, lead(sql(`${cycle}; INSERT INTO todos (id, title) VALUES ('free', 'Free')`)));
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const { report } = await client.call("session.fleet.start", { sessionId, prompt: "x", wait: true });
    expect(report).toMatchObject({ status: "failed", progress: { done: 1, blocked: 3 } });
    expect(shortly(report ?? noReport)).toEqual({
      x: "blocked: It waits for itself: x → y → x.",
      y: "blocked: It waits for itself: x → y → x.",
      self: "blocked: It waits for itself: self → self.",
      free: "done: ok",
    });
    provider.assertSpent();
  });
});

test("of two fleets that start at the same moment one is refused, and leaves no todo behind", async () => {
  const turns = [todo("a", say("one")), todo("b", say("one"))];
  await inSmallWorld(turns, async ({ client, create }) => {
    const sessionId = await create();
    const starts = await Promise.allSettled(
      ["a", "b"].map((id) => client.call("session.fleet.start", { sessionId, ...graph(id), wait: true })),
    );
    const words = starts.map((each) => (each.status === "fulfilled" ? "started" : String(each.reason)));
    expect(words.filter((each) => each === "started")).toHaveLength(1);
    expect(words.filter((each) => each.includes("A fleet is at work already"))).toHaveLength(1);
    expect(Object.values(await statuses(client, sessionId))).toEqual(["done"]);
    expect((await agentsOf(client, sessionId)).filter(({ agentType }) => agentType === "fleet")).toHaveLength(1);
  });
});

test("fleets of two sessions do not see each other's todos", async () => {
  const turns = [todo("a", say("one")), todo("a", say("two"))];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const ids = [await create(), await create()];
    const over = await Promise.all(
      ids.map((sessionId) => client.call("session.fleet.start", { sessionId, ...graph("a"), wait: true })),
    );
    expect(over.map(({ report }) => shortly(report ?? noReport).a).sort()).toEqual(["done: one", "done: two"]);
    provider.assertSpent();
  });
});

test("a todo that is removed while its agent works and put in again later is done by a new agent", async () => {
  const [stuck, door] = [never(), held(sql("INSERT INTO todos (id, title) VALUES ('a', 'Again')"))];
  const turns = [
    todoHeld("a", stuck),
    todo("other", sql("DELETE FROM todos WHERE id = 'a'")),
    todoHeld("other", door),
    todo("a", say("anew")),
    todo("other", say("ok")),
  ];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const over = client.call("session.fleet.start", { sessionId, ...graph("a", "other"), wait: true });
    await client.until(({ type, data }) => type === "subagent.completed" && data.taskName === "a");
    door.go();
    const { report } = await over;
    expect(shortly(report ?? noReport)).toEqual({ other: "done: ok", a: "done: anew" });
    provider.assertSpent();
  });
});

test("a todo that is done, and then replaced by another of the same id, is done again", async () => {
  const replace = "DELETE FROM todos WHERE id = 'a'; INSERT INTO todos (id, title) VALUES ('a', 'Another')";
  const turns = [todo("a", say("old")), todo("b", sql(replace)), todo("a", say("new")), todo("b", say("replaced"))];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const { report } = await client.call("session.fleet.start", { sessionId, ...graph("a", "b<a"), wait: true });
    expect(shortly(report ?? noReport)).toEqual({ b: "done: replaced", a: "done: new" });
    provider.assertSpent();
  });
});

test("statuses that an agent writes for others are not taken for the truth about agents that work", async () => {
  const door = held(say("a is done"));
  const turns = [
    todoHeld("a", door),
    todo("b", sql("UPDATE todos SET status = 'done' WHERE id = 'a'; UPDATE todos SET title = 'Renamed'")),
    todo("b", say("wrote")),
    todo("c", say("after a")),
  ];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const over = client.call("session.fleet.start", { sessionId, ...graph("a", "b", "c<a"), wait: true });
    await client.until(({ type, data }) => type === "subagent.completed" && data.taskName === "b");
    expect((await agentsOf(client, sessionId)).map(({ displayName }) => displayName)).not.toContain("c");
    door.go();
    const { report } = await over;
    expect(shortly(report ?? noReport)).toEqual({ a: "done: a is done", b: "done: wrote", c: "done: after a" });
    expect(report?.results.map(({ title }) => title)).toEqual(["Renamed", "Renamed", "Renamed"]);
    provider.assertSpent();
  });
});

test("an agent that empties the tables ends the fleet, no agent of it is left, and the main agent is told", async () => {
  const stuck = never();
  const turns = [todoHeld("a", stuck), todo("b", sql("DELETE FROM todos")), lead(say("seen"))];
  await inSmallWorld(turns, async ({ client, create }) => {
    const sessionId = await create();
    const { fleetId = "" } = await client.call("session.fleet.start", { sessionId, ...graph("a", "b", "c<b") });
    await client.received("session.idle");
    expect(lifeOf(client, fleetId)).toEqual(["started", "completed"]);
    expect((await agentsOf(client, sessionId)).filter(({ status }) => status === "running")).toEqual([]);
    expect(await agentNamed(client, sessionId, "a")).toMatchObject({ status: "cancelled" });
    expect(client.of("system.notification")[0]?.content).toContain("No todos are left: they were removed.");
  });
});

test("the main agent is told in whole sentences that not all is done", async () => {
  const failing = () => todo("a", new Error("no luck"));
  const turns = [lead(plan("a")), lead(say("planned")), failing(), failing(), lead(say("I see"))];
  await inSmallWorld(turns, async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.fleet.start", { sessionId, prompt: "go", wait: true });
    const words = 'The fleet "fleet" has ended: 1 of 1 todos are not done. 0 of 1 todos are done, 1 failed.';
    expect(client.of("system.notification")[0]?.content).toContain(words);
  });
});

test("with room for one agent in the whole process an agent of a fleet can still delegate", async () => {
  const turns = [
    todo("a", delegate("dig")),
    by("dig", say("dug")),
    todo("a", say("with help")),
    todo("b", say("alone")),
  ];
  const config = { maxConcurrent: 1 };
  await inSmallWorld(
    turns,
    async ({ client, create, provider }) => {
      const sessionId = await create();
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      const { report } = await client.call("session.fleet.start", { sessionId, ...graph("a", "b"), wait: true });
      expect(shortly(report ?? noReport)).toEqual({ a: "done: with help", b: "done: alone" });
      provider.assertSpent();
    },
    { config },
  );
});

test("a hundred todos with one agent at a time are done one after the other, each once", async () => {
  const ids = Array.from({ length: 100 }, (_, index) => `t${index}`);
  await inSmallWorld(
    ids.map((id) => todo(id, say(id))),
    async ({ client, create, provider }) => {
      const sessionId = await create();
      const start = { sessionId, ...graph(...ids), maxConcurrent: 1, wait: true };
      const { report } = await client.call("session.fleet.start", start);
      expect(report?.progress).toMatchObject({ total: 100, done: 100 });
      const running = client.of("subagent.progress").map(({ fleet }) => fleet?.running ?? 0);
      expect(Math.max(...running)).toBe(1);
      expect(provider.requests.map(todoOf)).toEqual(ids);
      provider.assertSpent();
    },
  );
});

test("a budget that is used up blocks what has not started, in words, and the fleet ends", async () => {
  const turns = [todo("a", say("one")), todo("b", say("two"))];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create({ budget: { maxSpawns: 2 } });
    const start = { sessionId, ...graph("a", "b", "c", "d<c"), maxConcurrent: 1, wait: true };
    const { report } = await client.call("session.fleet.start", start);
    expect(shortly(report ?? noReport)).toMatchObject({
      a: "done: one",
      b: "done: two",
      c: expect.stringMatching(/^blocked: .*(budget|limit)/i),
      d: expect.stringMatching(/^blocked: It waits for c/),
    });
    provider.assertSpent();
  });
});

test("an agent whose turns are used up has failed; the others go on", async () => {
  const customAgents = [{ name: "short", description: "s", prompt: "p", budget: { maxTurns: 1 } }];
  const turns = [todo("a", call("list_agents")), todo("b", say("fine"))];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create({ customAgents });
    const todos = graph("a", "b").todos.map((each) => (each.id === "a" ? { ...each, agent: "short" } : each));
    const start = { sessionId, todos, maxConcurrent: 1, retries: 0, wait: true };
    const { report } = await client.call("session.fleet.start", start);
    expect(shortly(report ?? noReport)).toMatchObject({
      a: expect.stringMatching(/^blocked: .*(turn|budget)/i),
      b: "done: fine",
    });
    provider.assertSpent();
  });
});
