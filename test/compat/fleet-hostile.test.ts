/** Fleets under bad conditions, as a program of the official SDK meets them: other modes, hosts that go away, stops half way, used-up budgets. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, call, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const todoIn = (request: ModelRequest) => /Yours is the todo `([^`]+)`/.exec(request.texts("user")[0] ?? "")?.[1];
const isFirst = (request: ModelRequest) => request.texts("tool").length === 0;
const graph = (...ids: string[]) => ({ todos: ids.map((id) => ({ id, title: `Do ${id}` })) });
const PLAN = call("sql", { query: "INSERT INTO todos (id, title) VALUES ('a', 'A'), ('b', 'B')" });

function door() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

async function statuses({ session }: Talk): Promise<unknown> {
  const { rows } = await session.rpc.plan.readSqlTodosWithDependencies();
  return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
}

/** The main agent takes the turns in order; agents of todos are answered by `agent`. */
function answering(turns: Answer[], agent: (todo: string, request: ModelRequest) => Answer | Promise<Answer>) {
  const left = [...turns];
  return (request: ModelRequest) => {
    const todo = todoIn(request);
    return todo === undefined ? (left.shift() ?? say("nothing left to say")) : agent(todo, request);
  };
}

const ends = ({ record }: Talk) =>
  record.events.flatMap((event) =>
    event.type === "subagent.completed" || event.type === "subagent.failed" ? [event.data.toolCallId] : [],
  );

