/** What a host brings along besides tools: MCP servers, skills and slash commands. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, calls, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
let skills: string;
beforeAll(async () => {
  world = await startClient();
  skills = path.join(world.folder, "skills");
  await mkdir(path.join(skills, "baking"), { recursive: true });
  const skill = "---\nname: baking\ndescription: Bakes bread\n---\nUse strong flour.\n";
  await writeFile(path.join(skills, "baking", "SKILL.md"), skill);
});
afterAll(() => world[Symbol.asyncDispose]());

const server = fileURLToPath(new URL("../support/mcp-server.mjs", import.meta.url));
const small = { type: "local" as const, command: process.execPath, args: [server], tools: ["*"] };

test("the tools of an MCP server are offered under its name and run", async () => {
  await using talk = await openTalk(world, { mcpServers: { small } });
  talk.model.script(call("small-add", { a: 2, b: 3 }), say("five"));
  expect(await talk.ask("add")).toBe("five");
  const names = talk.model.lastRequest.toolNames;
  expect(names).toEqual(expect.arrayContaining(["small-add", "small-shout", "small-fail", "small-meta"]));
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("5");
  expect(talk.record.one("tool.execution_start").data).toMatchObject({ mcpServerName: "small", mcpToolName: "add" });
});

test("a program that waits for its server to be connected, and prompts only then, need not prompt to get there", async () => {
  await using talk = await openTalk(world, { mcpServers: { small } });
  await expect.poll(async () => (await talk.session.rpc.mcp.list()).servers[0]?.status).toBe("connected");
  expect((await talk.session.rpc.mcp.listTools({ serverName: "small" })).tools.map(({ name }) => name)).toContain(
    "add",
  );
});

const BOTH = calls([
  { name: "small-add", args: { a: 1, b: 1 } },
  { name: "small-shout", args: { text: "hey" } },
]);

/** What a session with this server asks for when both tools are called. */
async function askedOf(server: typeof small & { trustReadOnlyHint?: boolean }, denied: object[] = []) {
  const asked: unknown[] = [];
  await using talk = await openTalk(world, {
    mcpServers: { small: server },
    onPermissionRequest: (request) => {
      asked.push(request);
      return { kind: "approve-once" };
    },
  });
  await talk.session.rpc.permissions.configure({ rules: { approved: [], denied: denied as never } });
  talk.model.script(BOTH, say("done"));
  await talk.ask("both");
  return { asked, texts: talk.model.lastRequest.texts("tool") };
}

test("an MCP tool is asked for, and one that only reads in the words of its server says so", async () => {
  const { asked, texts } = await askedOf(small);
  expect(texts.join("\n")).toContain("HEY!");
  const shout = { kind: "mcp", serverName: "small", args: { text: "hey" }, readOnly: false };
  if (!ours) return expect(asked).toMatchObject([shout]);
  expect(asked).toHaveLength(2);
  expect(asked).toEqual(
    expect.arrayContaining([
      expect.objectContaining(shout),
      expect.objectContaining({ kind: "mcp", toolName: "small-add", readOnly: true }),
    ]),
  );
});

test.runIf(ours)("a server that is configured to be believed is, as far as no rule denies it", async () => {
  const believed = { ...small, trustReadOnlyHint: true };
  expect((await askedOf(believed)).asked).toMatchObject([{ toolName: "small-shout" }]);
  const { asked, texts } = await askedOf(believed, [{ kind: "small", argument: "add" }]);
  expect(asked).toMatchObject([{ toolName: "small-shout" }]);
  expect(texts.join("\n")).toContain("denied by the deny rule small(add)");
});

test("an MCP tool that fails tells the model what its server said", async () => {
  await using talk = await openTalk(world, { mcpServers: { small } });
  talk.model.script(call("small-fail", {}), say("went on"));
  expect(await talk.ask("fail")).toBe("went on");
  const { success, error } = talk.record.one("tool.execution_complete").data;
  expect(success).toBe(false);
  expect(error?.message).toContain("MCP server 'small': it does not work");
});

test("only the named tools of a server are offered, and filters may name them", async () => {
  await using some = await openTalk(world, { mcpServers: { small: { ...small, tools: ["add"] } } });
  await using none = await openTalk(world, { mcpServers: { small }, excludedTools: ["mcp:*"] });
  await Promise.all([some.ask("hi"), none.ask("hi")]);
  const mcp = (names: string[]) => names.filter((name) => name.startsWith("small-"));
  expect(mcp(some.model.lastRequest.toolNames)).toEqual(["small-add"]);
  expect(mcp(none.model.lastRequest.toolNames)).toEqual([]);
});

