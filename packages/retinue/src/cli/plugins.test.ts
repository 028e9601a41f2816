import { existsSync } from "node:fs";
import { join } from "node:path";
import { say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { type CliWorld, cliWorld, modelWorld } from "./test-world.ts";

function bring(world: CliWorld, { hook }: { hook?: string } = {}): void {
  world.put("kit/plugin.json", JSON.stringify({ name: "kit", version: "2.0.0" }));
  world.put("kit/agents/helper.agent.md", "---\ndescription: helps\n---\nYou HELP.\n");
  const hooks = { version: 1, hooks: { sessionStart: [{ bash: hook }] } };
  if (hook !== undefined) world.put("kit/hooks.json", JSON.stringify(hooks));
}

test("plugins are added, listed and removed, and one that brings programs is not added unasked", async () => {
  await using world = cliWorld();
  bring(world, { hook: "touch hooked" });
  const unasked = await world.run(["plugins", "add", "./kit"]);
  expect(unasked.code).toBe(2);
  expect(unasked.stderr).toContain("  hook sessionStart: touch hooked");
  expect(unasked.stderr).toContain("--yes");
  expect((await world.run(["plugins", "list"])).stdout).toContain("No plugin is installed");
  const added = await world.run(["plugins", "add", "./kit", "--yes"]);
  expect([added.code, added.stdout]).toEqual([0, "kit 2.0.0 is installed.\n"]);
  expect((await world.run(["plugins", "list"])).stdout).toBe(
    "kit 2.0.0\n  agents: helper\n  hook sessionStart: touch hooked\n",
  );
  expect((await world.run(["plugins", "remove", "kit"])).stdout).toBe("kit is removed.\n");
  const again = await world.run(["plugins", "remove", "kit"]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("there is no plugin kit")]);
});

test("a plugin for a single run is named on the command line, and its hooks run in its session", async () => {
  await using world = await modelWorld([say("ok")]);
  bring(world, { hook: "touch hooked" });
  expect((await world.run(["-p", "hello", "--plugin-dir", "kit", "--agent", "helper"])).code).toBe(0);
  expect(existsSync(join(world.folder, "hooked"))).toBe(true);
  expect(JSON.stringify(world.model.requests)).toContain("You HELP.");
  expect((await world.run(["-p", "hello", "--plugin-dir", "nowhere"])).code).toBe(2);
});
