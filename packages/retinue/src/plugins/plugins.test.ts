import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { promptOf } from "../skills/command-file.ts";
import { newStage } from "./cut-off-install.ts";
import { installPlugin, removePlugin } from "./install.ts";
import { installedPlugins } from "./installed.ts";
import { readPlugin } from "./manifest.ts";
import { readPluginSet } from "./plugin-set.ts";

const probe = fileURLToPath(new URL("../mcp/fixtures/probe-server.mjs", import.meta.url));

function place() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-plugins-")));
  return {
    root,
    home: join(root, "home"),
    put(name: string, content: string | object) {
      const file = join(root, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
      return file;
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}
type Place = ReturnType<typeof place>;

/** One of everything, as Claude Code has it. */
function bring(at: Pick<Place, "put" | "root">, folder = "tool-kit"): string {
  at.put(`${folder}/.claude-plugin/plugin.json`, { name: "tool-kit", version: "1.2.0", description: "d" });
  at.put(`${folder}/agents/reviewer.md`, "---\nname: reviewer\ndescription: reviews\n---\nYou REVIEW.\n");
  at.put(`${folder}/skills/deploy/SKILL.md`, "---\nname: deploy\ndescription: d\n---\nDeploy.\n");
  at.put(`${folder}/commands/ship.md`, "---\ndescription: ships\nargument-hint: [branch]\n---\nShip $ARGUMENTS now.\n");
  const command = 'cat > /dev/null; touch "$CLAUDE_PLUGIN_ROOT/hooked"';
  at.put(`${folder}/hooks/hooks.json`, { hooks: { SessionStart: [{ hooks: [{ type: "command", command }] }] } });
  at.put(`${folder}/server.mjs`, readFileSync(probe, "utf8"));
  at.put(`${folder}/.mcp.json`, {
    mcpServers: { kit: { command: process.execPath, args: [probe, `\${CLAUDE_PLUGIN_ROOT}/x`] } },
  });
  return join(at.root, folder);
}

test("a plugin of Claude Code is used as it is: agents, skills, commands, hooks and servers", async () => {
  using at = place();
  const root = bring(at);
  await inSmallWorld([[say("hello")]], async (world) => {
    const { client } = world;
    const sessionId = await world.create({ pluginDirectories: [root], enableFileHooks: true });
    const { agents } = await client.call("session.agent.list", { sessionId });
    expect(agents).toMatchObject([{ name: "reviewer", source: "plugin" }]);
    const { skills } = await client.call("session.skills.list", { sessionId });
    expect(skills).toMatchObject([{ name: "deploy", source: "plugin", pluginName: "tool-kit" }]);
    const { commands } = await client.call("session.commands.list", { sessionId });
    expect(commands).toContainEqual(
      expect.objectContaining({ name: "ship", aliases: ["tool-kit:ship"], description: "ships" }),
    );
    const shipped = await client.call("session.commands.invoke", { sessionId, name: "ship", input: "main" });
    expect(shipped).toMatchObject({ kind: "agent-prompt", prompt: "Ship main now." });
    await world.send(sessionId, "go");
    expect(existsSync(join(root, "hooked"))).toBe(true);
    await expect
      .poll(async () => (await client.call("session.mcp.list", { sessionId })).servers)
      .toMatchObject([
        { name: "kit", source: "plugin", sourcePlugin: "tool-kit", sourcePluginVersion: "1.2.0", status: "connected" },
      ]);
    const { plugins } = await client.call("session.plugins.list", { sessionId });
    expect(plugins).toEqual([{ name: "tool-kit", marketplace: "", version: "1.2.0", enabled: true }]);
  });
});

test("hooks of a plugin that a program names run without another option, unless it switches off the hooks of files", async () => {
  using at = place();
  const root = bring(at);
  at.put("work/.retinue/hooks.json", { hooks: { sessionStart: [{ bash: "touch ../project-hooked" }] } });
  await inSmallWorld([[say("one")], [say("two")]], async (world) => {
    const named = { pluginDirectories: [root], workingDirectory: join(at.root, "work") };
    await world.send(await world.create({ ...named, enableFileHooks: false }), "go");
    expect(existsSync(join(root, "hooked"))).toBe(false);
    await world.send(await world.create(named), "go");
    expect(existsSync(join(root, "hooked"))).toBe(true);
    expect(existsSync(join(at.root, "project-hooked"))).toBe(false);
  });
});

test("a folder of a plugin may be relative to where the session works, and one that is not there is a warning, not a plugin", async () => {
  using at = place();
  bring(at, "work/kit");
  await inSmallWorld([], async ({ client, create }) => {
    const workingDirectory = join(at.root, "work");
    const named = { pluginDirectories: ["./kit", "./kti"], workingDirectory };
    const sessionId = await create(named);
    const { plugins } = await client.call("session.plugins.list", { sessionId });
    expect(plugins.map(({ name }) => name)).toEqual(["tool-kit"]);
    const { message } = await client.received("session.warning");
    expect(message).toContain(`${join(workingDirectory, "kti")} is no folder`);
  });
});

test("an installed plugin counts where files are looked for, not elsewhere, and not while it is switched off", async () => {
  using at = place();
  const source = bring(at);
  await inSmallWorld([], async ({ client, create }) => {
    const { plugin } = await client.call("plugins.install", { source });
    expect(plugin).toMatchObject({ name: "tool-kit", version: "1.2.0", enabled: true });
    const agentsOf = async (config: object) => {
      const { agents } = await client.call("session.agent.list", { sessionId: await create(config) });
      return agents.map(({ name }) => name);
    };
    expect(await agentsOf({ enableConfigDiscovery: true })).toEqual(["reviewer"]);
    expect(await agentsOf({})).toEqual([]);
    await client.call("plugins.disable", { names: ["tool-kit"] });
    expect(await agentsOf({ enableConfigDiscovery: true })).toEqual([]);
    await client.call("plugins.enable", { names: ["tool-kit"] });
    const open = await create({ enableConfigDiscovery: true });
    await client.call("plugins.uninstall", { name: "tool-kit" });
    await client.call("session.plugins.reload", { sessionId: open });
    expect((await client.call("session.agent.list", { sessionId: open })).agents).toEqual([]);
    await expect(client.call("plugins.uninstall", { name: "tool-kid" })).rejects.toThrow("There is no plugin tool-kid");
  });
});

test("hooks.discover shows the hooks of plugins and projects, and which of them run", async () => {
  using at = place();
  const source = bring(at);
  at.put("project/.retinue/hooks.json", { version: 1, hooks: { agentStop: [{ bash: "true" }] } });
  await inSmallWorld([], async ({ client }) => {
    await client.call("plugins.install", { source });
    const { hooks } = await client.call("hooks.discover", { projectPaths: [join(at.root, "project")] });
    expect(hooks).toMatchObject([
      { hookType: "agentStop", origin: "repository", enabled: false },
      { hookType: "sessionStart", origin: "plugin", source: "tool-kit", enabled: true },
    ]);
  });
});

test("a command whose name is taken is called after its plugin", async () => {
  using at = place();
  at.put("kit/plugin.json", { name: "kit" });
  at.put("kit/commands/compact.md", "Do it.\n");
  await inSmallWorld([], async (world) => {
    const sessionId = await world.create({ pluginDirectories: [join(at.root, "kit")] });
    const { commands } = await world.client.call("session.commands.list", { sessionId });
    expect(commands.map(({ name }) => name)).toContain("kit:compact");
    const done = await world.client.call("session.commands.invoke", {
      sessionId,
      name: "kit:compact",
      input: "please",
    });
    expect(done).toMatchObject({ prompt: "Do it.\n\nplease" });
  });
});

test("what was typed is put in as it is, whatever it looks like", () => {
  const command = { name: "n", plugin: "p", description: "", text: "First $1, all $ARGUMENTS" };
  expect(promptOf(command, "$1 $& `x`")).toBe("First $1, all $1 $& `x`");
});

describe("a manifest", () => {
  test.each([
    ["a path that leads out", { name: "p", agents: "../other" }, "leads out of it"],
    ["an absolute path", { name: "p", hooks: "/etc/passwd" }, "leads out of it"],
    ["a server without a command", { name: "p", mcpServers: { s: {} } }, "neither a command nor a url"],
  ])("with %s loses that part, and says so", (_, manifest, words) => {
    using at = place();
    at.put("p/plugin.json", manifest);
    const { problems, agents, hooks } = readPlugin(join(at.root, "p"));
    expect(problems).toEqual([expect.stringContaining(words)]);
    expect([agents, hooks.files]).toEqual([[], []]);
  });

  test.each([
    ["no JSON", "{"],
    ["a name that is a path", JSON.stringify({ name: "../../x" })],
  ])("that has %s is refused, and the session goes on without the plugin", async (_, text) => {
    using at = place();
    at.put("p/plugin.json", text);
    expect(() => readPlugin(join(at.root, "p"))).toThrow("plugin.json");
    await inSmallWorld([], async (world) => {
      await world.create({ pluginDirectories: [join(at.root, "p")] });
      expect((await world.client.received("session.warning")).message).toContain("plugin.json");
    });
  });

  test("may name single files of agents, and a folder of skills or one skill", async () => {
    using at = place();
    at.put("p/plugin.json", { name: "p", agents: ["./x/one.md", "x/two.md"], skills: "./y/deploy" });
    at.put("p/x/one.md", "---\nname: one\n---\nP");
    at.put("p/x/two.md", "---\nname: two\n---\nP");
    at.put("p/x/three.md", "---\nname: three\n---\nP");
    at.put("p/y/deploy/SKILL.md", "---\ndescription: d\n---\nDeploy.");
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create({ pluginDirectories: [join(at.root, "p")] });
      const { agents } = await client.call("session.agent.list", { sessionId });
      expect(agents.map(({ name }) => name)).toEqual(["one", "two"]);
      expect((await client.call("session.skills.list", { sessionId })).skills).toMatchObject([{ name: "deploy" }]);
    });
  });

  test("may name its hooks itself", () => {
    using at = place();
    at.put("p/plugin.json", { name: "p", hooks: { Stop: [{ hooks: [{ command: "true" }] }] } });
    expect(readPlugin(join(at.root, "p")).hooks.inline).toContain("Stop");
  });
});

