/** Hooks as people have written them for other programs, with the habits that these have taught them. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { allow, copilot, discovering, linesOf, put } from "./test-hook-files.ts";

const spawn = [call("task", { name: "n", agent_type: "explore", description: "d", prompt: "CHILD look" })];
/** Sends the agent on once, and knows from its input that it has. */
const once = (field: string) =>
  `cat >> stops; echo >> stops; tail -n 1 stops | grep -q '"${field}":true' && exit 0; echo 'look once more' >&2; exit 2`;

describe("a stop hook that lets go when it has sent the agent on before", () => {
  test.each([
    ["agentStop", copilot({ agentStop: [{ bash: once("stop_hook_active") }] }), ".github/hooks/s.json"],
    ["Stop", { hooks: { Stop: [{ hooks: [{ command: once("stop_hook_active") }] }] } }, ".claude/settings.json"],
  ])("%s, of the main agent", async (_, hooks, file) => {
    await inSmallWorld([[say("one")], [say("two")]], async (world) => {
      put(world, file, hooks);
      await allow(world);
      await world.send(await world.create(discovering), "go");
      world.provider.assertSpent();
      expect(linesOf(join(world.folder, "stops"))).toHaveLength(2);
    });
  });

  test.each([
    ["subagentStop", copilot({ subagentStop: [{ bash: once("stop_hook_active") }] }), ".github/hooks/s.json"],
    [
      "SubagentStop",
      { hooks: { SubagentStop: [{ hooks: [{ command: once("stop_hook_active") }] }] } },
      ".claude/settings.json",
    ],
  ])("%s, of a sub-agent", async (_, hooks, file) => {
    await inSmallWorld([spawn, [say("found")], [say("found more")], [say("end")]], async (world) => {
      put(world, file, hooks);
      await allow(world);
      await world.send(await world.create(discovering), "go");
      world.provider.assertSpent();
      const stops = linesOf(join(world.folder, "stops")).map((line) => JSON.parse(line).stop_hook_active);
      expect(stops).toEqual([false, true]);
    });
  });
});
