/** Plan mode: for a session and for one message, at every depth, and the four ways to leave it. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, call, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const server = {
  type: "stdio" as const,
  command: process.execPath,
  args: [fileURLToPath(new URL("../support/mcp-server.mjs", import.meta.url))],
  tools: ["*"],
};
const EXIT = { summary: "- do it", recommendedAction: "interactive" };
const create = (name: string) => call("create", { path: path.join(world.folder, name), file_text: "x" });
const touch = (name: string) => call("bash", { command: `touch ${path.join(world.folder, name)}`, description: "t" });
const results = ({ model }: Talk) => model.requests.flatMap((request) => request.texts("tool"));

describe("a message with a plan mode of its own", () => {
  test("plans, and the session is as it was afterwards", async () => {
    await using talk = await openTalk(world, { onExitPlanModeRequest: () => ({ approved: false, feedback: "later" }) });
    talk.model.script(create("early.txt"), call("exit_plan_mode", EXIT), say("planned"));
    expect(await talk.ask({ prompt: "plan it", agentMode: "plan" })).toBe("planned");
    const [first] = talk.model.requests;
    expect(first?.toolNames).toContain("exit_plan_mode");
    expect(first?.texts("user").at(-1)).toContain("[[PLAN]] plan it");
    expect(results(talk)[0]).toContain("Plan mode: files outside");
    expect(await talk.session.rpc.mode.get()).toBe("interactive");
    expect(talk.record.all("session.mode_changed")).toEqual([]);
    talk.model.script(create("later.txt"), say("written"));
    expect(await talk.ask("write it")).toBe("written");
    expect(talk.model.lastRequest.toolNames).not.toContain("exit_plan_mode");
    expect(["early.txt", "later.txt"].map((name) => existsSync(path.join(world.folder, name)))).toEqual([false, true]);
  });

  test("is left by an approved plan, within the same run", async () => {
    await using talk = await openTalk(world, {
      onExitPlanModeRequest: () => ({ approved: true, selectedAction: "interactive" }),
    });
    talk.model.script(call("exit_plan_mode", EXIT), create("approved.txt"), say("built"));
    expect(await talk.ask({ prompt: "plan it", agentMode: "plan" })).toBe("built");
    expect(existsSync(path.join(world.folder, "approved.txt"))).toBe(true);
    expect(talk.record.one("session.mode_changed").data).toEqual({ previousMode: "plan", newMode: "interactive" });
    expect(await talk.session.rpc.mode.get()).toBe("interactive");
  });

  test("holds for an agent that it has started, whatever is said to the main agent meanwhile", async () => {
    await using talk = await openTalk(world);
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const turns = [touch("left.txt"), say("could not")];
    const background = {
      name: "w",
      agent_type: "general-purpose",
      description: "Look",
      prompt: "LOOK",
      mode: "background",
    };
    const own = [call("task", background), say("started"), create("asked.txt"), say("built")];
    talk.model.reply(async (request) => {
      if (!request.texts("user")[0]?.includes("LOOK")) return own.shift() ?? say("noted");
      await gate;
      return turns.shift() ?? say("?");
    });
    await talk.session.send({ prompt: "plan it", agentMode: "plan" });
    await talk.record.until("assistant.message", { passes: ({ data }) => data.content === "started" });
    await talk.session.send({ prompt: "build something else" });
    await talk.record.until("assistant.message", { passes: ({ data }) => data.content === "built" });
    go();
    await talk.record.until("session.idle");
    expect(results(talk).join("\n")).toContain("Plan mode: only commands");
    expect(["left.txt", "asked.txt"].map((name) => existsSync(path.join(world.folder, name)))).toEqual([false, true]);
    const [started] = talk.record.all("subagent.started");
    expect(started?.data).toMatchObject({ planOf: talk.record.one("user.message").data.messageId });
  });

  test("keeps the fleet that it has started in plan mode while another message is worked on", async () => {
    await using talk = await openTalk(world);
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const todo = "INSERT INTO todos (id, title, description) VALUES ('one', 'Do it', 'LOOK')";
    const own = [call("sql", { query: todo, description: "plan" }), say("planned"), create("meant.txt"), say("built")];
    const turns = [touch("fleet.txt"), say("looked")];
    talk.model.reply(async (request) => {
      if (!request.texts("user")[0]?.includes("LOOK")) return own.shift() ?? say("noted");
      await gate;
      return turns.shift() ?? say("?");
    });
    const line = { prompt: "/fleet look", commands: true, agentMode: "plan" as const };
    await talk.session.rpc.send(line);
    await talk.record.until("subagent.started", { passes: ({ data }) => data.agentName === "general-purpose" });
    await talk.session.send({ prompt: "build something else" });
    await talk.record.until("assistant.message", { passes: ({ data }) => data.content === "built" });
    go();
    await talk.record.until("session.idle");
    expect(results(talk).join("\n")).toContain("Plan mode: only commands");
    expect(["fleet.txt", "meant.txt"].map((name) => existsSync(path.join(world.folder, name)))).toEqual([false, true]);
  });

  test("does not plan any more when it was over before the runtime was killed", async () => {
    const first = await startClient();
    const talk = await openTalk(first);
    talk.model.script(say("planned"));
    await talk.ask({ prompt: "plan it", agentMode: "plan" });
    await first.kill();
    await using second = await startClient({ folders: first.folders });
    const model = second.model.endpoint();
    const file = path.join(first.folder, "built.txt");
    model.script(call("create", { path: file, file_text: "x" }), say("built"));
    await using again = await resumeTalk(second, talk.session.sessionId, {}, model);
    const work = { agentType: "general-purpose", name: "w", description: "Build", prompt: "build" };
    await again.session.rpc.tasks.startAgent(work);
    await again.record.until("session.idle");
    expect(existsSync(file)).toBe(true);
    await first[Symbol.asyncDispose]();
  });

  test("does not plan any more when somebody goes back to what came after it", async () => {
    await using talk = await openTalk(world);
    talk.model.script(say("planned"), say("answered"));
    await talk.ask({ prompt: "plan it", agentMode: "plan" });
    await talk.ask("and now?");
    const [, second] = talk.record.all("user.message");
    await talk.session.rpc.history.truncate({ eventId: second?.id ?? "" });
    const from = talk.record.events.length;
    talk.model.script(create("again.txt"), say("built"));
    await talk.session.rpc.tasks.startAgent({
      agentType: "general-purpose",
      name: "w",
      description: "Build",
      prompt: "build",
    });
    await talk.record.until("session.idle", { from });
    expect(existsSync(path.join(world.folder, "again.txt"))).toBe(true);
  });

  test("is in plan mode still when the runtime was killed meanwhile", async () => {
    const first = await startClient();
    const talk = await openTalk(first, { onExitPlanModeRequest: () => new Promise(() => {}) });
    talk.model.script(call("exit_plan_mode", EXIT));
    await talk.session.send({ prompt: "plan it", agentMode: "plan" });
    await talk.record.until("exit_plan_mode.requested");
    await first.kill();
    await using second = await startClient({ folders: first.folders });
    const model = second.model.endpoint();
    const file = path.join(first.folder, "early.txt");
    model.script(call("create", { path: file, file_text: "x" }), say("still planning"));
    await using again = await resumeTalk(
      second,
      talk.session.sessionId,
      { continuePendingWork: true, onExitPlanModeRequest: () => ({ approved: false, feedback: "no" }) },
      model,
    );
    await again.record.until("session.idle");
    expect(results(again).join("\n")).toContain("Plan mode: files outside");
    expect(existsSync(file)).toBe(false);
    await first[Symbol.asyncDispose]();
  });
});

describe("plan mode at depth 3", () => {
  const task = (prompt: string, mode = "sync") =>
    call("task", { name: "w", agent_type: "general-purpose", description: "Go on", prompt, mode });

  /** An agent is known by the last of these words in its first message; each starts the next, and the third one writes. */
  const depthOf = (request: ModelRequest) =>
    ["DEPTH1", "DEPTH2", "DEPTH3"].findLastIndex((word) => request.texts("user")[0]?.includes(`${word} works`)) + 1;

  function chain(attempts: Answer[], mode: string) {
    let at = 0;
    return (request: ModelRequest) => {
      const depth = depthOf(request);
      if (depth === 3) return attempts[at++] ?? say("could not");
      const hasStarted = request.texts("tool").length > 0;
      return hasStarted ? say(`end of ${depth}`) : task(`DEPTH${depth + 1} works`, depth === 0 ? mode : "sync");
    };
  }

  test.each(["sync", "background"])("writes nothing, whatever is approved, in %s mode", async (mode) => {
    await using talk = await openTalk(world, {
      mcpServers: { small: server },
      hooks: { onPreToolUse: () => ({ permissionDecision: "allow" }) },
    });
    await talk.session.rpc.permissions.setApproveAll({ enabled: true });
    const name = `deep-${mode}.txt`;
    const file = path.join(world.folder, name);
    const attempts = [
      create(name),
      touch(name),
      call("bash", { command: `python3 -c 'open("${file}", "w")'`, description: "t" }),
      call("bash", { command: `echo x > ${file}`, description: "t" }),
      call("small-shout", { text: "a" }),
      call("small-add", { a: 1, b: 2 }),
      call("bash", { command: "ls", description: "look" }),
    ];
    talk.model.reply(chain([...attempts], mode));
    await talk.ask({ prompt: "plan deeply", agentMode: "plan" });
    const ends = talk.record.all("tool.execution_complete").filter(({ agentId }) => agentId !== undefined);
    const deep = attempts.map((_, at) => ends[at]?.data);
    expect(deep.map((end) => end?.success)).toEqual([false, false, false, false, false, true, true]);
    expect(deep[0]?.error?.message).toContain("does not exist"); // Not even offered to a sub-agent.
    expect(deep.slice(1, 5).every((end) => end?.error?.message.startsWith("Plan mode: "))).toBe(true);
    expect(existsSync(file)).toBe(false);
  });

  test("holds for an agent that was started before it began", async () => {
    await using talk = await openTalk(world);
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const attempts = [touch("old.txt"), say("could not")];
    const answer = chain(attempts, "sync");
    talk.model.reply(async (request) => {
      if (depthOf(request) === 3) await gate;
      return answer(request);
    });
    await talk.session.send({ prompt: "go" });
    await talk.record.count("subagent.started", 3);
    await talk.session.rpc.mode.set({ mode: "plan" });
    go();
    await talk.record.until("session.idle");
    expect(results(talk).join("\n")).toContain("Plan mode: only commands that are known to change nothing may run");
    expect(existsSync(path.join(world.folder, "old.txt"))).toBe(false);
  });
});

