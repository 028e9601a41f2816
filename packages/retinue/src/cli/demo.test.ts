import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cliWorld } from "./test-world.ts";

test("the demo explores the folder with three sub-agents, one in the background with a follow-up, and leaves nothing behind", async () => {
  await using world = cliWorld();
  world.put("README.md", "# Lantern\n\nA lamp that answers.\n");
  world.put("src/lamp.ts", "export function light() {} // TODO dim\n");
  const { code, stdout, stderr } = await world.run(["demo"]);
  expect(stdout).toContain("A lamp that answers.");
  expect(stdout).toContain("3 sub-agents looked into it");
  expect(stderr).toMatch(/▸ to-dos \(explore\) starts in the background/);
  expect(stderr).toContain("write_agent to-dos");
  expect(stderr).toMatch(
    /○ main .*\n├─ ✓ layout \(explore\) .*turns.*\n├─ ✓ readme \(explore\) .*\n└─ ✓ to-dos \(explore\) & .*\n/,
  );
  expect(code).toBe(0);
  expect(world.leftovers()).toEqual([]);
  expect(() => readFileSync(join(world.home, "retinue.db"))).toThrow("ENOENT");
});

test("the demo keeps its session in the home that is given", async () => {
  await using world = cliWorld();
  await world.run(["demo", "--home", world.home]);
  expect((await world.run(["sessions", "list"])).stdout).toContain("Explore this project with three sub-agents.");
});
