/** How autopilot ends, and what it takes no notice of: gates, errors, aborts, work in the background, calls at the wrong time. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { SessionConfig } from "@github/copilot-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, hang, say, status } from "../support/model-answers.ts";
import { gate } from "../support/priced.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const complete = (summary: string) => call("task_complete", { summary });
const reminders = ({ record }: Talk) => record.all("user.message").filter(({ data }) => data.isAutopilotContinuation);
const completions = ({ record }: Talk) => record.all("session.task_complete").map(({ data }) => data.success);
/** Events that the types of the official SDK do not know; its client passes them on. */
const told = ({ record }: Talk, type: string) =>
  record.events.filter((event) => (event.type as string) === type).map(({ data }) => data as Record<string, unknown>);

async function autopilot(config: Partial<SessionConfig> = {}): Promise<Talk> {
  const talk = await openTalk(world, config);
  await talk.session.rpc.mode.set({ mode: "autopilot" });
  return talk;
}

describe.runIf(ours)("an agent with gates", () => {
  const gated = (gates: object[], maxGateFailures: number): Partial<SessionConfig> => {
    const agent = { name: "careful", description: "Checks.", prompt: "Work.", gates, maxGateFailures };
    return { customAgents: [agent], agent: "careful" };
  };

  test("has completed when they hold, and not before", async () => {
    await using talk = await autopilot(gated([{ file: "report.md" }], 2));
    talk.model.reply((request) => {
      if (request.texts("tool").length > 0) writeFileSync(path.join(world.folder, "report.md"), "x");
      return complete("reported");
    });
    await talk.session.sendAndWait({ prompt: "report" });
    expect(completions(talk)).toEqual([false, true]);
    expect(talk.model.lastRequest.texts("tool")[0]).toContain("report.md");
    expect(told(talk, "session.autopilot_ended")).toMatchObject([{ reason: "completed" }]);
  });

  test("is judged by the mode of the message when that has its own", async () => {
    await using talk = await autopilot(gated([{ file: "never.md" }], 0));
    talk.model.script(say("I stop."));
    const asked = talk.session.sendAndWait({ prompt: "only this", agentMode: "interactive" });
    await expect(asked).rejects.toThrow("never.md");
    await talk.record.until("session.idle");
    await talk.session.rpc.mode.set({ mode: "interactive" });
    talk.model.script(say("I stop, which is no claim."), complete("reported"));
    await expect(talk.session.sendAndWait({ prompt: "all of it", agentMode: "autopilot" })).rejects.toThrow("never.md");
    expect(reminders(talk)).toHaveLength(1);
  });

  test("fails when they have failed too often, with the evidence in its events", async () => {
    await using talk = await autopilot(gated([{ command: "echo broken; exit 7" }], 1));
    talk.model.reply(() => complete("surely"));
    await expect(talk.session.sendAndWait({ prompt: "build" })).rejects.toThrow("exit code 7");
    await talk.record.until("session.idle");
    expect(completions(talk)).toEqual([false, false]);
    expect(told(talk, "gate.completed").at(-1)).toMatchObject({
      isFinal: true,
      outcomes: [{ exitCode: 7, output: expect.stringContaining("broken") }],
    });
    expect(told(talk, "session.autopilot_ended")).toMatchObject([{ reason: "gates" }]);
  });
});

test("an error of the model does not end autopilot", async () => {
  await using talk = await autopilot();
  talk.model.script(status(400), complete("done after all"));
  await talk.session.send({ prompt: "go" });
  await talk.record.until("session.idle");
  expect(completions(talk)).toEqual([true]);
  expect(reminders(talk)).toHaveLength(1);
});

test("an abort ends autopilot: no reminder follows, and the next prompt has its own", async () => {
  await using talk = await autopilot();
  talk.model.script(hang());
  await talk.session.send({ prompt: "go" });
  await talk.model.asked(1);
  await talk.session.abort();
  await talk.record.until("session.idle");
  expect(talk.model.requests).toHaveLength(1);
  talk.model.script(say("a step"), complete("done"));
  await talk.session.sendAndWait({ prompt: "again" });
  expect(reminders(talk)).toHaveLength(1);
  expect(completions(talk)).toEqual([true]);
});

test("while an agent works in the background there is no reminder, and its end is one turn", async () => {
  await using talk = await autopilot();
  const { open, opened } = gate();
  const task = { agent_type: "explore", name: "look", description: "d", prompt: "LOOK", mode: "background" };
  const main = [call("task", task), say("I wait."), complete("It was found.")];
  talk.model.reply(async (request) => {
    if (!request.texts("user")[0]?.includes("LOOK")) return main.shift() ?? say("nothing left to say");
    await opened;
    return say("found");
  });
  await talk.session.send({ prompt: "delegate" });
  await talk.record.until("assistant.message", { passes: ({ data }) => data.content === "I wait." });
  await talk.session.rpc.metadata.activity(); // Whatever would come at once has come.
  expect([reminders(talk).length, talk.record.all("session.idle").length]).toEqual([0, 0]);
  open();
  await talk.record.until("session.idle");
  expect([reminders(talk).length, main.length]).toEqual([0, 0]);
});

describe("at the wrong time", () => {
  test.each([
    ["task_complete", { summary: "done" }],
    ["exit_plan_mode", { summary: "- do it" }],
  ])("%s is a tool that does not exist, and the run goes on", async (name, args) => {
    await using talk = await openTalk(world, { onExitPlanModeRequest: () => ({ approved: true }) });
    talk.model.script(call(name, args), say("I only answer."));
    expect(await talk.ask("hi")).toBe("I only answer.");
    expect(talk.model.lastRequest.texts("tool")[0]).toContain(`'${name}' does not exist`);
    expect(talk.record.all("session.task_complete")).toEqual([]);
    expect(talk.record.all("exit_plan_mode.requested")).toEqual([]);
    expect(await talk.session.rpc.mode.get()).toBe("interactive");
  });

  test("a mode that there is not is refused, and the old one stays", async () => {
    await using talk = await openTalk(world);
    await expect(talk.session.rpc.mode.set({ mode: "wild" as "plan" })).rejects.toThrow(/mode/);
    expect(await talk.session.rpc.mode.get()).toBe("interactive");
  });
});

test("task_complete without a summary is no completion, and the model is told what is missing", async () => {
  await using talk = await autopilot();
  talk.model.script(call("task_complete", {}), call("task_complete", { summary: 5 }), complete("now it is"));
  await talk.session.sendAndWait({ prompt: "go" });
  expect(completions(talk)).toEqual([false, false, true]);
  expect(talk.record.all("session.task_complete").map(({ data }) => Reflect.get(data, "reason"))).toEqual([
    '"summary": Required',
    expect.stringContaining("expected string"),
    undefined,
  ]);
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("summary");
});
