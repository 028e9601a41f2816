import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

const PROBE = fileURLToPath(new URL("../../mcp/fixtures/probe-server.mjs", import.meta.url));
const probe = { command: process.execPath, args: [PROBE] };
const broken = { command: process.execPath, args: [PROBE], env: { PROBE: "broken" } };

/** Starts, and never answers. */
const silent = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] };

/** A server with only the older handshake, one resource and one template. */
const LIBRARY = `
const answers = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { resources: {} }, serverInfo: { name: "library", version: "1" } },
  "resources/list": { resources: [{ uri: "lib://one", name: "one" }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "lib://{name}", name: "any" }] },
  "resources/read": { contents: [{ uri: "lib://one", text: "the text" }] },
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = answers[method];
  const answer = result ? { result } : { error: { code: -32601, message: "no such method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
`;
const library = { command: process.execPath, args: ["-e", LIBRARY] };

test("servers are listed with their states, and are stopped and started by name", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send }) => {
    const sessionId = await create({ mcpServers: { probe, broken } });
    await send(sessionId, "first");
    const { servers, host } = await client.call("session.mcp.list", { sessionId });
    expect(servers.map(({ name, status }) => [name, status])).toEqual([
      ["broken", "failed"],
      ["probe", "connected"],
    ]);
    expect(host).toMatchObject({ clients: ["probe"], disabledServers: [], pendingConnections: [] });
    expect(Object.keys(host?.failedServers ?? {})).toEqual(["broken"]);
    const { tools } = await client.call("session.mcp.listTools", { sessionId, serverName: "probe" });
    expect(tools.map(({ name }) => name)).toContain("echo");
    await client.call("session.mcp.disable", { sessionId, serverName: "probe" });
    expect(client.of("session.mcp_server_removed")).toEqual([{ serverName: "probe" }]);
    expect(await client.call("session.mcp.isServerRunning", { sessionId, serverName: "probe" })).toEqual({
      running: false,
    });
    await client.call("session.mcp.enable", { sessionId, serverName: "probe" });
    expect(await client.call("session.mcp.isServerRunning", { sessionId, serverName: "probe" })).toEqual({
      running: true,
    });
    await client.call("session.mcp.stopServer", { sessionId, serverName: "probe" });
    await client.call("session.mcp.reload", { sessionId });
    expect(await client.call("session.mcp.isServerRunning", { sessionId, serverName: "probe" })).toEqual({
      running: true,
    });
    await expect(client.call("session.mcp.enable", { sessionId, serverName: "nope" })).rejects.toThrow(
      "MCP server 'nope' is not configured",
    );
  });
});

test("a program that never prompts sees its servers go from pending to connected, and session.create does not wait for them", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ mcpServers: { probe, silent } });
    expect(client.of("session.mcp_server_status_changed")).toEqual([]);
    const states = async () =>
      Object.fromEntries(
        (await client.call("session.mcp.list", { sessionId })).servers.map(({ name, status }) => [name, status]),
      );
    expect(await states()).toEqual({ probe: "pending", silent: "pending" });
    await client.until(({ data }) => data.serverName === "probe" && data.status === "connected");
    expect(await states()).toEqual({ probe: "connected", silent: "pending" });
  });
});

test("when all servers have started or failed, the session says so once, and a resume starts them again", async () => {
  await inSmallWorld(
    [],
    async ({ client, create, folder, restart }) => {
      const sessionId = await create({ mcpServers: { probe, broken } });
      const { servers } = await client.received("session.mcp_servers_loaded");
      expect(servers).toMatchObject([
        { name: "broken", status: "failed", transport: "stdio" },
        { name: "probe", status: "connected", serverMetadata: { instructions: "use echo" } },
      ]);
      expect(client.of("session.mcp_servers_loaded")).toHaveLength(1);
      const { client: second } = await restart();
      await second.call("session.resume", { sessionId, workingDirectory: folder, mcpServers: { probe } });
      expect(await second.received("session.mcp_servers_loaded")).toMatchObject({
        servers: [{ name: "probe", status: "connected" }],
      });
    },
    { isOnDisk: true },
  );
});

test("a server that does not start holds the first answer up only for so long, and a client can shorten that", async () => {
  const config = { serverWaitMs: 1 };
  const slow = { mcpServers: { silent } };
  await inSmallWorld(
    [[say("without it")]],
    async ({ client, create, send }) => {
      const sessionId = await create(slow);
      await send(sessionId, "hello");
      expect(client.of("assistant.message")).toMatchObject([{ content: "without it" }]);
      expect((await client.call("session.mcp.list", { sessionId })).servers).toMatchObject([{ status: "pending" }]);
    },
    { config },
  );
  await inSmallWorld(
    [[say("moved on")]],
    async ({ client, create }) => {
      const sessionId = await create(slow);
      await client.call("session.send", { sessionId, prompt: "hello" });
      const move = () => client.call("session.mcp.moveLoadingToBackground", { sessionId });
      expect(await move()).toEqual({ movedToBackground: true });
      await client.received("session.idle");
    },
    { config: { serverWaitMs: 3_600_000 } },
  );
});

