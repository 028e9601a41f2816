import { call, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { canHaveTerminal, type Ended, modelWorld } from "./test-world.ts";

const JSON_LINES = ["--output-format", "json"];

function resultOf({ stdout }: Ended): Record<string, unknown> {
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "null");
}

test("the last line of JSON says what came of a run, and which session it was", async () => {
  await using world = await modelWorld([call("glob", { pattern: "*" }), say("Nothing here."), say("More.")]);
  const first = resultOf(await world.run(["-p", "look", ...JSON_LINES]));
  expect(first).toEqual({
    type: "result",
    success: true,
    text: "Nothing here.",
    turns: 2,
    tokens: { input: 200, output: 20 },
    cost: 0,
    sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    durationMs: expect.any(Number),
    exitCode: 0,
  });
  const second = resultOf(await world.run(["-p", "go on", "--continue", ...JSON_LINES]));
  expect(second).toMatchObject({ sessionId: first.sessionId, turns: 1, text: "More." });
  const failed = await world.run(["-p", "and more", ...JSON_LINES]);
  expect(resultOf(failed)).toMatchObject({
    success: false,
    error: { message: expect.stringContaining("unexpected call") },
    exitCode: 1,
  });
  expect(failed.code).toBe(1);
});

test.each([
  [["--provider", "nobody"], 1, "There is no provider nobody", undefined],
  [["--resume", "nope"], 1, "There is no session nope", "session_not_found"],
  [["--add-dir", "nowhere"], 2, "there is no folder", "usage"],
])("a run that is refused before it begins has a result too: %j", async (flags, exitCode, words, code) => {
  await using world = await modelWorld([]);
  const ended = await world.run(["-p", "hello", ...flags, ...JSON_LINES]);
  const result = resultOf(ended);
  expect(result).toMatchObject({ type: "result", success: false, text: "", turns: 0, exitCode });
  expect(result.error).toMatchObject({ message: expect.stringContaining(words), ...(code ? { code } : {}) });
  expect(result.sessionId).toBeUndefined();
  expect(ended.stderr).toContain(words);
  expect(ended.code).toBe(exitCode);
});

test.runIf(canHaveTerminal)("a terminal at which no prompt was given gets a result and no first steps", async () => {
  await using world = await modelWorld([]);
  const ended = await world.run(JSON_LINES, { terminal: { columns: 200, rows: 24 }, staysOpen: true });
  expect(ended.code).toBe(2);
  const [result = "", ...errors] = ended.stdout.trimEnd().split("\n");
  expect(JSON.parse(result)).toMatchObject({ type: "result", success: false, error: { code: "usage" }, exitCode: 2 });
  expect(errors).toEqual([expect.stringContaining("--output-format json needs a prompt")]);
});

test("Ctrl-C leaves a whole log with a result at its end, and so does a second one at once", async () => {
  let isAsked = () => {};
  const asked = () =>
    new Promise<void>((resolve) => {
      isAsked = resolve;
    });
  await using world = await modelWorld(() => {
    isAsked();
    return new Promise(() => undefined);
  });
  for (const times of [1, 2]) {
    const reached = asked();
    const running = world.start(["-p", "hello", ...JSON_LINES]);
    await reached;
    for (let sent = 0; sent < times; sent++) {
      running.process.kill("SIGINT");
      if (sent === 0 && times > 1) await running.says("Stopping.");
    }
    const ended = await running.ended;
    expect(resultOf(ended)).toMatchObject({
      type: "result",
      success: false,
      error: { code: "stopped" },
      exitCode: 130,
    });
    for (const line of ended.stdout.trimEnd().split("\n")) expect(JSON.parse(line)).toHaveProperty("type");
    expect(ended.code).toBe(130);
  }
});
