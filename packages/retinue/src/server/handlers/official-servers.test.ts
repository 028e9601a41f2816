/** The official servers, as they are published. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "./small-world.ts";

const require = createRequire(import.meta.url);
const entry = (name: string) =>
  require.resolve(`@modelcontextprotocol/${name}/package.json`).replace(/package\.json$/, "dist/index.js");
const everything = { command: process.execPath, args: [entry("server-everything")] };

interface Running extends AsyncDisposable {
  url: string;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** It says on stderr when it listens. */
async function serveEverything(kind: "streamableHttp" | "sse"): Promise<Running> {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [entry("server-everything"), kind], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  while (!/listening|running on port/i.test(said)) {
    if (!child.stderr) break;
    const [chunk] = await once(child.stderr, "data");
    said += String(chunk);
  }
  child.stderr?.resume();
  return {
    url: `http://127.0.0.1:${port}/${kind === "sse" ? "sse" : "mcp"}`,
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Calls of one turn end in any order. */
function results({ client }: SmallWorld): unknown[][] {
  return client
    .of("tool.execution_complete")
    .toSorted((one, other) => (one.toolCallId < other.toolCallId ? -1 : 1))
    .map(({ success, result, error }) => [success, result?.content ?? error?.message]);
}

const CALLS = [
  call("all-echo", { message: "hi" }),
  call("all-get-sum", { a: 2, b: 3 }),
  call("all-get-tiny-image"),
  call("all-get-structured-content", { location: "New York" }),
  call("all-get-resource-links", { count: 2 }),
  call("all-get-resource-reference", { resourceType: "Text", resourceId: 1 }),
  call("all-get-sum", { a: "not a number" }),
];

const ANSWERS = [
  [true, "Echo: hi"],
  [true, "The sum of 2 and 3 is 5."],
  [true, expect.stringContaining("[image: image/png]")],
  [true, expect.stringContaining('"temperature"')],
  [true, expect.stringMatching(/\]\(demo:\/\//)],
  [true, expect.stringContaining("Resource 1")],
  [false, expect.stringMatching(/^MCP server 'all': .*Invalid/s)],
];

describe.each([
  ["stdio", undefined],
  ["streamable HTTP", "streamableHttp" as const],
  ["server-sent events", "sse" as const],
])("the official everything server over %s", (_, kind) => {
  test("answers calls, is asked for resources, and its prompts are slash commands", async () => {
    await using server = kind === undefined ? undefined : await serveEverything(kind);
    const config = server ? ({ type: kind === "sse" ? "sse" : "http", url: server.url } as const) : everything;
    await inSmallWorld([CALLS, [say("done")]], async (world) => {
      const { client, create, send, provider } = world;
      const sessionId = await create({ mcpServers: { all: config } });
      await client.received("session.mcp_servers_loaded");
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await send(sessionId, "go");
      expect(results(world)).toEqual(ANSWERS);
      expect(provider.requests[0]?.system).toContain('The MCP server "all" says this about its tools.');
      const { resources } = await client.call("session.mcp.resources.list", { sessionId, serverName: "all" });
      expect(resources.length).toBeGreaterThan(0);
      const { commands } = await client.call("session.commands.list", { sessionId });
      const prompt = commands.find(({ name }) => name === "all:args-prompt");
      expect(prompt).toMatchObject({ kind: "skill", input: { hint: "<city> [state]" } });
      const invoke = (input: string) =>
        client.call("session.commands.invoke", { sessionId, name: "/all:args-prompt", input });
      expect(await invoke('"New York" state=NY')).toEqual({
        kind: "agent-prompt",
        prompt: "What's weather in New York, NY?",
        displayPrompt: '/all:args-prompt "New York" state=NY',
      });
      await expect(invoke("")).rejects.toThrow(
        "/all:args-prompt needs city. It is used like this: /all:args-prompt <city> [state]",
      );
    });
  });
});

describe("the official everything server", () => {
  /** It registers some of its tools only after it knows what we can do, and says so. */
  const opened = async ({ client, create }: SmallWorld, config: object = {}) => {
    const sessionId = await create({ mcpServers: { all: everything }, ...config });
    await client.received("mcp.tools.list_changed");
    return sessionId;
  };
  const sampling = call("all-trigger-sampling-request", { prompt: "say something", maxTokens: 50 });

  test("asks the session's model only after the user has agreed, and what it used is on the bill", async () => {
    await inSmallWorld([[sampling], [say("sampled words")], [say("done")]], async (world) => {
      const { client, send, provider } = world;
      const sessionId = await opened(world, { requestElicitation: true });
      const answered = client
        .until(({ type }) => type === "elicitation.requested")
        .then(async ({ data }) => {
          expect(data).toMatchObject({
            elicitationSource: "all",
            message: expect.stringContaining("context: say something"),
          });
          const result = { action: "accept" as const, content: { allow: "once" } };
          const requestId = String(data.requestId);
          await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
        });
      const permitted = client
        .until(({ type }) => type === "permission.requested")
        .then(async ({ data }) => {
          const requestId = String(data.requestId);
          await client.call("session.permissions.handlePendingPermissionRequest", {
            sessionId,
            requestId,
            result: { kind: "approve-once" },
          });
        });
      await send(sessionId, "go");
      await Promise.all([answered, permitted]);
      expect(results(world)).toEqual([[true, expect.stringContaining("sampled words")]]);
      expect(provider.requests[1]).toMatchObject({
        system: "You are a helpful test server.",
        maxOutputTokens: 50,
        tools: [],
      });
      expect(client.of("session.usage_checkpoint")).toMatchObject([{ sampled: { model: "scripted" } }]);
      expect(client.of("assistant.usage").map(({ initiator }) => initiator)).toEqual(["user", "mcp-sampling", "agent"]);
    });
  });

  test.each([
    ["the model", sampling],
    ["a form", call("all-trigger-elicitation-request")],
  ])("that asks for %s in a call which is aborted is not answered any more", async (_, asking) => {
    await inSmallWorld([[asking], [say("never asked")]], async (world) => {
      const { client, provider } = world;
      const sessionId = await opened(world, { requestElicitation: true });
      const approved = [{ kind: "mcp", argument: "all" }];
      await client.call("session.permissions.configure", { sessionId, rules: { approved, denied: [] } });
      await client.call("session.send", { sessionId, prompt: "go" });
      const requestId = (await client.received("elicitation.requested")).requestId;
      await client.call("session.abort", { sessionId });
      await client.received("session.idle");
      const result = { action: "accept" as const, content: { allow: "session" } };
      const late = await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      expect(late).toEqual({ success: false });
      expect(provider.requests).toHaveLength(1);
    });
  });

  test("is refused a model where nobody can be asked", async () => {
    await inSmallWorld([[sampling], [say("done")]], async (world) => {
      const { client, send, provider } = world;
      const sessionId = await opened(world);
      const permissions = { kind: "mcp", argument: "all" };
      await client.call("session.permissions.configure", { sessionId, rules: { approved: [permissions], denied: [] } });
      await send(sessionId, "go");
      expect(results(world)).toEqual([
        [false, expect.stringContaining("Sampling was refused: the user did not agree.")],
      ]);
      expect(provider.requests).toHaveLength(2);
    });
  });

  test("knows the folders of the session, and those that are added while it runs", async () => {
    const roots = call("all-get-roots-list");
    await inSmallWorld([[roots], [say("one")], [roots], [roots], [say("two")]], async (world) => {
      const { client, send, folder, home } = world;
      const sessionId = await opened(world);
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await send(sessionId, "first");
      const more = join(home, "more");
      mkdirSync(more);
      await client.call("session.commands.invoke", { sessionId, name: "add-dir", input: more });
      await send(sessionId, "second");
      const [first, , last] = results(world).map(([, text]) => String(text));
      expect(first).toContain(pathToFileURL(folder).href);
      expect(first).not.toContain(pathToFileURL(more).href);
      expect(first).toContain("(1 total)");
      expect(last).toContain(pathToFileURL(more).href); // It asks for them when it is told, and answers the call before.
    });
  });

  test("reports the progress of a long call", async () => {
    const long = call("all-trigger-long-running-operation", { duration: 1, steps: 2 });
    await inSmallWorld([[long], [say("done")]], async (world) => {
      const { client, send } = world;
      const sessionId = await opened(world);
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await send(sessionId, "go");
      const progress = client.of("tool.execution_progress").map(({ progressMessage }) => progressMessage);
      expect(progress).toEqual(["1/2 (50%)", "2/2 (100%)"]);
    });
  });
});

test("the official filesystem server reads in the folder that it was given, and says so when it may not", async () => {
  const turns = [
    [call("files-read_text_file", { path: "note.txt" }), call("files-read_text_file", { path: "/etc/hostname" })],
    [say("done")],
  ];
  await inSmallWorld(turns, async (world) => {
    const { client, create, send, folder } = world;
    writeFileSync(join(folder, "note.txt"), "the note");
    const files = { command: process.execPath, args: [entry("server-filesystem"), folder] };
    const sessionId = await create({ mcpServers: { files: { ...files, tools: ["read_text_file"] } } });
    await client.received("session.mcp_servers_loaded");
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await send(sessionId, "go");
    expect(results(world)).toEqual([
      [true, expect.stringContaining("the note")],
      [false, expect.stringContaining("Access denied")],
    ]);
  });
});