describe("a plugin is installed", () => {
  const tar = (at: Place, args: readonly string[]) => execFileSync("tar", args, { cwd: at.root });

  test("from a folder, and removed again", async () => {
    using at = place();
    const source = bring(at);
    symlinkSync("/etc/passwd", join(source, "link"));
    const done = await installPlugin("tool-kit", { home: at.home, cwd: at.root });
    expect(done).toMatchObject({ plugin: { name: "tool-kit" }, leftOut: 1 });
    expect(existsSync(join(at.home, "plugins/tool-kit/link"))).toBe(false);
    expect(installedPlugins(at.home).plugins).toMatchObject([{ name: "tool-kit", source, isEnabled: true }]);
    expect([removePlugin(at.home, "tool-kit"), removePlugin(at.home, "tool-kit")]).toEqual([true, false]);
    expect(installedPlugins(at.home).plugins).toEqual([]);
  });

  test("after an install was killed between two steps: the plugin from before is back, and what was fetched is gone", async () => {
    using at = place();
    bring(at);
    await installPlugin("tool-kit", { home: at.home, cwd: at.root });
    const folder = join(at.home, "plugins");
    const { pid = 0 } = spawnSync("true");
    const stage = join(folder, `.new-${pid}-1-abc`);
    mkdirSync(join(stage, "before"), { recursive: true });
    renameSync(join(folder, "tool-kit"), join(stage, "before/tool-kit"));
    const running = newStage(folder);
    expect(installedPlugins(at.home).plugins).toMatchObject([{ name: "tool-kit", version: "1.2.0" }]);
    expect(readdirSync(folder).sort()).toEqual([basename(running), "tool-kit"]);
  });

  test("from a tarball with a folder around it", async () => {
    using at = place();
    bring(at, "package");
    tar(at, ["czf", "kit.tgz", "package"]);
    const done = await installPlugin("kit.tgz", { home: at.home, cwd: at.root });
    expect(done?.plugin).toMatchObject({ name: "tool-kit", version: "1.2.0" });
  });

  test("from a git repository, without running its hooks", async () => {
    using at = place();
    const source = bring(at);
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@x", ...args], { cwd: source });
    git("init", "-q");
    git("add", "-A");
    git("commit", "-qm", "m");
    const done = await installPlugin(`file://${source}`, { home: at.home, cwd: at.root });
    expect(done?.plugin.name).toBe("tool-kit");
    expect(existsSync(join(at.home, "plugins/tool-kit/.git"))).toBe(false);
  });

  test("from a package of npm, without running its scripts", async () => {
    using at = place();
    bring(at, "package");
    const scripts = { preinstall: "touch ran", install: "touch ran", prepare: "touch ran", prepack: "touch ran" };
    at.put("package/package.json", { name: "kit", version: "1.2.0", scripts });
    tar(at, ["czf", "kit.tgz", "package"]);
    await using registry = await startRegistry(readFileSync(join(at.root, "kit.tgz")));
    process.env.npm_config_registry = registry.address;
    try {
      const done = await installPlugin("npm:kit", { home: at.home, cwd: at.root });
      expect(done?.plugin.name).toBe("tool-kit");
      expect(existsSync(join(at.home, "plugins/tool-kit/ran"))).toBe(false);
    } finally {
      delete process.env.npm_config_registry;
    }
  });

  test("only if whoever was shown it agrees; then nothing is left behind", async () => {
    using at = place();
    bring(at);
    const options = { home: at.home, cwd: at.root, confirm: async () => false };
    expect(await installPlugin("tool-kit", options)).toBeUndefined();
    expect(installedPlugins(at.home).plugins).toEqual([]);
    expect(existsSync(join(at.home, "plugins/tool-kit"))).toBe(false);
  });

  test.each([
    ["a folder without a manifest", "nothing", "it has no plugin.json"],
    ["a tarball that is not there", "./gone.tgz", "there is no"],
    ["an option in disguise", "--upload-pack=x", "is not a folder"],
    ["an option behind the name of npm", "npm:--dry-run", "is not a folder"],
    ["a folder behind the name of npm", "npm:..", "is not a folder"],
    ["an option behind the name of git", "git+--upload-pack=touch x", "could not fetch it"],
    ["words", "no such thing", "is not a folder"],
  ])("never from %s", async (_, source, words) => {
    using at = place();
    at.put("nothing/agents/a.md", "x");
    await expect(installPlugin(source, { home: at.home, cwd: at.root })).rejects.toThrow(words);
    expect(installedPlugins(at.home).plugins).toEqual([]);
  });
});

