/** Servers that behave badly: each is named with what is wrong, and none keeps the session from its work. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "./small-world.ts";

const HOSTILE = fileURLToPath(new URL("../../mcp/fixtures/hostile-server.mjs", import.meta.url));
const hostile = (how: string, ...tools: string[]) => ({
  command: process.execPath,
  args: [HOSTILE, how, ...tools],
});

async function opened({ client, create }: SmallWorld, mcpServers: Record<string, ReturnType<typeof hostile>>) {
  const sessionId = await create({ mcpServers });
  await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
  const { servers } = await client.received("session.mcp_servers_loaded");
  return { sessionId, states: servers.map(({ name, status }) => [name, status]) };
}

const contents = ({ client }: SmallWorld) => client.of("tool.execution_complete").map(({ result }) => result?.content);
const offered = ({ provider }: SmallWorld) => provider.requests[0]?.tools.map(({ name }) => name) ?? [];

test("a server that floods stderr and prints what is no message works all the same", async () => {
  await inSmallWorld([[call("loud-echo")], [say("done")]], async (world) => {
    const { sessionId, states } = await opened(world, { loud: hostile("flood") });
    expect(states).toEqual([["loud", "connected"]]);
    await world.send(sessionId, "go");
    expect(contents(world)).toEqual(["echo of flood"]);
  });
});

test("a server whose line or list never ends has failed, and another one beside it works", async () => {
  await inSmallWorld([[call("plain-echo")], [say("done")]], async (world) => {
    const servers = { endless: hostile("endless"), pages: hostile("pages"), plain: hostile("plain") };
    const { sessionId, states } = await opened(world, servers);
    expect(states).toEqual([
      ["endless", "failed"],
      ["pages", "failed"],
      ["plain", "connected"],
    ]);
    await world.send(sessionId, "go");
    expect(contents(world)).toEqual(["echo of plain"]);
  });
});

test("of 2,000 tools the first 200 are offered, one line says so once, and a filter brings any other", async () => {
  await inSmallWorld([[call("few-tool-1999")], [say("done")], [say("again")]], async (world) => {
    const servers = { few: { ...hostile("many"), tools: ["tool-1999"] }, many: hostile("many", "x") };
    const { sessionId } = await opened(world, servers);
    await world.send(sessionId, "go");
    await world.send(sessionId, "and again");
    expect(offered(world).filter((name) => name.startsWith("many-"))).toHaveLength(200);
    expect(offered(world).filter((name) => name.startsWith("few-"))).toEqual(["few-tool-1999"]);
    expect(contents(world)).toEqual(["tool-1999 of many"]);
    expect(world.client.of("session.warning").map(({ message }) => message)).toEqual([
      "The MCP server many lists 2000 tools, and only the first 200 are offered. Name those that you need in tools of its configuration.",
    ]);
  });
});

test("two servers with one tool name are both offered, also where their prefixes make the names the same", async () => {
  const servers = {
    a: hostile("plain", "search", "b-find"),
    "a-b": hostile("twice", "find"),
    c: hostile("plain", "search"),
  };
  const hashed = expect.stringMatching(/^a-b-find_[0-9a-f]{8}$/);
  await inSmallWorld(
    [
      ({ tools }) => tools.filter(({ name }) => /^(a|c)-(search|b-find)/.test(name)).map(({ name }) => call(name)),
      [say("done")],
    ],
    async (world) => {
      const { sessionId } = await opened(world, servers);
      await world.send(sessionId, "go");
      expect(offered(world).filter((name) => /^[ac]-/.test(name))).toEqual([
        "a-search",
        "a-b-find",
        hashed,
        "c-search",
      ]);
      expect(contents(world).toSorted()).toEqual([
        "b-find of plain",
        "find of twice",
        "search of plain",
        "search of plain",
      ]);
    },
  );
});

test("an address that takes the connection and never answers has failed when its time is up", async () => {
  const http = createServer(() => undefined).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  try {
    await inSmallWorld([], async ({ client, create }) => {
      const { port } = http.address() as AddressInfo;
      await create({ mcpServers: { mute: { type: "http", url: `http://127.0.0.1:${port}/`, startTimeout: 1000 } } });
      expect(await client.received("session.mcp_servers_loaded")).toMatchObject({
        servers: [{ status: "failed", error: "it did not start within 1000 ms" }],
      });
    });
  } finally {
    http.closeAllConnections();
    http.close();
  }
});

test("a server that reads its input no more is noticed in the call, and is there for the next", async () => {
  await inSmallWorld([[call("deaf-echo")], [say("done")]], async (world) => {
    const { sessionId } = await opened(world, { deaf: hostile("deaf") });
    await world.send(sessionId, "go");
    expect(world.client.of("tool.execution_complete")[0]?.error?.message).toContain(
      "the server went away during the call",
    );
  });
});

test("an answer of 20 MB fails its call in words", async () => {
  await inSmallWorld([[call("huge-echo")], [say("done")]], async (world) => {
    const { sessionId } = await opened(world, { huge: hostile("huge") });
    await world.send(sessionId, "go");
    expect(world.client.of("tool.execution_complete")[0]?.error?.message).toContain("maximum");
  });
});

test("a server cannot give two of its tools one name, whatever it calls them", async () => {
  const hashed = createHash("sha256").update("s\0x y").digest("hex").slice(0, 8);
  await inSmallWorld([[say("done")]], async (world) => {
    const { sessionId } = await opened(world, { s: hostile("plain", "x_y", `x_y_${hashed}`, "x y") });
    await world.send(sessionId, "go");
    const names = offered(world).filter((name) => name.startsWith("s-"));
    expect(names).toHaveLength(3);
    expect(new Set(names).size).toBe(3);
  });
});

test("a server that asks for more than a person can read gets an error for the rest", async () => {
  await inSmallWorld([[call("curious-echo")], [say("done")]], async (world) => {
    const { client, create } = world;
    const sessionId = await create({ mcpServers: { curious: hostile("curious") }, requestElicitation: true });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await client.received("session.mcp_servers_loaded");
    await client.call("session.send", { sessionId, prompt: "go" });
    // An answer makes room for another question, so those that get none must have had their error before.
    await expect
      .poll(() => client.of("tool.execution_progress").map(({ progressMessage }) => progressMessage))
      .toContain("34: 34 answers");
    for (const { requestId } of client.of("elicitation.requested"))
      await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result: { action: "decline" } });
    await client.received("session.idle");
    expect(client.of("elicitation.requested")).toHaveLength(16);
    const answers = String(contents(world)[0]).split(",");
    expect(answers.filter((each) => each === "decline")).toHaveLength(16);
    expect(answers.filter((each) => each.includes("too many questions at once"))).toHaveLength(34);
  });
});

test("an agent whose own server has the name of one of the session's is offered each tool once, and its own", async () => {
  const asks = call("task", { agent_type: "own", prompt: "look", description: "d", name: "n" });
  await inSmallWorld([[asks], [call("s-one")], [say("seen")], [say("done")]], async (world) => {
    const { client, create, send, provider } = world;
    const own = { name: "own", prompt: "p", description: "d", mcpServers: { s: hostile("twice", "one", "two") } };
    const sessionId = await create({ mcpServers: { s: hostile("plain", "one") }, customAgents: [own] });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await client.received("session.mcp_servers_loaded");
    await send(sessionId, "go");
    const names = provider.requests[1]?.tools.map(({ name }) => name).filter((name) => name.startsWith("s-"));
    expect(names).toEqual(["s-one", "s-two"]);
    expect(contents(world)).toContain("one of twice");
  });
});

test.each([
  ["one answer", "application/json", "the server sent a message of more than 10485760 bytes"],
  ["a stream", "text/event-stream", "the connection was cut before the answer was complete"],
])("an answer of 11 MB over HTTP, as %s, fails its call in words", async (_, type, words) => {
  const replies: Record<string, object> = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "x".repeat(11 * 1024 * 1024) }] },
  };
  const http = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { id, method } = JSON.parse(body || "{}");
    if (id === undefined) return response.writeHead(body ? 202 : 405).end();
    const missing = { error: { code: -32601, message: "no such method" } };
    const answer = { jsonrpc: "2.0", id, ...(replies[method] ? { result: replies[method] } : missing) };
    const isStream = method === "tools/call" && type === "text/event-stream";
    response.setHeader("content-type", isStream ? type : "application/json");
    response.end(isStream ? `data: {}\n\ndata: ${JSON.stringify(answer)}\n\n` : JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  try {
    await inSmallWorld([[call("web-echo")], [say("done")]], async (world) => {
      const { port } = http.address() as AddressInfo;
      const web = { type: "http" as const, url: `http://127.0.0.1:${port}/`, timeout: 2000 };
      const sessionId = await world.create({ mcpServers: { web } });
      await world.client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await world.client.received("session.mcp_servers_loaded");
      await world.send(sessionId, "go");
      expect(world.client.of("tool.execution_complete")[0]?.error?.message).toContain(words);
    });
  } finally {
    http.closeAllConnections();
    http.close();
  }
});

test("a server that closes its output and lives on is noticed in the call, and is there for the next", async () => {
  await inSmallWorld([[call("mute-echo")], [say("hm")], [call("mute-echo")], [say("done")]], async (world) => {
    const { sessionId } = await opened(world, { mute: hostile("mute") });
    await world.send(sessionId, "go");
    await world.send(sessionId, "and again");
    const gone = expect.stringContaining("it closed its output");
    expect(world.client.of("tool.execution_complete").map(({ error }) => error?.message)).toEqual([gone, gone]);
  });
});

test("a server that never lists its prompts is there with its tools", async () => {
  await inSmallWorld([[call("silent-echo")], [say("done")]], async (world) => {
    const { sessionId, states } = await opened(world, { silent: hostile("silent") });
    expect(states).toEqual([["silent", "connected"]]);
    await world.send(sessionId, "go");
    expect(contents(world)).toEqual(["echo of silent"]);
  });
});

test("a list of tools that is none fails with one line that says where, and so does a folder that does not exist", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const lost = { ...hostile("plain"), cwd: "/no/such/folder" };
    await create({ mcpServers: { shapeless: hostile("shapeless"), lost } });
    const { servers } = await client.received("session.mcp_servers_loaded");
    expect(servers.toSorted((a, b) => a.name.localeCompare(b.name)).map(({ error }) => error)).toEqual([
      `failed to start ${process.execPath}: there is no folder /no/such/folder`,
      "its answer to tools/list is not valid: tools.1.inputSchema: Invalid input: expected object, received undefined",
    ]);
  });
});