describe("leaving plan mode", () => {
  const leave = async (
    selectedAction: "interactive" | "autopilot" | "autopilot_fleet" | "exit_only",
    after: Answer[],
  ) => {
    const talk = await openTalk(world, { onExitPlanModeRequest: () => ({ approved: true, selectedAction }) });
    await talk.session.rpc.mode.set({ mode: "plan" });
    talk.model.script(call("exit_plan_mode", EXIT), ...after);
    await talk.session.send({ prompt: "plan" });
    await talk.record.until("session.idle");
    return talk;
  };

  test("by exit_only ends the run without another word from the model", async () => {
    await using talk = await leave("exit_only", []);
    expect(talk.model.requests).toHaveLength(1);
    expect(await talk.session.rpc.mode.get()).toBe("interactive");
    expect(talk.record.one("tool.execution_complete").data.result?.content).toContain("nothing is carried out yet");
  });

  test("by autopilot goes on until the task is complete", async () => {
    await using talk = await leave("autopilot", [say("a step"), call("task_complete", { summary: "built" })]);
    expect(await talk.session.rpc.mode.get()).toBe("autopilot");
    expect(talk.record.one("session.task_complete").data).toMatchObject({ summary: "built", success: true });
  });

  test("by autopilot_fleet asks the model for the todos of a fleet that carries the plan out", async () => {
    await using talk = await leave("autopilot_fleet", [call("task_complete", { summary: "built by many" })]);
    expect(await talk.session.rpc.mode.get()).toBe("autopilot");
    const words = talk.model.requests[1]?.texts("tool").at(-1);
    expect(words).toContain("a fleet of sub-agents carries the plan out");
    expect(words).toContain("into the `todos` table");
    expect(words).toContain("plan.md");
  });

  test("with autoApproveEdits approves the edits that follow", async () => {
    const asked: string[] = [];
    await using talk = await openTalk(world, {
      onPermissionRequest: ({ kind }) => {
        asked.push(kind);
        return { kind: "approve-once" };
      },
      onExitPlanModeRequest: () => ({ approved: true, selectedAction: "interactive", autoApproveEdits: true }),
    });
    talk.model.script(call("exit_plan_mode", EXIT), create("edits.txt"), say("done"));
    expect(await talk.ask({ prompt: "plan", agentMode: "plan" })).toBe("done");
    expect(asked).toEqual([]);
    expect(readFileSync(path.join(world.folder, "edits.txt"), "utf8")).toBe("x");
  });
});