test.each(["ext::sh -c touch% ran", "odd::ran"])("no program runs for the address %s", async (address) => {
  using at = place();
  chmodSync(at.put("bin/git-remote-odd", `#!/bin/sh\ntouch "${at.root}/ran"\n`), 0o755);
  const { PATH } = process.env;
  process.env.PATH = `${join(at.root, "bin")}:${PATH}`;
  try {
    await expect(installPlugin(`git+${address}`, { home: at.home, cwd: at.root })).rejects.toThrow("not allowed");
  } finally {
    process.env.PATH = PATH;
  }
  expect(existsSync(join(at.root, "ran"))).toBe(false);
});

describe("of several plugins", () => {
  const agent = (words: string) => `---\nname: reviewer\ndescription: ${words}\n---\nP`;
  const skill = (words: string) => `---\nname: deploy\ndescription: ${words}\n---\nP`;
  function bringBoth(at: Place, folder: string, name: string): string {
    at.put(`${folder}/plugin.json`, { name });
    at.put(`${folder}/agents/r.md`, agent(`of ${folder}`));
    at.put(`${folder}/skills/d/SKILL.md`, skill(`of ${folder}`));
    return join(at.root, folder);
  }

  test("the one that the host names is the strongest, for agents as for skills", async () => {
    using at = place();
    const [first, second, third] = ["one", "two", "three"].map((name) => bringBoth(at, name, name));
    await inSmallWorld([], async ({ client, create }) => {
      await client.call("plugins.install", { source: third ?? "" });
      const pluginDirectories = [first ?? "", second ?? ""];
      const sessionId = await create({ pluginDirectories, enableConfigDiscovery: true });
      const { agents } = await client.call("session.agent.list", { sessionId });
      expect(agents.map(({ description }) => description)).toEqual(["of one"]);
      const { skills } = await client.call("session.skills.list", { sessionId });
      expect(skills.map(({ description }) => description)).toEqual(["of one"]);
    });
  });

  test("that have one name only the first counts, and that is said", () => {
    using at = place();
    const directories = [bringBoth(at, "a", "kit"), bringBoth(at, "b", "kit")];
    const { plugins, problems } = readPluginSet({ home: at.home, directories, isDiscovering: false });
    expect(plugins.map(({ root }) => root)).toEqual([directories[0]]);
    expect(problems).toEqual([expect.stringContaining(`${directories[0]} is a plugin kit too`)]);
  });

  test("one that is a link in the home folder does not count, and that is said; removing another leaves it alone", () => {
    using at = place();
    const own = bringBoth(at, "mine", "mine");
    mkdirSync(join(at.home, "plugins"), { recursive: true });
    symlinkSync(own, join(at.home, "plugins/mine"));
    const { plugins, problems } = installedPlugins(at.home);
    expect(plugins).toEqual([]);
    expect(problems).toEqual([expect.stringContaining("plugins/mine is a link, so it does not count")]);
    expect(removePlugin(at.home, "mine")).toBe(false);
    expect(existsSync(join(own, "plugin.json"))).toBe(true);
  });
});

