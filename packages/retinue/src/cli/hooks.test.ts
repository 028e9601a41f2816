import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { type CliWorld, cliWorld, modelWorld } from "./test-world.ts";

const deny = "echo 'not in this project' >&2; exit 2";

function bring(world: CliWorld): void {
  mkdirSync(join(world.folder, ".git"), { recursive: true });
  const hooks = { version: 1, hooks: { preToolUse: [{ matcher: "bash", bash: deny }] } };
  world.put(".github/hooks/guard.json", JSON.stringify(hooks));
}

test("hooks list shows what files name, and what has to happen before it runs", async () => {
  await using world = cliWorld();
  bring(world);
  const before = await world.run(["hooks", "list"]);
  expect(before).toMatchObject({ code: 0 });
  expect(before.stdout).toBe(
    `preToolUse(bash): ${deny}\n  .github/hooks/guard.json (project) does not run: the folder is not trusted (retinue trust add)\n`,
  );
  const added = await world.run(["trust", "add"]);
  expect(added.stdout).toContain(`  hook of .github/hooks/guard.json:\n    preToolUse(bash): ${deny}\n`);
  expect((await world.run(["hooks", "list"])).stdout).toContain("(project) runs");
  expect((await world.run(["trust", "list"])).stdout).toContain(`hook preToolUse(bash): ${deny}`);
});

test("hooks list names files that cannot be used, and ends with 1", async () => {
  await using world = cliWorld();
  world.put(
    ".retinue/hooks.json",
    JSON.stringify({ version: 1, hooks: { preTooluse: [], agentStop: [{ type: "agent" }] } }),
  );
  const { code, stderr } = await world.run(["hooks", "list"]);
  expect(code).toBe(1);
  expect(stderr).toContain("there is no event preTooluse here. Did you mean preToolUse?");
  expect(stderr).toContain("only hooks of the types command and http run here, not agent");
});

test("a person without a program of his own has hooks: a prompt on the command line runs them once they are trusted", async () => {
  const answer = ({ results }: { results: readonly unknown[] }) =>
    results.length > 0 ? say("done") : call("bash", { command: "touch ran", description: "d" });
  await using world = await modelWorld(answer);
  bring(world);
  await world.run(["trust", "add"]);
  const { code } = await world.run(["-p", "go", "--allow-all-tools"]);
  expect([code, existsSync(join(world.folder, "ran"))]).toEqual([0, false]);
  expect(JSON.stringify(world.model.requests)).toContain("not in this project");
});

test.each(["", "--worktree "])(
  "a guard in a file is asked about the calls of a fleet's agents, with their paths (/fleet %s)",
  async (option) => {
    const query = "INSERT INTO todos (id, title) VALUES ('walls', 'Walls'), ('roof', 'Roof')";
    const lead = [call("sql", { query }), say("Planned."), say("Seen.")];
    await using world = await modelWorld(({ prompt, results }) => {
      const todo = /Yours is the todo `(\w+)`/.exec(prompt)?.[1];
      if (todo === undefined) return lead.shift() ?? say("?");
      const write = call("bash", { command: `touch ${todo}.txt`, description: "d" });
      return results.length === 0 ? write : say(`It says: ${results.at(-1)}`);
    });
    execFileSync("git", ["init", "--quiet"], { cwd: world.folder });
    const asked = join(world.root, "asked");
    const guard = `input=$(cat); printf '%s\\n' "$input" >> ${asked}; case $input in *walls.txt*) echo 'no walls' >&2; exit 2;; esac`;
    world.put(
      ".github/hooks/guard.json",
      JSON.stringify({ version: 1, hooks: { preToolUse: [{ matcher: "bash", bash: guard }] } }),
    );
    await world.run(["trust", "add"]);
    const { code } = await world.run(["-p", `/fleet ${option}build`, "--allow-all-tools", "--quiet"]);
    expect(code).toBe(0);
    const paths = readFileSync(asked, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).agentPathNames);
    expect(paths.sort()).toEqual([
      ["fleet", "roof"],
      ["fleet", "walls"],
    ]);
    expect(["roof", "walls"].filter((name) => existsSync(join(world.folder, `${name}.txt`)))).toEqual(["roof"]);
    expect(world.model.requests.at(-1)?.prompt).toContain("no walls");
  },
);

test("a guard that crashes is said on the screen, with its file", async () => {
  const answer = ({ results }: { results: readonly unknown[] }) =>
    results.length > 0 ? say("done") : call("bash", { command: "touch ran", description: "d" });
  await using world = await modelWorld(answer);
  world.put(".retinue/hooks.json", JSON.stringify({ version: 1, hooks: { preToolUse: [{ bash: "exit 7" }] } }));
  await world.run(["trust", "add"]);
  const { stderr } = await world.run(["-p", "go", "--allow-all-tools"]);
  expect(stderr).toContain("hooks.json failed: it ended with exit code 7. What it was asked about is denied.");
  expect(existsSync(join(world.folder, "ran"))).toBe(false);
});
