/** Plan mode on the command line: what it keeps from being written, and how a person leaves it at the terminal. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { call, type ModelScript, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { canHaveTerminal, modelWorld } from "./test-world.ts";

const EXIT = call("exit_plan_mode", { summary: "- build it", recommendedAction: "interactive", showFleet: true });
const create = (path: string) => call("create", { path, file_text: "x" });
const touch = (path: string) => call("bash", { command: `touch ${path}`, description: "write" });

test.each([
  [["--mode", "plan"], "plan it"],
  [[], "/plan build it"],
])("with %j and the prompt %j nothing is written, whatever was allowed before", async (flags, prompt) => {
  await using world = await modelWorld(({ results }) => {
    const turns = [create("early.txt"), touch("early.txt"), EXIT];
    return turns[results.length] ?? say("Planned.");
  });
  const { code, stdout } = await world.run(["-p", prompt, ...flags, "--yolo", "--silent"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Planned.\n" });
  const results = world.model.requests.at(-1)?.results ?? [];
  expect(results.slice(0, 2)).toEqual([expect.stringMatching(/Plan mode: /), expect.stringMatching(/Plan mode: /)]);
  expect(results[2]).toContain("not approved"); // Nobody is there to approve it.
  expect(existsSync(join(world.folder, "early.txt"))).toBe(false);
});

test("a plan that nobody is there to approve does not look as if it was approved", async () => {
  await using world = await modelWorld([EXIT, say("Planned.")]);
  const { stderr } = await world.run(["-p", "plan it", "--mode", "plan"]);
  expect(stderr).toMatch(
    /✗ exit_plan_mode - build it · [^·]+ · The plan was not approved: Nobody can approve the plan/,
  );
  expect(stderr).not.toContain("✓ exit_plan_mode");
});

test("an agent three levels down writes nothing in plan mode either", async () => {
  const task = (prompt: string) =>
    call("task", { name: "w", agent_type: "general-purpose", description: "Go on", prompt, mode: "sync" });
  await using world = await modelWorld(({ prompt, results }) => {
    const depth = Number(/LEVEL (\d)$/.exec(prompt)?.[1] ?? 0);
    if (depth < 3) return results.length === 0 ? task(`LEVEL ${depth + 1}`) : say(`It says: ${results.at(-1)}`);
    return [touch("deep.txt"), create("deep.txt")][results.length] ?? say(results.join(" | "));
  });
  const { stdout } = await world.run(["-p", "plan", "--mode", "plan", "--yolo", "--silent"]);
  expect(stdout).toContain("It says: It says: It says: ");
  expect(stdout).toContain("Plan mode: only commands");
  expect(stdout).toContain("Tool 'create' does not exist");
  expect(existsSync(join(world.folder, "deep.txt"))).toBe(false);
});

describe.runIf(canHaveTerminal)("a plan that is shown at the terminal", () => {
  async function answered(answer: string, script: ModelScript) {
    const world = await modelWorld(script);
    const terminal = { columns: 100, rows: 40 };
    const running = world.start(["-p", "plan", "--mode", "plan", "--yolo"], { terminal, staysOpen: true });
    let shown = "";
    running.process.stdout?.on("data", (text: string) => {
      const hadAsked = shown.includes("Carry it out?");
      shown += text;
      if (!hadAsked && shown.includes("Carry it out?")) running.process.stdin?.write(`${answer}\n`);
    });
    const { code } = await running.ended;
    const { requests } = world.model;
    await world[Symbol.asyncDispose]();
    return { code, shown, requests };
  }

  test("is carried out after y, and improved after words", async () => {
    const yes = await answered("y", [EXIT, say("Built.")]);
    expect(yes).toMatchObject({ code: 0, shown: expect.stringContaining("Built.") });
    expect(yes.shown).toContain("- build it");
    expect(yes.requests[1]?.tools).not.toContain("task_complete");
    const words = await answered("tests first", [EXIT, say("I think again.")]);
    expect(words.requests[1]?.results[0]).toBe("The plan was not approved: tests first");
  });

  test("is carried out to its end in autopilot after a", async () => {
    const done = call("task_complete", { summary: "All built." });
    const { code, shown, requests } = await answered("a", [EXIT, say("A step."), done]);
    expect({ code, shown }).toEqual({ code: 0, shown: expect.stringContaining("Task complete: All built.") });
    expect(requests).toHaveLength(3);
  });

  test("is carried out by a fleet after f", async () => {
    const query = "INSERT INTO todos (id, title) VALUES ('walls', 'Walls')";
    const lead = [EXIT, call("sql", { query }), say("Planned."), call("task_complete", { summary: "The house." })];
    const { code, shown } = await answered("f", ({ prompt }) =>
      prompt.includes("Yours is the todo") ? say("They stand.") : (lead.shift() ?? say("?")),
    );
    expect({ code, shown }).toEqual({ code: 0, shown: expect.stringContaining("Task complete: The house.") });
    expect(lead).toEqual([]);
  });

  test("is approved and left at that after l, which is no failure", async () => {
    const { code, shown, requests } = await answered("l", [EXIT]);
    expect(code).toBe(0);
    expect(shown).toContain("nothing is carried out yet");
    expect(requests).toHaveLength(1);
  });
});
