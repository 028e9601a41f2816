import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliWorld } from "./test-world.ts";

describe("retinue agents list", () => {
  test("says of each agent where it is from, what it may do and which file it hides, and what was left out", async () => {
    await using world = cliWorld();
    const older = world.put(".claude/agents/reader.md", "---\ntools: Read, Bash\n---\nYou read.");
    const newer = world.put(
      ".retinue/agents/reader.agent.md",
      "---\ntools: [view]\ninfer: false\n---\nYou read well. Very.",
    );
    world.put(".github/agents/broken.agent.md", "---\ninfer: 3\n---\nP");
    world.put(".github/agents/README.md", "Words.");
    const before = await world.run(["agents", "list"]);
    expect(before.stdout).not.toContain(newer);
    expect(before.stdout).toContain("is not trusted, so this was left out of it: 1 agent (reader)");
    await world.run(["trust", "add"]);
    const { code, stdout } = await world.run(["agents", "list"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `reader  (project  ${newer})\n  You read well.\n  tools: view; started only when a prompt names it\n  hides ${older}\n`,
    );
    expect(stdout).toMatch(/explore {2}\(builtin\)\n/);
    expect(stdout).toMatch(/broken\.agent\.md:2: infer/);
    expect(stdout).toContain("README.md:1: it has no front matter (---), so it is not an agent");
    const { agents } = JSON.parse((await world.run(["agents", "list", "--json"])).stdout);
    expect(agents).toContainEqual(expect.objectContaining({ name: "reader", source: "project", hides: [older] }));
  });
});

describe("retinue agents show", () => {
  test("shows all of an agent, and an unknown name is answered with the nearest", async () => {
    await using world = cliWorld();
    world.put(
      "../home/agents/boss.md",
      "---\ngithub: { toolsets: [issues] }\nuser-invocable: false\nbudget: { turns: 3 }\ndisplay-name: The Boss\nmodel: [m]\nmodel-policy: required\nmodel-class: fast\nreasoning-effort: low\nnested-background: true\nisolation: worktree\ninherit: tail(5)\ngates: [npm test]\nmax-gate-failures: 1\nread-only: true\nschema: { type: object }\nmcp-servers: { docs: { command: node, args: [docs.mjs], env: { KEY: shh } } }\n---\nYou lead.\n\nOthers work.",
    );
    const { stdout } = await world.run(["agents", "show", "boss"]);
    expect(stdout).toContain(
      "every tool; servers: docs; model: m; cannot be selected, only started by other agents; budget: maxTurns 3",
    );
    for (const line of [
      "display-name: The Boss",
      "model-policy: required",
      "model-class: fast",
      "reasoning-effort: low",
      "server docs: KEY=... node docs.mjs",
      "nested-background: true",
      "isolation: worktree",
      "inherit: tail(5)",
      'gate: {"command":"npm test"}',
      "max-gate-failures: 1",
      'schema: {"type":"object"}',
      "read-only: true",
      'github: {"toolsets":["issues"]}',
    ])
      expect(stdout).toContain(`\n  ${line}\n`);
    const { gates, isolation } = JSON.parse((await world.run(["agents", "show", "boss", "--json"])).stdout);
    expect({ gates, isolation }).toEqual({ gates: [{ command: "npm test" }], isolation: "worktree" });
    expect(stdout).toContain("You lead.\n\nOthers work.");
    const wrong = await world.run(["agents", "show", "bos"]);
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no agent bos. Did you mean boss?"),
    });
  });
});

describe("retinue agents check", () => {
  test("names every mistake with its file and line, without trust, and the exit code is 1", async () => {
    await using world = cliWorld();
    const file = world.put(
      ".claude/agents/odd.md",
      "---\nname: odd\ntools: [Read, veiw, custom:mine, docs/find]\nskills: [nope]\nwhatever: 1\n---\nP",
    );
    const bad = world.put(".github/agents/bad.agent.md", "---\ninfer: 3\nbudget: { turn: 1 }\n---\nP");
    const { code, stdout } = await world.run(["agents", "check"]);
    expect(code).toBe(1);
    expect(stdout.trimEnd().split("\n")).toEqual([
      expect.stringContaining(`${bad}:2: infer`),
      expect.stringContaining(`${bad}:3: there is no field 'turn'`),
      expect.stringContaining(`${file}:5: there is no field 'whatever'`),
      `${file}:3: there is no tool 'veiw', so the agent starts without it. Did you mean view?`,
      `${file}:4: there is no skill 'nope', so the agent starts without it. There are: none`,
    ]);
    const one = await world.run(["agents", "check", bad]);
    expect(one.stdout.trimEnd().split("\n")).toHaveLength(2);
  });

  test("says that there are none, with exit code 0", async () => {
    await using world = cliWorld();
    world.put(".claude/agents/good.md", "---\ntools: Read\n---\nP");
    expect(await world.run(["agents", "check"])).toMatchObject({ code: 0, stdout: "No mistakes in 1 agent file.\n" });
    expect(await world.run(["agents", "check", "nowhere.md"])).toMatchObject({ code: 2 });
  });
});

