/** Plugins of the home folder and of a session, through the official SDK. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, type Talk } from "../support/talk.ts";

/** A plugin with a command, a skill and a hook that leaves a mark before each call. */
async function bring(world: World, { name = "kit", version = "1.0.0" } = {}): Promise<string> {
  const folder = path.join(world.folders.temporary, "source of kit");
  await mkdir(path.join(folder, "skills/deploy"), { recursive: true });
  await mkdir(path.join(folder, "commands"), { recursive: true });
  const command = `cat > /dev/null; echo ${version} >> "$CLAUDE_PLUGIN_ROOT/../../marks"`;
  const hooks = { PreToolUse: [{ hooks: [{ type: "command", command }] }] };
  await writeFile(path.join(folder, "plugin.json"), JSON.stringify({ name, version, hooks }));
  await writeFile(path.join(folder, "skills/deploy/SKILL.md"), "---\nname: deploy\ndescription: d\n---\nDeploy.\n");
  await writeFile(path.join(folder, "commands/ship.md"), `Ship $ARGUMENTS with ${version}.\n`);
  return folder;
}

const marks = async ({ home }: World) =>
  existsSync(path.join(home, "marks")) ? (await readFile(path.join(home, "marks"), "utf8")).trim().split("\n") : [];
const open = (world: World) => openTalk(world, { enableConfigDiscovery: true, workingDirectory: world.folder });
const shown = async ({ session }: Talk) =>
  (await session.rpc.plugins.list()).plugins.map(({ name, version, enabled }) => [name, version, enabled]);

test.runIf(ours)("a plugin is installed, used, switched off and on, brought up to date and removed", async () => {
  await using world = await startClient();
  const { plugins } = world.client.rpc;
  const source = await bring(world);
  await using talk = await open(world);
  expect(await plugins.install({ source })).toMatchObject({
    plugin: { name: "kit", version: "1.0.0" },
    skillsInstalled: 1,
  });
  expect(await shown(talk)).toEqual([]);
  await talk.session.rpc.plugins.reload({});
  expect(await shown(talk)).toEqual([["kit", "1.0.0", true]]);
  talk.model.script(call("bash", { command: "true", description: "d" }), say("one"));
  expect(await talk.ask("go")).toBe("one");
  expect(await marks(world)).toEqual(["1.0.0"]);
  await plugins.disable({ names: ["kit", "nobody"] });
  await talk.session.rpc.plugins.reload({});
  expect(await shown(talk)).toEqual([["kit", "1.0.0", false]]);
  await bring(world, { version: "2.0.0" });
  expect(await plugins.update({ name: "kit" })).toEqual({
    previousVersion: "1.0.0",
    newVersion: "2.0.0",
    skillsInstalled: 1,
  });
  expect((await plugins.list()).plugins).toMatchObject([{ name: "kit", version: "2.0.0", enabled: false }]);
  await plugins.enable({ names: ["kit"] });
  await talk.session.rpc.plugins.reload({});
  talk.model.script(call("bash", { command: "true", description: "d" }), say("two"));
  expect(await talk.ask("go")).toBe("two");
  expect(await marks(world)).toEqual(["1.0.0", "2.0.0"]);
  await plugins.uninstall({ name: "kit" });
  await talk.session.rpc.plugins.reload({});
  expect(await shown(talk)).toEqual([]);
});

test.runIf(ours)("a plugin that cannot be brought up to date stays as it is, and each says why", async () => {
  await using world = await startClient();
  const { plugins } = world.client.rpc;
  const source = await bring(world);
  await plugins.install({ source });
  await expect(plugins.update({ name: "kid" })).rejects.toThrow("There is no plugin kid. There are: kit");
  await bring(world, { name: "other" });
  await expect(plugins.update({ name: "kit" })).rejects.toThrow("is the plugin other now, so kit stays as it is");
  await rm(source, { recursive: true });
  const error = expect.stringContaining(source);
  const { results } = await plugins.updateAll();
  expect(results).toEqual([{ name: "kit", marketplace: "", success: false, previousVersion: "1.0.0", error }]);
  expect((await plugins.list()).plugins).toMatchObject([{ name: "kit", version: "1.0.0" }]);
  await mkdir(path.join(world.home, "plugins/mine"), { recursive: true });
  await writeFile(path.join(world.home, "plugins/mine/plugin.json"), JSON.stringify({ name: "mine" }));
  await expect(plugins.update({ name: "mine" })).rejects.toThrow("was put there by hand");
});