test("a server that has not started in its time has failed, and says what it printed meanwhile", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const chatty = {
      command: process.execPath,
      args: ["-e", "console.error('warming up');setInterval(() => {}, 1000)"],
    };
    await create({ mcpServers: { chatty: { ...chatty, startTimeout: 3000 } } });
    const { servers } = await client.received("session.mcp_servers_loaded");
    expect(servers).toMatchObject([{ status: "failed", error: "it did not start within 3000 ms: warming up" }]);
  });
});

test("a server that a configuration call brings starts at once, and one that it leaves out is ended", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ mcpServers: { probe } });
    await client.received("session.mcp_servers_loaded");
    const after = client.events.length;
    await client.call("session.options.update", { sessionId, mcpServers: { library } });
    expect(await client.received("session.mcp_servers_loaded", { after })).toMatchObject({
      servers: [{ name: "library", status: "connected" }],
    });
  });
});

test("a session without servers lists none and loads nothing for it", async () => {
  await inSmallWorld([], async ({ client, create, runtime }) => {
    const sessionId = await create();
    expect((await client.call("session.mcp.list", { sessionId })).servers).toEqual([]);
    expect(runtime.sessions.get(sessionId).tree.servers.isUsed).toBe(false);
  });
});

test("a server that is started with a configuration becomes the session's own, and its tools are offered", async () => {
  const turns = [[call("probe-echo", { text: "hi" })], [say("done")]];
  await inSmallWorld(turns, async ({ client, create, send }) => {
    const sessionId = await create();
    const config = { ...probe, trustReadOnlyHint: true };
    await client.call("session.mcp.startServer", { sessionId, serverName: "probe", config });
    await send(sessionId, "first");
    expect(client.of("tool.execution_complete")).toMatchObject([{ success: true, result: { content: "echo: hi" } }]);
  });
});

test("resources of a server are listed and read", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ mcpServers: { library } });
    const serverName = "library";
    const { resources } = await client.call("session.mcp.resources.list", { sessionId, serverName });
    expect(resources).toEqual([{ uri: "lib://one", name: "one" }]);
    const { resourceTemplates } = await client.call("session.mcp.resources.listTemplates", { sessionId, serverName });
    expect(resourceTemplates).toEqual([{ uriTemplate: "lib://{name}", name: "any" }]);
    const { contents } = await client.call("session.mcp.resources.read", { sessionId, serverName, uri: "lib://one" });
    expect(contents).toEqual([{ uri: "lib://one", text: "the text" }]);
  });
});

test("aborting a session whose preMcpToolCall hook hangs ends at once, and the server is never called", async () => {
  await inSmallWorld([[call("probe-echo", { text: "hello" })]], async ({ client, create }) => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) => {
      if (hookType !== "preMcpToolCall") return {};
      asked();
      return new Promise(() => undefined); // Never settles: only the abort can end it before the time limit of hooks.
    });
    const sessionId = await create({ mcpServers: { probe }, hooks: true });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await client.call("session.send", { sessionId, prompt: "call it" });
    await isAsked;
    await client.call("session.abort", { sessionId });
    await client.received("session.idle");
    expect(client.of("tool.execution_complete")).toMatchObject([{ success: false, error: { code: "interrupted" } }]);
  });
});

test("aborting a session whose MCP server does not start ends at once, and the prompt does not run later", async () => {
  await inSmallWorld([[say("later")]], async ({ client, create, provider }) => {
    const sessionId = await create({ mcpServers: { silent } });
    await client.call("session.send", { sessionId, prompt: "never seen" });
    await client.call("session.abort", { sessionId });
    await client.received("session.idle");
    expect(client.of("user.message")).toEqual([]);
    expect((await client.call("session.queue.pendingItems", { sessionId })).items).toEqual([]);
    expect(provider.requests).toEqual([]);
  });
});

test("aborting a session whose client does not answer about the system prompt ends at once", async () => {
  await inSmallWorld([[say("later")]], async ({ client, create, provider }) => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    client.answers.set("systemMessage.transform", () => {
      asked();
      return new Promise(() => undefined);
    });
    const systemMessage = { mode: "customize", sections: { identity: { action: "transform" } } } as const;
    const sessionId = await create({ systemMessage });
    await client.call("session.send", { sessionId, prompt: "hello" });
    await isAsked;
    await client.call("session.abort", { sessionId });
    await client.received("session.idle");
    expect(provider.requests).toEqual([]);
  });
});