describe("retinue agents check of one file", () => {
  test("is about that file alone, however many there are beside it", async () => {
    await using world = cliWorld();
    for (let at = 0; at < 120; at++) world.put(`many/a${String(at).padStart(3, "0")}.md`, "---\ninfer: 3\n---\nP");
    const last = world.put("many/z.md", "---\ninfer: 3\n---\nP");
    const bad = await world.run(["agents", "check", last]);
    expect(bad).toMatchObject({ code: 1, stdout: expect.stringMatching(/^.*z\.md:2: infer[^\n]*\n$/) });
    const good = await world.run(["agents", "check", world.put("many/zz.md", "---\nname: fine\n---\nP")]);
    expect(good).toMatchObject({ code: 0, stdout: "No mistakes in 1 agent file.\n" });
  });

  test("or of a folder in which two have one name says which of them counts", async () => {
    await using world = cliWorld();
    const first = world.put("many/a.md", "---\nname: my helper\n---\nP");
    const second = world.put("many/b.md", "---\nname: My-Helper\n---\nP");
    expect(await world.run(["agents", "check", "many"])).toMatchObject({
      code: 1,
      stdout: `${first}: ${second} has the same name My-Helper, so only that one counts\n`,
    });
  });

  test("fails when it is none", async () => {
    await using world = cliWorld();
    const file = world.put("notes.txt", "---\nname: a\n---\nP");
    expect(await world.run(["agents", "check", file])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("notes.txt: it is not an agent"),
    });
  });

  test("knows the skills of plugins", async () => {
    await using world = cliWorld();
    world.put("../home/plugins/kit/plugin.json", JSON.stringify({ name: "kit" }));
    world.put("../home/plugins/kit/skills/deploy/SKILL.md", "---\ndescription: d\n---\nDeploy.");
    const file = world.put("a.md", "---\nskills: [deploy]\n---\nP");
    expect(await world.run(["agents", "check", file])).toMatchObject({ code: 0 });
  });
});

describe("retinue agents new", () => {
  test("writes a file that is right, and never over another", async () => {
    await using world = cliWorld();
    const args = ["agents", "new", "reader", "--tools", "view, grep", "--description", 'Reads: "all"'];
    const { code, stdout } = await world.run(args);
    const file = join(world.folder, ".retinue/agents/reader.agent.md");
    expect([code, stdout]).toEqual([0, `${file}\n`]);
    expect(readFileSync(file, "utf8")).toContain('description: "Reads: \\"all\\""\ntools: ["view","grep"]');
    expect(await world.run(["agents", "check"])).toMatchObject({ code: 0 });
    expect(await world.run(args)).toMatchObject({ code: 1, stderr: expect.stringContaining("is there already") });
    expect(await world.run(["agents", "new", "../x"])).toMatchObject({ code: 2 });
    expect(await world.run(["agents", "new", "mine", "--user"])).toMatchObject({
      stdout: `${join(world.home, "agents/mine.agent.md")}\n`,
    });
  });

  test("says that a folder must be trusted only where it is not, and so does show", async () => {
    await using world = cliWorld();
    const needsTrust = "it counts once the folder is trusted";
    expect((await world.run(["agents", "new", "one"])).stderr).toContain(needsTrust);
    const hidden = await world.run(["agents", "show", "one"]);
    expect(hidden).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is not trusted, so this was left out of it: 1 agent (one)"),
    });
    await world.run(["trust", "add"]);
    expect((await world.run(["agents", "new", "two"])).stderr).toBe("");
    expect(await world.run(["agents", "show", "two"])).toMatchObject({ code: 0 });
  });
});
