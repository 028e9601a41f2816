import { existsSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { canHaveTerminal, modelWorld } from "./test-world.ts";

const complete = (summary: string) => call("task_complete", { summary });
const stuck = (times: number) => Array.from({ length: times }, () => say("Still at it."));
const lastLine = (stdout: string) => JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");

describe("retinue --autopilot", () => {
  test("goes on until the task is complete, and shows the summary instead of the call", async () => {
    await using world = await modelWorld([say("One step."), complete("Both steps are done.")]);
    const { code, stdout, stderr } = await world.run(["-p", "two steps", "--autopilot"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "One step.\n" });
    expect(stderr).toContain("✓ Task complete: Both steps are done.");
    expect(stderr).not.toContain("task_complete");
  });

  test("prints the summary where only the last message is wanted", async () => {
    await using world = await modelWorld([say("One step."), complete("Both steps are done.")]);
    const { stdout } = await world.run(["-p", "two steps", "--autopilot", "--no-stream"]);
    expect(stdout).toBe("Both steps are done.\n");
  });

  test("ends with exit code 3 and says so when it is out of reminders", async () => {
    await using world = await modelWorld(stuck(3));
    const { code, stderr } = await world.run(["-p", "go", "--autopilot", "--max-autopilot-continues", "2"]);
    expect(code).toBe(3);
    expect(stderr).toContain("retinue: Autopilot stopped: the task is not marked as complete after 2 of 2 reminders.");
    expect(world.model.requests).toHaveLength(3);
  });

  test("ends with exit code 3 as well when the last request failed, and says both", async () => {
    await using world = await modelWorld([]);
    const { code, stderr } = await world.run(["-p", "go", "--autopilot", "--max-autopilot-continues", "1"]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/retinue: Autopilot stopped: .* after 1 of 1 reminders\. The last error: .+/);
  });

  test("says in the result why it ended", async () => {
    await using world = await modelWorld(stuck(1));
    const limits = ["--max-autopilot-continues", "0"];
    const { code, stdout } = await world.run(["-p", "go", "--autopilot", ...limits, "--output-format", "json"]);
    expect(code).toBe(3);
    expect(lastLine(stdout)).toMatchObject({ success: false, exitCode: 3, error: { code: "autopilot_limit" } });
    expect(stdout).toContain('"session.autopilot_ended"');
  });

  test("takes the limit from the environment, and else from config.json", async () => {
    await using world = await modelWorld(stuck(5));
    world.put("../home/config.json", JSON.stringify({ maxAutopilotContinues: 2 }));
    const run = (env: Record<string, string>) => world.run(["-p", "go", "--autopilot"], { env });
    expect((await run({})).code).toBe(3);
    expect(world.model.requests).toHaveLength(3);
    expect((await run({ RETINUE_MAX_AUTOPILOT_CONTINUES: "1" })).code).toBe(3);
    expect(world.model.requests).toHaveLength(5);
    expect((await run({ RETINUE_MAX_AUTOPILOT_CONTINUES: "many" })).stderr).toContain("whole number from 0 to 1000");
  });

  test("a limit that could have no effect is refused", async () => {
    await using world = await modelWorld([]);
    const { code, stderr } = await world.run(["-p", "go", "--max-autopilot-continues", "2"]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("without --autopilot") });
    expect((await world.run(["-p", "go", "--autopilot", "--mode", "plan"])).code).toBe(2);
  });
});

test("a runtime that is killed during a reminder goes on counting when it is resumed", async () => {
  let asked = 0;
  const hang = new Promise<never>(() => undefined);
  await using world = await modelWorld(async () => (++asked === 3 ? await hang : say(`Step ${asked}.`)));
  const limit = ["--max-autopilot-continues", "3"];
  const running = world.start(["-p", "go", "--autopilot", ...limit, "--output-format", "json"]);
  let told = "";
  running.process.stdout?.on("data", (piece) => {
    told += String(piece);
  });
  // What a client is told of is stored; a request may be sent before that.
  const reminders = () => told.split('"isAutopilotContinuation":true').length - 1;
  while (asked < 3 || reminders() < 2) await new Promise((resolve) => setImmediate(resolve));
  running.process.kill("SIGKILL");
  await running.ended;
  const { code, stderr } = await world.run(["--continue"]);
  expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining("after 3 of 3 reminders") });
  expect(asked).toBe(5);
});

test("a runtime that is killed after task_complete, before that was accepted, asks the stop hook again and ends", async () => {
  await using world = await modelWorld([complete("All of it.")]);
  const bash = "test -e ready || { touch asked; exec sleep 300; }";
  world.put("../home/hooks.json", JSON.stringify({ version: 1, hooks: { agentStop: [{ bash, timeoutSec: 600 }] } }));
  const running = world.start(["-p", "go", "--autopilot"]);
  while (!existsSync(join(world.folder, "asked"))) await new Promise((resolve) => setImmediate(resolve));
  running.process.kill("SIGKILL");
  await running.ended;
  world.put("ready", "");
  const { code, stdout } = await world.run(["--continue", "--output-format", "json"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/"session.autopilot_ended","data":{"reason":"completed"/);
});

test.runIf(canHaveTerminal)("--no-ask-user takes away the questions and tells the model to decide", async () => {
  await using world = await modelWorld([say("Asked."), say("Decided.")]);
  const terminal = { columns: 80, rows: 24 };
  await world.run(["-p", "go"], { terminal });
  await world.run(["-p", "go", "--no-ask-user"], { terminal });
  const [asking, deciding] = world.model.requests;
  expect(asking?.tools).toContain("ask_user");
  expect(deciding?.tools).not.toContain("ask_user");
  expect(deciding?.system).toContain("Nobody answers questions");
});

test("without autopilot, prompt mode waits for background agents and ends with an answer", async () => {
  const task = { agent_type: "explore", name: "look", description: "d", prompt: "look around", mode: "background" };
  await using world = await modelWorld([call("task", task), say("Started."), say("Found."), say("It was found.")]);
  const { code, stdout } = await world.run(["-p", "delegate", "--no-stream"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "It was found.\n" });
});