describe.runIf(ours)("a fleet", () => {
  test("in autopilot is not interrupted by reminders, and the task is complete once when the main agent says so", async () => {
    await using talk = await openTalk(world);
    await talk.session.rpc.mode.set({ mode: "autopilot" });
    const gate = door();
    const turns = [
      PLAN,
      say("planned"),
      say("I have read it"),
      call("task_complete", { summary: "built" }),
      say("bye"),
    ];
    talk.model.reply(
      answering(turns, async (todo) => {
        if (todo === "a") await gate.opened;
        return say(`${todo} stands`);
      }),
    );
    await talk.session.rpc.fleet.start({ prompt: "build" });
    await talk.record.until("subagent.completed", { passes: ({ data }) => data.agentName !== "fleet" });
    const lead = () => talk.model.requests.filter((request) => todoIn(request) === undefined);
    expect(lead()).toHaveLength(2);
    expect(talk.record.all("session.task_complete")).toEqual([]);
    gate.open();
    await talk.record.until("session.task_complete");
    await talk.record.until("session.idle");
    expect(lead()[2]?.lastText).toContain("2 of 2 todos are done");
    expect(talk.record.all("session.task_complete")).toHaveLength(1);
    expect(await statuses(talk)).toEqual({ a: "done", b: "done" });
  });

  test.each(["none", "worktree"])(
    "in plan mode plans and looks, but its agents write nothing (%s)",
    async (isolation) => {
      await using own = await startClient();
      execFileSync("git", ["init", "--quiet"], { cwd: own.folder });
      await using talk = await openTalk(own);
      await talk.session.rpc.permissions.setApproveAll({ enabled: true });
      await talk.session.rpc.mode.set({ mode: "plan" });
      const touch = (todo: string) => call("bash", { command: `touch planned-${todo}`, description: "t" });
      talk.model.reply(answering([], (todo, request) => (isFirst(request) ? touch(todo) : say(request.lastText))));
      const work = { ...graph("a", "b"), isolation, wait: true };
      expect(await talk.session.rpc.fleet.start(work)).toMatchObject({
        report: { results: ["a", "b"].map(() => ({ status: "done", text: expect.stringContaining("Plan mode: ") })) },
      });
      expect(readdirSync(own.folder)).toEqual([".git"]);
    },
  );

  test("that is aborted half way has one end for each agent, and the next fleet does the rest", async () => {
    await using talk = await openTalk(world);
    let isStuck = true;
    const reached = door();
    talk.model.reply(
      answering([], (todo) => {
        if (todo !== "b" || !isStuck) return say(`${todo} stands`);
        reached.open();
        return { kind: "hang" };
      }),
    );
    const work = {
      ...graph("a", "b", "c"),
      deps: [
        { todoId: "b", dependsOn: "a" },
        { todoId: "c", dependsOn: "b" },
      ],
    };
    await talk.session.rpc.fleet.start({ prompt: "", ...work });
    await reached.opened;
    await talk.session.abort();
    await talk.record.until("session.idle");
    expect(await statuses(talk)).toEqual({ a: "done", b: "pending", c: "pending" });
    isStuck = false;
    const again = { ...graph("b", "c"), deps: [{ todoId: "c", dependsOn: "b" }], wait: true };
    expect(await talk.session.rpc.fleet.start(again)).toMatchObject({ report: { status: "completed" } });
    expect(await statuses(talk)).toEqual({ a: "done", b: "done", c: "done" });
    const started = talk.record.all("subagent.started").map(({ data }) => data.toolCallId);
    expect([...ends(talk)].sort()).toEqual([...started].sort());
  });

  test("whose session is closed half way has ended with what was done, and the next one does the rest", async () => {
    const talk = await openTalk(world);
    const reached = door();
    talk.model.reply(
      answering([], (todo) => {
        if (todo !== "b") return say(`${todo} stands`);
        reached.open();
        return { kind: "hang" };
      }),
    );
    await talk.session.rpc.fleet.start({ prompt: "", ...graph("a", "b") });
    await reached.opened;
    await talk.record.until("subagent.completed");
    await talk.session.disconnect();
    await using resumed = await resumeTalk(world, talk.session.sessionId, { continuePendingWork: true }, talk.model);
    expect(await statuses(resumed)).toEqual({ a: "done", b: "pending" });
    const last = (await resumed.session.getEvents()).findLast(({ type }) => type === "subagent.completed");
    expect(last?.data).toMatchObject({
      agentName: "fleet",
      cancelled: true,
      fleet: { done: 1, running: 0, pending: 1 },
    });
    talk.model.reply(answering([], (todo) => say(`${todo} stands after all`)));
    expect(await resumed.session.rpc.fleet.start({ ...graph("b"), wait: true })).toMatchObject({
      report: { results: [{ todoId: "b", text: "b stands after all" }] },
    });
    expect(await statuses(resumed)).toEqual({ a: "done", b: "done" });
  });

  test("whose host is killed while agents ask is asked again with their paths, and each todo is done once", async () => {
    await using first = await startClient();
    const talk = await openTalk(first, { onPermissionRequest: () => new Promise<never>(() => undefined) });
    talk.model.reply(
      answering([say("seen")], (todo, request) =>
        isFirst(request) ? call("bash", { command: `echo ${todo} >> log`, description: "x" }) : say(`${todo} stands`),
      ),
    );
    await talk.session.rpc.fleet.start({ prompt: "", ...graph("a", "b") });
    await talk.record.count("permission.requested", 2);
    await first.kill();
    await using second = await startClient({ folders: first.folders, model: first.model });
    const config = { continuePendingWork: true };
    await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
    await resumed.record.until("session.idle");
    expect(await statuses(resumed)).toEqual({ a: "done", b: "done" });
    const repeats = resumed.record.all("permission.requested").map(({ data }) => data);
    expect(repeats.map((data) => "agentPathNames" in data && data.agentPathNames).sort()).toEqual([
      ["fleet", "a"],
      ["fleet", "b"],
    ]);
  });

  test("whose host does not answer for a person goes on without what was asked for", async () => {
    await using talk = await openTalk(world, { onPermissionRequest: () => ({ kind: "user-not-available" }) });
    talk.model.reply(
      answering([], (todo, request) =>
        isFirst(request) ? call("bash", { command: `touch ${todo}`, description: "x" }) : say(`no ${todo}`),
      ),
    );
    const work = { ...graph("a", "b"), wait: true };
    expect(await talk.session.rpc.fleet.start(work)).toMatchObject({
      report: { status: "completed", results: [{ text: "no a" }, { text: "no b" }] },
    });
    expect(["a", "b"].filter((name) => existsSync(path.join(world.folder, name)))).toEqual([]);
  });

  test("of a hundred todos is done with eight agents at a time, and each todo once", async () => {
    await using talk = await openTalk(world);
    let now = 0;
    let most = 0;
    talk.model.reply(
      answering([], async (todo) => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
        return say(`did ${todo}`);
      }),
    );
    const ids = Array.from({ length: 100 }, (_, index) => `t${index}`);
    const deps = ids.slice(10).map((todoId, index) => ({ todoId, dependsOn: `t${index}` }));
    const over = await talk.session.rpc.fleet.start(
      Object.assign({ wait: true }, { ...graph(...ids), deps, maxConcurrent: 8 }),
    );
    expect(over).toMatchObject({ report: { status: "completed", progress: { total: 100, done: 100 } } });
    expect(most).toBeLessThanOrEqual(8);
    expect(talk.model.requests.map(todoIn).sort()).toEqual([...ids].sort());
  });

  test("with a schema gives data to a program of the official SDK, and a bad schema is refused in words", async () => {
    await using talk = await openTalk(world);
    talk.model.reply(answering([], (todo) => say(todo === "a" ? '{"n":1}' : "no number")));
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const work = { ...graph("a", "b"), schema, retries: 0, wait: true };
    expect(await talk.session.rpc.fleet.start(work)).toMatchObject({
      report: {
        status: "failed",
        results: [
          { todoId: "a", status: "done", typedResult: { n: 1 } },
          { todoId: "b", status: "blocked", error: expect.stringContaining("does not fit the schema") },
        ],
      },
    });
    const bad = { ...graph("c"), schema: { type: "numbr" }, wait: true };
    await expect(talk.session.rpc.fleet.start(bad)).rejects.toThrow("The schema cannot be used");
  });
});
