/** Fleets: what is started when, what becomes of the todos, and who is told. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { graph, lead, leadHeld, plan, shortly, sql, statuses, todo, todoHeld, todoOf } from "./test-fleets.ts";
import { agentNamed, agentsOf, held, lifeOf, never, quiet, resultsIn, userTexts } from "./test-tasks.ts";

describe("a planned fleet", () => {
  test("the main agent plans, the agents work in the order of the plan, and the main agent has the last word", async () => {
    const turns = [
      lead(plan("walls", "roof<walls", "garden")),
      lead(say("planned")),
      todo("walls", say("the walls are up")),
      todo("garden", say("it is green")),
      todo("roof", say("the roof is on")),
      lead(say("the house is finished")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const started = await client.call("session.fleet.start", { sessionId, prompt: "build a house", wait: true });
      expect(started).toMatchObject({ started: true, report: { status: "completed" } });
      expect(client.of("user.message")[1]?.content).toBe("Fleet deployed: build a house");
      expect(await statuses(client, sessionId)).toEqual({ walls: "done", roof: "done", garden: "done" });
      const roof = provider.requests.find((request) => todoOf(request) === "roof");
      expect(userTexts(roof ?? ({ messages: [] } as never))[0]).toMatch(
        /All about roof\.[\s\S]*## walls\s+the walls are up/,
      );
      expect(client.of("system.notification")).toHaveLength(1);
      expect(client.of("system.notification")[0]?.content).toContain("3 of 3 todos are done");
      await client.received("session.idle");
      expect(client.of("session.idle")).toHaveLength(1);
      provider.assertSpent();
    });
  });

  test("a fleet whose plan has no todos ends with words, starts no agent and wakes nobody", async () => {
    await inSmallWorld([lead(say("I did it myself"))], async ({ client, create, provider }) => {
      const sessionId = await create();
      const { report } = await client.call("session.fleet.start", { sessionId, prompt: "a trifle", wait: true });
      expect(report).toMatchObject({ status: "completed", results: [] });
      expect(await agentNamed(client, sessionId, "fleet")).toMatchObject({
        result: "No todos were planned, so no agent was started.",
      });
      await client.received("session.idle");
      provider.assertSpent();
    });
  });

  test("a plan that the model could not finish is not worked off", async () => {
    const turns = [lead(plan("a", "b")), lead(new Error("the model is broken"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const { report } = await client.call("session.fleet.start", { sessionId, prompt: "x", wait: true });
      expect(report).toMatchObject({ status: "failed", error: expect.stringContaining("The plan could not be made") });
      expect(await agentsOf(client, sessionId)).toHaveLength(1);
      expect(await statuses(client, sessionId)).toEqual({ a: "pending", b: "pending" });
      provider.assertSpent();
    });
  });

  test("a second fleet is refused in words while the first is at work", async () => {
    const door = held(say("planned"));
    await inSmallWorld(
      [lead(plan("a")), leadHeld(door), todo("a", say("ok")), lead(say("done"))],
      async ({ client, create }) => {
        const sessionId = await create();
        await client.call("session.fleet.start", { sessionId, prompt: "x" });
        await door.reached;
        const second = client.call("session.fleet.start", { sessionId, prompt: "y" });
        await expect(second).rejects.toThrow("A fleet is at work already");
        await expect(client.call("session.commands.invoke", { sessionId, name: "fleet", input: "y" })).rejects.toThrow(
          "A fleet is at work already",
        );
        door.go();
        await client.received("session.idle");
        expect(await statuses(client, sessionId)).toEqual({ a: "done" });
      },
    );
  });
});

describe("a fleet whose graph a program gives", () => {
  test("results come back by todo, and the main agent is not asked for anything", async () => {
    const turns = [todo("a", say("one")), todo("b", say("two"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const { report } = await client.call("session.fleet.start", { sessionId, ...graph("a", "b<a"), wait: true });
      expect(report).toMatchObject({ status: "completed", progress: { total: 2, done: 2 } });
      expect(shortly(report ?? { results: [] })).toEqual({ a: "done: one", b: "done: two" });
      await client.received("session.idle");
      provider.assertSpent();
    });
  });

  test("a todo that fails is tried again once, then given up, and only what depends on it is blocked", async () => {
    const turns = [
      todo("a", new Error("no luck")),
      todo("free", say("fine")),
      todo("a", new Error("no luck again")),
      todo("flaky", new Error("once")),
      todo("flaky", say("better")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const given = graph("a", "b<a", "c<b", "free", "flaky");
      const { report } = await client.call("session.fleet.start", { sessionId, ...given, wait: true });
      expect(report).toMatchObject({
        status: "failed",
        error: "3 of 5 todos are not done.",
        progress: { total: 5, done: 2, failed: 1, blocked: 2 },
      });
      expect(shortly(report ?? { results: [] })).toMatchObject({
        a: expect.stringMatching(/^blocked: .*no luck again/),
        b: expect.stringMatching(/^blocked: It waits for a, which is blocked: .*no luck again/),
        c: expect.stringMatching(/^blocked: It waits for a/),
        free: "done: fine",
        flaky: "done: better",
      });
      expect(report?.results.find(({ todoId }) => todoId === "flaky")?.attempts).toBe(2);
      provider.assertSpent();
    });
  });

  test("todos that were there before are left alone, and ids of the program begin anew", async () => {
    const turns = [lead(plan("mine", "a")), lead(say("noted")), todo("a", say("fresh"))];
    await inSmallWorld(turns, async ({ client, create, send, provider }) => {
      const sessionId = await create();
      await send(sessionId, "note this");
      const { report } = await client.call("session.fleet.start", { sessionId, ...graph("a"), wait: true });
      expect(report?.results.map(({ todoId }) => todoId)).toEqual(["a"]);
      expect(await statuses(client, sessionId)).toEqual({ mine: "pending", a: "done" });
      provider.assertSpent();
    });
  });

  test("a cycle is blocked with words that name it, and the rest is done", async () => {
    await inSmallWorld([todo("x", say("ok"))], async ({ client, create }) => {
      const sessionId = await create();
      const given = graph("a<b", "b<a", "c<a", "x");
      const { report } = await client.call("session.fleet.start", { sessionId, ...given, wait: true });
      expect(shortly(report ?? { results: [] })).toEqual({
        a: "blocked: It waits for itself: a → b → a.",
        b: "blocked: It waits for itself: a → b → a.",
        c: expect.stringMatching(/^blocked: It waits for [ab], which is blocked/),
        x: "done: ok",
      });
    });
  });

  test("an agent that does not exist blocks its todo with the words of the gate", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create();
      const todos = [{ id: "a", title: "A", agent: "nobody" }];
      const { report } = await client.call("session.fleet.start", { sessionId, todos, wait: true });
      expect(report?.results[0]).toMatchObject({ status: "blocked", error: expect.stringContaining("nobody") });
    });
  });

  test.each([
    [{ todos: [] }, "todos is empty"],
    [graph("a", "a"), "two todos have the id a"],
    [graph("a<z"), "deps name z, which is none of the todos"],
    [{ deps: [{ todoId: "a", dependsOn: "b" }] }, "deps without todos"],
  ])("a graph that cannot be meant is refused: %#", async (given, words) => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create();
      await expect(client.call("session.fleet.start", { sessionId, ...given })).rejects.toThrow(words);
      expect(await agentsOf(client, sessionId)).toEqual([]);
    });
  });

  test("no more agents work at once than the fleet allows", async () => {
    const first = held(say("1"));
    const second = held(say("2"));
    const turns = [todoHeld("a", first), todoHeld("b", second)];
    await inSmallWorld(turns, async ({ client, create }) => {
      const sessionId = await create();
      const over = client.call("session.fleet.start", { sessionId, ...graph("a", "b"), maxConcurrent: 1, wait: true });
      await first.reached;
      await quiet(client, sessionId);
      expect((await agentsOf(client, sessionId)).map(({ displayName }) => displayName).sort()).toEqual(["a", "fleet"]);
      first.go();
      await second.reached;
      second.go();
      expect((await over).report).toMatchObject({ status: "completed" });
    });
  });
});

/** The first change of the todos: they were put into the table. */
const given = (client: TestClient) => client.events.find(({ type }) => type === "session.todos_changed")?.id;