test("preMcpToolCall is told server, tool and arguments, and may set the metadata of the call", async () => {
  const seen: unknown[] = [];
  await using talk = await openTalk(world, {
    mcpServers: { small },
    hooks: {
      onPreMcpToolCall: ({ serverName, toolName, arguments: args }) => {
        seen.push({ serverName, toolName, args });
        return { metaToUse: { trace: "t-1" } };
      },
    },
  });
  talk.model.script(call("small-meta", { text: "x" }), say("done"));
  await talk.ask("go");
  expect(seen).toEqual([{ serverName: "small", toolName: "meta", args: { text: "x" } }]);
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("t-1");
});

test("a server that cannot start is reported and does not stop the prompt", async () => {
  const broken = { ...small, command: "/no/such/program", args: [] };
  await using talk = await openTalk(world, { mcpServers: { broken } });
  expect(await talk.ask("hi")).toBe("ok");
  const failed = await talk.record.until("session.mcp_server_status_changed", {
    passes: ({ data }) => data.status === "failed",
  });
  expect(failed.data.serverName).toBe("broken");
  const { servers } = await talk.session.rpc.mcp.list();
  expect(servers).toMatchObject([{ name: "broken", status: "failed" }]);
});

test("a skill is listed and its text reaches the model when it is used", async () => {
  await using talk = await openTalk(world, { skillDirectories: [skills] });
  talk.model.script(call("skill", { skill: "baking" }), say("baked"));
  expect(await talk.ask("bake")).toBe("baked");
  expect(talk.record.one("skill.invoked").data).toMatchObject({
    name: "baking",
    content: expect.stringContaining("flour"),
  });
  expect(talk.model.lastRequest.texts("user").at(-1)).toMatch(/<skill-context name="baking"[\s\S]*Use strong flour\./);
  const listed = (await talk.session.rpc.skills.list()).skills.find(({ name }) => name === "baking");
  expect(listed).toMatchObject({ description: "Bakes bread", enabled: true });
});

test("a skill that does not exist is an error that the model reads", async () => {
  await using talk = await openTalk(world, { skillDirectories: [skills] });
  talk.model.script(call("skill", { skill: "flying" }), say("went on"));
  expect(await talk.ask("fly")).toBe("went on");
  expect(talk.record.one("tool.execution_complete").data.error?.message).toContain("Skill not found: flying");
  if (ours) expect(talk.model.lastRequest.texts("tool")[0]).toContain("Skills that can be loaded: baking.");
});

test.runIf(ours)("a built-in sub-agent is not offered the skills of the session", async () => {
  await using talk = await openTalk(world, { skillDirectories: [skills] });
  const task = {
    name: "helper",
    agent_type: "general-purpose",
    description: "Help",
    prompt: "CHILD do it",
    mode: "sync",
  };
  talk.model.script(call("task", task), say("done"), say("thanks"));
  await talk.ask("delegate");
  const [main, child] = talk.model.requests;
  expect(JSON.stringify(main?.body.tools)).toContain("baking: Bakes bread");
  expect(child?.texts("user")[0]).toContain("CHILD do it");
  expect(child?.toolNames).not.toContain("skill");
  expect(JSON.stringify(child?.body)).not.toContain("baking");
});

test.runIf(ours)(
  "an agent that names an unknown skill does not start, and the model reads which ones there are",
  async () => {
    const baker = { name: "baker", prompt: "You bake.", skills: ["frying"] };
    await using talk = await openTalk(world, { skillDirectories: [skills], customAgents: [baker] });
    const task = { name: "helper", agent_type: "baker", description: "Help", prompt: "bake", mode: "sync" };
    talk.model.script(call("task", task), say("thanks"));
    expect(await talk.ask("delegate")).toBe("thanks");
    expect(talk.model.lastRequest.texts("tool")[0]).toContain("Skill not found: frying. Valid skills are: baking");
    expect(talk.record.one("subagent.failed").data.error).toContain("Valid skills are: baking");
  },
);

test("a slash command of the host runs its handler, and an error comes back", async () => {
  const ran: string[] = [];
  const deploy = {
    name: "deploy",
    description: "Deploys",
    handler: ({ commandName, args }: { commandName: string; args: string }) => {
      ran.push(`${commandName} ${args}`);
      if (args === "fail") throw new Error("the pipe is broken");
    },
  };
  await using talk = await openTalk(world, { commands: [deploy] });
  const { commands } = talk.session.rpc;
  expect((await commands.list({})).commands.find(({ name }) => name === "deploy")).toMatchObject({ kind: "client" });
  expect(await commands.invoke({ name: "deploy", input: "staging" })).toMatchObject({ kind: "completed" });
  expect(await commands.execute({ commandName: "deploy", args: "fail" })).toMatchObject({
    error: "the pipe is broken",
  });
  expect(ran).toEqual(["deploy staging", "deploy fail"]);
  await expect(commands.invoke({ name: "nope" })).rejects.toThrow(/Unknown slash command: \/nope/);
});
