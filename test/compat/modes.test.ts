/** Plan mode and autopilot. */
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const EXIT = call("exit_plan_mode", { summary: "- do it", recommendedAction: "interactive" });

test("the tool to leave plan mode is offered only there", async () => {
  const onExitPlanModeRequest = () => ({ approved: false });
  await using talk = await openTalk(world, { onExitPlanModeRequest });
  await talk.ask("hi");
  expect(talk.model.lastRequest.toolNames).not.toContain("exit_plan_mode");
  await talk.session.rpc.mode.set({ mode: "plan" });
  await talk.ask("hi");
  expect(talk.model.lastRequest.toolNames).toContain("exit_plan_mode");
});

test("an approved plan changes the mode and the run goes on", async () => {
  const asked: unknown[] = [];
  await using talk = await openTalk(world, {
    onExitPlanModeRequest: (request) => {
      asked.push(request);
      return { approved: true, selectedAction: "interactive" };
    },
  });
  await talk.session.rpc.mode.set({ mode: "plan" });
  await talk.session.rpc.plan.update({ content: "# The plan\n" });
  talk.model.script(EXIT, say("on it"));
  expect(await talk.ask("plan")).toBe("on it");
  expect(asked).toMatchObject([{ summary: "- do it", planContent: "# The plan\n", recommendedAction: "interactive" }]);
  expect(await talk.session.rpc.mode.get()).toBe("interactive");
  expect(talk.record.one("exit_plan_mode.completed").data).toMatchObject({ approved: true });
});

test("a refused plan keeps the mode, and the feedback reaches the model", async () => {
  await using talk = await openTalk(world, {
    onExitPlanModeRequest: () => ({ approved: false, feedback: "more tests first" }),
  });
  await talk.session.rpc.mode.set({ mode: "plan" });
  talk.model.script(EXIT, say("I shall think again"));
  expect(await talk.ask("plan")).toBe("I shall think again");
  expect(await talk.session.rpc.mode.get()).toBe("plan");
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("more tests first");
});

test("plan mode writes nothing outside the session folder", async () => {
  await using talk = await openTalk(world);
  await talk.session.rpc.mode.set({ mode: "plan" });
  talk.model.script(call("create", { path: path.join(world.folder, "early.txt"), file_text: "x" }), say("not yet"));
  expect(await talk.ask("write it")).toBe("not yet");
  expect(talk.record.one("tool.execution_complete").data).toMatchObject({ success: false });
});

test("autopilot goes on by itself until the model says that the task is complete", async () => {
  await using talk = await openTalk(world);
  await talk.session.rpc.mode.set({ mode: "autopilot" });
  talk.model.script(say("one step"), say("another step"), call("task_complete", { summary: "all done" }));
  await talk.session.send({ prompt: "do it all" });
  await talk.record.until("session.idle");
  expect(talk.record.one("session.task_complete").data).toMatchObject({ summary: "all done", success: true });
  const continuations = talk.record.all("user.message").filter(({ data }) => data.isAutopilotContinuation);
  expect(continuations).toHaveLength(2);
  expect(continuations[0]?.data).toMatchObject({ content: "", source: "system" });
  expect(talk.record.all("session.idle")).toHaveLength(1);
});

test("autopilot stops after five continuations", async () => {
  await using talk = await openTalk(world);
  await talk.session.rpc.mode.set({ mode: "autopilot" });
  talk.model.reply(() => say("still going"));
  await talk.session.send({ prompt: "never finished" });
  await talk.record.until("session.idle");
  expect(talk.record.all("user.message").filter(({ data }) => data.isAutopilotContinuation)).toHaveLength(5);
});

test("sendAndWait returns in autopilot: completed, out of reminders, and after an agent in the background", async () => {
  await using talk = await openTalk(world);
  await talk.session.rpc.mode.set({ mode: "autopilot" });
  talk.model.script(say("one step"), call("task_complete", { summary: "all done" }));
  await talk.session.sendAndWait({ prompt: "do it" }, 20_000);
  expect(talk.record.one("session.task_complete").data).toMatchObject({ success: true });
  talk.model.reply(() => say("still going"));
  await talk.session.sendAndWait({ prompt: "never finished" }, 20_000);
  expect(talk.record.all("session.idle")).toHaveLength(2);
  expect(talk.record.all("user.message").filter(({ data }) => data.isAutopilotContinuation)).toHaveLength(1 + 5);
  const task = { agent_type: "explore", name: "look", description: "d", prompt: "look", mode: "background" };
  talk.model.script(call("task", task), say("started"), say("found"), call("task_complete", { summary: "found" }));
  await talk.session.sendAndWait({ prompt: "delegate" }, 20_000);
  expect(talk.record.all("session.idle")).toHaveLength(3);
  expect(talk.record.all("session.task_complete")).toHaveLength(2);
});

test.runIf(ours)(
  "sendAndWait in autopilot is still open when the model falls silent with an agent at work",
  async () => {
    await using talk = await openTalk(world);
    await talk.session.rpc.mode.set({ mode: "autopilot" });
    const task = { agent_type: "explore", name: "look", description: "d", prompt: "CHILD look", mode: "background" };
    const main = [call("task", task), say("started"), call("task_complete", { summary: "found" })];
    talk.model.reply(async (request) => {
      if (!request.texts("user")[0]?.includes("CHILD")) return main.shift() ?? say("ok");
      await talk.record.until("assistant.idle");
      return say("found");
    });
    await talk.session.sendAndWait({ prompt: "delegate" }, 20_000);
    const order = talk.record.story().filter((type) => /idle|task_complete|subagent.completed/.test(type));
    expect(order).toEqual([
      "assistant.idle",
      "subagent.completed",
      "session.task_complete",
      "assistant.idle",
      "session.idle",
    ]);
    expect(talk.record.all("user.message").filter(({ data }) => data.isAutopilotContinuation)).toEqual([]);
  },
);
