import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { type ModelWorld, modelWorld } from "./test-world.ts";

const LEAD = "---\nname: lead\ndescription: leads\ntools: [task, view]\nceiling: own\n---\nYou lead.\n";

async function world(...flags: string[]): Promise<{ world: ModelWorld; id: string; child: string }> {
  const made = await modelWorld(({ prompt, results }) => {
    if (prompt.includes("CHILD")) return say("seen");
    return results.length === 0
      ? call("task", { name: "looker", agent_type: "explore", description: "d", prompt: "CHILD" })
      : say("done");
  });
  made.put(".retinue/agents/lead.agent.md", LEAD);
  await made.run(["trust", "add"]);
  await made.run(["-p", "delegate", "--quiet", ...flags]);
  const [session] = JSON.parse((await made.run(["sessions", "list", "--json"])).stdout);
  const nodes = JSON.parse((await made.run(["sessions", "tree", session.sessionId, "--json"])).stdout);
  return { world: made, id: session.sessionId, child: nodes[1].id };
}

describe("retinue why", () => {
  test("names the rule for a call, as it was when the session was used", async () => {
    const { world: made, id } = await world(
      "--deny-tool",
      "web_fetch",
      "--allow-tool",
      "shell(git:*)",
      "--deny-tool",
      "shell(git push)",
    );
    await using _ = made;
    const why = async (...args: string[]) => await made.run(["why", id.slice(0, 8), ...args]);
    expect(await why("main", "web_fetch")).toMatchObject({
      code: 1,
      stdout: "The main agent may not call web_fetch: the rule web_fetch denies it (rule: deny-rule).\n",
    });
    expect((await why("main", "bash", "git status")).stdout).toContain("runs without asking: allow rule shell(git:*)");
    expect(await why("main", "bash", "git push")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("is refused: deny rule shell(git push)"),
    });
    expect((await why("main", "bash", "rm -r x")).stdout).toContain("somebody is asked: no rule allows or denies it");
    expect((await why("main", "view", "notes.txt")).stdout).toContain(
      "runs without asking: reads in the allowed folders",
    );
    expect((await why("main", "view", "/etc/passwd")).stdout).toContain("somebody is asked");
    expect((await why("main", "view", "/etc/passwd", "--add-dir", "/etc")).stdout).toContain("runs without asking");
    expect((await why("main", "task")).stdout).toContain("It needs no permission.");
  });

  test("an unknown tool is wrong usage that names a near one, and without a tool all of them are listed", async () => {
    const { world: made, id } = await world("--deny-tool", "web_fetch");
    await using _ = made;
    const why = async (...args: string[]) => await made.run(["why", id.slice(0, 8), ...args]);
    expect(await why("main", "bsh", "ls")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "retinue: the session has no tool bsh. Did you mean bash?\n",
    });
    expect(await why("main", "frobnicate")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There are: bash, "),
    });
    expect((await why("main", "nowhere-tool")).code).toBe(2);

    const { code, stdout } = await why("explore");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^The agent explore and its tools:\n/);
    expect(stdout).toMatch(/ {2}view +allowed +reads in the allowed folders\n/);
    expect(stdout).toMatch(/ {2}bash +asked +needs permission \(shell\)\n/);
    expect(stdout).toMatch(/ {2}create +denied +the tools of the agent explore do not have it \(agent-tools\)\n/);
    expect(stdout).toContain("Deny rules: web_fetch\n");

    const { tools } = JSON.parse((await why("main", "--json")).stdout);
    const known: string[] = tools.map(({ name }: { name: string }) => name);
    const offered = made.model.requests[0]?.tools ?? [];
    expect(offered.filter((name) => !known.includes(name))).toEqual([]);
    expect(tools).toContainEqual({
      name: "web_fetch",
      source: "builtin",
      status: "denied",
      reason: "the rule web_fetch denies it (deny-rule)",
    });
  });

  test("a sub-agent is named by its id, an agent by its name", async () => {
    const { world: made, id, child } = await world();
    await using _ = made;
    const byId = await made.run(["why", id, child.slice(0, 8), "create"]);
    expect(byId).toMatchObject({
      code: 1,
      stdout:
        "The sub-agent looker (explore) may not call create: the tools of the agent explore do not have it (rule: agent-tools).\n",
    });
    const byName = JSON.parse((await made.run(["why", id, "explore", "create", "--json"])).stdout);
    expect(byName.decision).toMatchObject({ allowed: false, rule: "agent-tools" });
    const { code, stderr } = await made.run(["why", id, "nobody", "view"]);
    expect(stderr).toContain("There are: main, explore");
    expect(stderr).toContain(`${child.slice(0, 8)} (looker)`);
    expect(code).toBe(1);
  });

  test("plan mode is the reason for what it refuses, at any depth and whatever is approved", async () => {
    const { world: made, id, child } = await world("--mode", "plan");
    await using _ = made;
    const why = async (...args: string[]) => await made.run(["why", id, ...args, "--allow-all-tools"]);
    for (const agent of ["main", child])
      expect(await why(agent, "bash", "touch x")).toMatchObject({
        code: 1,
        stdout: expect.stringContaining(
          "touch x is refused: plan mode: only commands that are known to change nothing",
        ),
      });
    expect((await why("main", "bash", "ls")).stdout).toContain("runs without asking");
    expect(await why("main", "create", "notes.txt")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("is refused: plan mode: files outside the session's own folder"),
    });
    expect((await why("general-purpose", "create", "a")).stdout).toContain("sub-agents write no files in plan mode");
  });

  test("the ceiling of the agent above is the rule for what is below it", async () => {
    const { world: made, id } = await world("--agent", "lead");
    await using _ = made;
    expect((await made.run(["why", id, "main", "bash"])).stdout).toContain(
      "the tools of the agent lead do not have it",
    );
    expect((await made.run(["why", id, "explore", "grep"])).stdout).toContain(
      "the ceiling of lead, which is above this agent, does not have it (rule: ancestor-ceiling)",
    );
  });
});
