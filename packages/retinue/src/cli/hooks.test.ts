import { existsSync, mkdirSync } from "node:fs";
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
