/** Hooks as people have written them for other programs, with the habits that these have taught them. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { parseHookFile } from "./hook-file.ts";
import { aCall, allow, bash, copilot, discovering, everything, linesOf, put, results } from "./test-hook-files.ts";

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

describe("a command with arguments is a program without a shell, as Claude Code has it", () => {
  const guard = (root: string) => ({
    PreToolUse: [
      {
        matcher: "Bash",
        hooks: [
          {
            type: "command",
            command: "node",
            args: [`\${${root}}/guard.mjs`, "not $HOME today", `\${HOME}`],
            timeout: 20,
          },
        ],
      },
    ],
  });
  /** Refuses with what it was given. */
  const script = "console.error(process.argv.slice(2).join('; ')); process.exit(2);\n";
  const refused = `not $HOME today; \${HOME}`;

  test("in a project, whose folder is put in", async () => {
    const files = { ".claude/settings.json": { hooks: guard("CLAUDE_PROJECT_DIR") }, "guard.mjs": script };
    await aCall(files, (world) => expect(results(world)[0]?.error?.message).toBe(refused));
  });

  test("in a plugin whose folder has a blank in its name", async () => {
    await inSmallWorld([[bash("echo done > ran")], [say("end")]], async (world) => {
      put(world, "my plugin/.claude-plugin/plugin.json", { name: "p" });
      put(world, "my plugin/hooks/hooks.json", { hooks: guard("CLAUDE_PLUGIN_ROOT") });
      put(world, "my plugin/guard.mjs", script);
      const pluginDirectories = [join(world.folder, "my plugin")];
      await world.send(await world.create({ pluginDirectories, enableFileHooks: true, ...everything }), "go");
      expect(results(world)[0]?.error?.message).toBe(refused);
    });
  });

  test("and is said to have no effect where a shell reads the line", () => {
    const hooks = { preToolUse: [{ bash: "./guard.sh", args: ["--strict"] }] };
    const { hooks: found, problems } = parseHookFile(JSON.stringify(copilot(hooks)), "g.json");
    expect(found).toMatchObject([{ run: { shell: "./guard.sh" } }]);
    expect(problems).toEqual([
      "g.json: entry 1 of preToolUse: the field args has no effect: it goes with exec or command",
    ]);
  });
});

test("files that an editor has begun with a byte order mark are read, a guard as well as the manifest of a plugin", async () => {
  const marked = (content: object) => `\uFEFF${JSON.stringify(content)}`;
  await inSmallWorld([[bash("echo done > ran")], [say("end")]], async (world) => {
    put(world, ".github/hooks/g.json", marked(copilot({ preToolUse: [{ bash: "echo no >&2; exit 2" }] })));
    put(world, "kit/plugin.json", marked({ name: "kit", version: "1.0.0" }));
    await allow(world);
    const pluginDirectories = [join(world.folder, "kit")];
    const sessionId = await world.create({ ...discovering, ...everything, pluginDirectories });
    await world.send(sessionId, "go");
    expect(results(world)[0]?.error?.message).toBe("no");
    const { plugins } = await world.client.call("session.plugins.list", { sessionId });
    expect(plugins).toMatchObject([{ name: "kit", version: "1.0.0" }]);
  });
});