describe("a fleet with worktrees", () => {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd });
  const write = (file_text: string) => call("create", { path: "shared.txt", file_text });

  test("work that conflicts is tried again on what is there then, and both are merged", async () => {
    const [first, second] = [held(say("a wrote")), held(say("b wrote"))];
    const turns = [
      todo("a", write("from a")),
      todoHeld("a", first),
      todo("b", write("from b")),
      todoHeld("b", second),
      todo("b", call("edit", { path: "shared.txt", old_str: "from a", new_str: "from both" })),
      todo("b", say("b joined them")),
    ];
    await inSmallWorld(turns, async ({ client, create, folder, provider }) => {
      git(folder, "init", "--quiet");
      const sessionId = await create();
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      const given = { ...graph("a", "b"), isolation: "worktree" as const, wait: true };
      const over = client.call("session.fleet.start", { sessionId, ...given });
      await Promise.all([first.reached, second.reached]);
      expect(existsSync(join(folder, "shared.txt"))).toBe(false);
      first.go();
      await client.until(({ type, data }) => type === "subagent.completed" && data.taskName === "a");
      second.go();
      const { report } = await over;
      expect(shortly(report ?? { results: [] })).toEqual({ a: "done: a wrote", b: "done: b joined them" });
      expect(report?.results.map(({ worktree }) => worktree?.type)).toEqual(["merged", "merged"]);
      expect(report?.results.map(({ attempts }) => attempts)).toEqual([1, 2]);
      expect(readFileSync(join(folder, "shared.txt"), "utf8")).toBe("from both");
      provider.assertSpent();
    });
  });

  test("outside a repository it is refused in words, before anything is planned or started", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create();
      const words = /An agent cannot work in a worktree here: .* is not in a git repository/;
      for (const work of [graph("a"), { prompt: "build" }]) {
        const start = client.call("session.fleet.start", { sessionId, ...work, isolation: "worktree" });
        await expect(start).rejects.toThrow(words);
      }
      const typed = client.call("session.commands.invoke", { sessionId, name: "fleet", input: "--worktree build" });
      await expect(typed).rejects.toThrow(words);
      expect(await agentsOf(client, sessionId)).toEqual([]);
      expect(await statuses(client, sessionId)).toEqual({});
    });
  });
});