test("a folder of commands that leads out of the plugin is a problem, and the session opens", async () => {
  using at = place();
  at.put("p/plugin.json", { name: "p" });
  symlinkSync("/etc", join(at.root, "p/commands"));
  await inSmallWorld([], async (world) => {
    await world.create({ pluginDirectories: [join(at.root, "p")] });
    const { message } = await world.client.received("session.warning");
    expect(message).toContain("p/commands was not read: it is a link that leads out");
  });
});

test("a plugin may be a folder of skills itself", () => {
  using at = place();
  at.put("p/plugin.json", { name: "p", skills: "./" });
  const { skills, problems } = readPlugin(join(at.root, "p"));
  expect([skills, problems]).toEqual([[join(at.root, "p")], []]);
});

/** A registry with one package. */
async function startRegistry(tarball: Buffer) {
  const server = createServer(({ url }, response) => {
    if (url?.endsWith(".tgz")) return response.end(tarball);
    const dist = { tarball: `${address()}/kit.tgz`, shasum: createHash("sha1").update(tarball).digest("hex") };
    const versions = { "1.2.0": { name: "kit", version: "1.2.0", dist } };
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ name: "kit", "dist-tags": { latest: "1.2.0" }, versions }));
  });
  const address = () => {
    const bound = server.address();
    return `http://127.0.0.1:${typeof bound === "object" ? bound?.port : 0}`;
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: address(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
