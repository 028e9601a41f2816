/** A streamable HTTP server that keeps sessions, and forgets them: after a deployment, or after a time. */
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";

interface Sessions {
  url: string;
  /** How often each method was answered. */
  answered: string[];
  /** Every one: those to come are forgotten when their tools are called. */
  forget(options?: { isEvery: boolean }): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Most say 404, as the protocol wants; some say 400. */
async function sessions({ unknown = 404 } = {}): Promise<Sessions> {
  let known = 0;
  let latest = 0;
  let isForgetful = false;
  const answered: string[] = [];
  const results: Record<string, object> = {
    "tools/list": { tools: [{ name: "count", description: "Counts.", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "counted" }] },
    ping: {},
  };
  const server = createServer(async (request, response) => {
    const body = await new Response(request).text();
    const { id, method, params } = body === "" ? { id: undefined, method: undefined } : JSON.parse(body);
    const answer = (result: object, headers = {}) =>
      response
        .writeHead(200, { "content-type": "application/json", ...headers })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (method === "initialize") {
      latest += 1;
      known = latest;
      answered.push(method);
      const { protocolVersion } = params;
      const serverInfo = { name: "keeper", version: "1" };
      return void answer(
        { protocolVersion, capabilities: { tools: {} }, serverInfo },
        { "mcp-session-id": `s${latest}` },
      );
    }
    if (request.headers["mcp-session-id"] === undefined) return void response.writeHead(400).end("no session");
    if (isForgetful && method === "tools/call") known = -1;
    if (request.headers["mcp-session-id"] !== `s${known}`)
      return void response.writeHead(unknown).end("no such session");
    if (request.method === "GET") return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    answered.push(method);
    answer(results[method] ?? {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    answered,
    forget: ({ isEvery } = { isEvery: false }) => {
      known = -1;
      isForgetful = isEvery;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

test.each([404, 400])(
  "a call in a session that the server has forgotten (%i) is made in a new one, once",
  async (unknown) => {
    await using server = await sessions({ unknown });
    const turns = [[call("keeper-count")], [say("one")], [call("keeper-count")], [say("two")]];
    await inSmallWorld(turns, async ({ client, create, send }) => {
      const mcpServers = { keeper: { type: "http" as const, url: server.url, tools: ["*"] } };
      const sessionId = await create({ mcpServers });
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await send(sessionId, "count");
      server.forget();
      await send(sessionId, "count again");
      expect(client.of("tool.execution_complete").map(({ success, error }) => error?.message ?? success)).toEqual([
        true,
        true,
      ]);
      expect(server.answered.filter((method) => method === "initialize")).toHaveLength(2);
      expect(server.answered.filter((method) => method === "tools/call")).toHaveLength(2);
    });
  },
);

test("a server that forgets every session at once fails the call in words, and is not asked for ever", async () => {
  await using server = await sessions();
  const turns = [[call("keeper-count")], [say("no")]];
  await inSmallWorld(turns, async ({ client, create, send }) => {
    const sessionId = await create({ mcpServers: { keeper: { type: "http", url: server.url, tools: ["*"] } } });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await client.until(({ type, data }) => type === "session.mcp_server_status_changed" && data.status === "connected");
    server.forget({ isEvery: true });
    await send(sessionId, "count");
    expect(client.of("tool.execution_complete")[0]?.error?.message).toContain("the server went away during the call");
    expect(server.answered.filter((method) => method === "initialize").length).toBeLessThanOrEqual(3);
    expect(server.answered).not.toContain("tools/call");
  });
});