describe("while a fleet works", () => {
  test("it is a node of the tree with its progress, and its agents are below it", async () => {
    const door = held(say("a"));
    await inSmallWorld([todoHeld("a", door), todo("b", say("b"))], async ({ client, create }) => {
      const sessionId = await create();
      const over = client.call("session.fleet.start", { sessionId, ...graph("a", "b<a"), wait: true });
      await door.reached;
      await client.until(({ type, id }) => type === "session.todos_changed" && id !== given(client)); // The second one.
      const fleet = await agentNamed(client, sessionId, "fleet");
      const agent = await agentNamed(client, sessionId, "a");
      expect(fleet).toMatchObject({ agentType: "fleet", status: "running", path: [fleet.id] });
      expect(agent).toMatchObject({ parentId: fleet.id, path: [fleet.id, agent.id], pathNames: ["fleet", "a"] });
      expect(await statuses(client, sessionId)).toMatchObject({ a: "in_progress", b: "pending" });
      const { progress } = await client.call("session.tasks.getProgress", { sessionId, id: fleet.id });
      expect(progress).toMatchObject({
        fleet: { total: 2, running: 1, pending: 1 },
        latestIntent: "0 of 2 todos are done, 1 running, 1 not started",
      });
      door.go();
      await over;
      expect(client.of("subagent.progress").at(-1)?.fleet).toMatchObject({ total: 2, done: 2, running: 0 });
      expect(lifeOf(client, fleet.id)).toEqual(["started", "completed"]);
    });
  });

  test("cancelling it cancels its agents, and leaves no todo in progress", async () => {
    const stuck = never();
    await inSmallWorld([todo("a", say("ok")), todoHeld("b", stuck)], async ({ client, create, provider }) => {
      const sessionId = await create();
      const { fleetId = "" } = await client.call("session.fleet.start", { sessionId, ...graph("a", "b<a", "c<b") });
      await stuck.reached;
      expect(await client.call("session.tasks.cancel", { sessionId, id: fleetId })).toEqual({ cancelled: true });
      await client.received("session.idle");
      expect(await statuses(client, sessionId)).toEqual({ a: "done", b: "pending", c: "pending" });
      const b = await agentNamed(client, sessionId, "b");
      expect(b.status).toBe("cancelled");
      expect(lifeOf(client, fleetId)).toEqual(["started", "completed (cancelled)"]);
      expect(lifeOf(client, b.id)).toEqual(["started", "completed (cancelled)"]);
      expect(await client.call("session.fleet.read", { sessionId })).toMatchObject({ fleetId, status: "cancelled" });
      provider.assertSpent();
    });
  });

  test("an abort of the session ends it in the same way", async () => {
    const stuck = never();
    await inSmallWorld([todoHeld("a", stuck)], async ({ client, create }) => {
      const sessionId = await create();
      const { fleetId = "" } = await client.call("session.fleet.start", {
        sessionId,
        ...graph("a", "b"),
        maxConcurrent: 1,
      });
      await stuck.reached;
      await client.call("session.abort", { sessionId });
      await client.received("session.idle");
      expect(await statuses(client, sessionId)).toEqual({ a: "pending", b: "pending" });
      expect(lifeOf(client, fleetId)).toEqual(["started", "completed (cancelled)"]);
    });
  });

  test("an agent that somebody cancels is not started again, and its todo is blocked", async () => {
    const stuck = never();
    await inSmallWorld([todoHeld("a", stuck), todo("b", say("ok"))], async ({ client, create, provider }) => {
      const sessionId = await create();
      const over = client.call("session.fleet.start", { sessionId, ...graph("a", "b"), wait: true });
      await stuck.reached;
      await client.call("session.tasks.cancel", { sessionId, id: (await agentNamed(client, sessionId, "a")).id });
      const { report } = await over;
      expect(shortly(report ?? { results: [] })).toEqual({ a: "blocked: Its agent was cancelled.", b: "done: ok" });
      provider.assertSpent();
    });
  });

  test("todos that an agent adds are worked on, one that it removes loses its agent, and a new dependency holds", async () => {
    const stuck = never();
    const turns = [
      todo(
        "a",
        sql(
          "INSERT INTO todos (id, title) VALUES ('new', 'New'), ('later', 'Later'); INSERT INTO todo_deps VALUES ('later', 'new'); DELETE FROM todos WHERE id = 'gone'",
        ),
      ),
      todoHeld("gone", stuck),
      todo("a", say("changed")),
      todo("new", say("added")),
      todo("later", say("last")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const { report } = await client.call("session.fleet.start", { sessionId, ...graph("gone", "a"), wait: true });
      expect(report).toMatchObject({ status: "completed" });
      expect(shortly(report ?? { results: [] })).toEqual({
        a: "done: changed",
        new: "done: added",
        later: "done: last",
      });
      expect(await agentNamed(client, sessionId, "gone")).toMatchObject({ status: "cancelled" });
      provider.assertSpent();
    });
  });

  test("a blocked todo that somebody opens again is tried again, with what waits for it", async () => {
    const door = held(sql("UPDATE todos SET status = 'pending' WHERE id = 'a'"));
    const turns = [
      todoHeld("other", door),
      todo("a", new Error("no")),
      todo("other", say("opened")),
      todo("a", say("yes")),
      todo("b", say("too")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const over = client.call("session.fleet.start", {
        sessionId,
        ...graph("a", "b<a", "other"),
        retries: 0,
        wait: true,
      });
      await client.until(
        ({ type, data }) => type === "subagent.progress" && JSON.stringify(data).includes('"blocked":1'),
      );
      door.go();
      const { report } = await over;
      expect(shortly(report ?? { results: [] })).toEqual({ a: "done: yes", b: "done: too", other: "done: opened" });
      provider.assertSpent();
    });
  });

  test("an agent that marks its own todo as done goes on until it has answered", async () => {
    const turns = [todo("a", sql("UPDATE todos SET status = 'done' WHERE id = 'a'")), todo("a", say("now it is"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const { report } = await client.call("session.fleet.start", { sessionId, ...graph("a"), wait: true });
      expect(shortly(report ?? { results: [] })).toEqual({ a: "done: now it is" });
      provider.assertSpent();
    });
  });

  test("the main agent sees it in its list, and reads how far it is", async () => {
    const door = held(say("a"));
    const turns = [todoHeld("a", door), lead(call("list_agents")), lead(say("listed")), lead(say("seen"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await client.call("session.fleet.start", { sessionId, ...graph("a") });
      await door.reached;
      await client.call("session.send", { sessionId, prompt: "who is there?" });
      await client.until(({ type, data }) => type === "assistant.message" && data.content === "listed");
      const listed = resultsIn(provider.requests.at(-1)).join();
      expect(listed).toMatch(/fleet \([^)]+\): fleet - ".*" \(0 of 1 todos are done, 1 running, /);
      door.go();
      await client.received("session.idle");
      provider.assertSpent();
    });
  });
});
