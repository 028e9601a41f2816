/** Projects that were written for other programs are loaded and run as they are. Only their MCP servers are put beside them: they are programs of ours. */
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FolderTrust } from "../../packages/retinue/src/project/trust.ts";
import {
  call,
  type InMemory,
  type Provider,
  say,
  scripted,
  startInMemory,
} from "../../packages/retinue/src/testing.ts";
import { consentTo, surveyProject } from "../../packages/retinue/src/workspace/survey.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const probe = new URL("../../packages/retinue/src/mcp/fixtures/probe-server.mjs", import.meta.url).href;

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-samples-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function copyOf(name: string, servers: readonly string[]): string {
  const folder = join(root, name);
  cpSync(join(here, name), folder, { recursive: true });
  for (const server of servers) writeFileSync(join(folder, server), `import ${JSON.stringify(probe)};\n`);
  return folder;
}

/** As a person does who has looked at what `retinue trust add` shows. */
async function open(provider: Provider, folder: string, plugin: string) {
  const app = await startInMemory({ provider });
  const documents = app.runtime.sessions.store.documents;
  const trust = new FolderTrust({ documents, warn: () => undefined });
  await trust.trust(folder, consentTo(surveyProject({ folder, root: folder }, join(root, "home"))));
  const warnings: string[] = [];
  const session = await app.client.createSession({
    workingDirectory: folder,
    enableConfigDiscovery: true,
    pluginDirectories: [join(folder, "plugins", plugin)],
    onPermissionRequest: () => ({ kind: "approve-once" }),
    onEvent: (event) => {
      if (event.type === "session.warning") warnings.push(event.data.message);
    },
  });
  return { app, session, warnings };
}

async function namesOf({ session }: { session: Awaited<ReturnType<InMemory["client"]["createSession"]>> }) {
  const { agents } = await session.rpc.agent.list({});
  const { skills } = await session.rpc.skills.list({});
  const { commands } = await session.rpc.commands.list({ includeBuiltins: false });
  return {
    agents: agents.map(({ name }) => name).sort(),
    skills: skills.map(({ name }) => name).sort(),
    commands: commands.map(({ name }) => name).sort(),
  };
}

const bash = (command: string) => call("bash", { command, description: "d" });
const sentTo = (provider: { requests: readonly { messages: unknown; system?: unknown }[] }) =>
  provider.requests.map((request) => JSON.stringify(request));

test("a project of Claude Code: agents, skills, hooks, instructions, servers and a plugin", async () => {
  const folder = copyOf("claude-code", ["harbour.mjs"]);
  const provider = scripted([
    [bash("echo sink the boat > sunk")],
    [call("create", { path: join(folder, "hull.txt"), file_text: "one sheet" })],
    [call("task", { name: "r", agent_type: "rigger", description: "d", prompt: "set the sails" })],
    [say("sails are set")],
    [say("done")],
  ]);
  const opened = await open(provider, folder, "lighthouse");
  await using _ = opened.app;
  expect(await namesOf(opened)).toEqual({
    agents: ["keeper", "rigger"],
    skills: ["folding", "signals"],
    commands: ["flash", "folding", "signals"],
  });
  await expect
    .poll(async () => (await opened.session.rpc.mcp.list()).servers.map(({ name, status }) => [name, status]))
    .toEqual([["harbour", "connected"]]);
  await opened.session.sendAndWait("rig a boat");
  const requests = sentTo(provider);
  expect(requests[0]).toContain("The tide is high.");
  expect(requests[0]).toContain("Numbers are in fathoms.");
  expect(requests[1]).toContain("Boats are not sunk here.");
  expect(existsSync(join(folder, "sunk"))).toBe(false);
  expect(readFileSync(join(folder, "written.txt"), "utf8").trim()).toBe(join(folder, "hull.txt"));
  expect(requests[3]).toContain("Use the red thread.");
  expect(requests[3]).toContain("You rig paper boats.");
  expect(JSON.parse(readFileSync(join(folder, "log-book.jsonl"), "utf8").split("\n")[0] ?? "")).toMatchObject({
    hook_event_name: "UserPromptSubmit",
    prompt: "rig a boat",
  });
  expect(opened.warnings).toEqual([]);
});

test("a project of Copilot: agents, skills, hooks, instructions and a plugin with its server", async () => {
  const folder = copyOf("copilot", ["plugins/sky-tools/barometer.mjs"]);
  const provider = scripted([
    [bash("cut the string > loose")],
    [bash("echo seven bows")],
    [call("task", { name: "t", agent_type: "tailor", description: "d", prompt: "sew a tail" })],
    [say("sewn")],
    [say("done")],
  ]);
  const opened = await open(provider, folder, "sky-tools");
  await using _ = opened.app;
  expect(await namesOf(opened)).toEqual({
    agents: ["tailor", "watcher"],
    skills: ["clouds", "knots", "stars"],
    commands: ["clouds", "knots", "stars"],
  });
  await expect
    .poll(async () => (await opened.session.rpc.mcp.list()).servers.map(({ name, status }) => [name, status]))
    .toEqual([["barometer", "connected"]]);
  await opened.session.sendAndWait("build a kite");
  const requests = sentTo(provider);
  expect(requests[0]).toContain("The wind is north.");
  expect(requests[0]).toContain("Every kite has a tail of seven bows.");
  expect(requests[0]).toContain("**/*.{plan,sketch}");
  expect(requests[1]).toContain("Strings are not cut.");
  expect(existsSync(join(folder, "loose"))).toBe(false);
  expect(readFileSync(join(folder, "calls.jsonl"), "utf8")).toContain('"toolName":"bash"');
  expect(requests[3]).toContain("Use blue silk.");
  expect(requests[3]).toContain("You sew tails.");
  expect(readFileSync(join(folder, "looked-up.txt"), "utf8")).toBe("looked\n");
  expect(opened.warnings).toEqual([]);
});
