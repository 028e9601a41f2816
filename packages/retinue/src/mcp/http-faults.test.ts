/** Remote servers that refuse one call, break off in the middle of an answer, or say no without end. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { call, say, type Turn } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";

interface Asked {
  id?: number;
  method?: string;
  params: { protocolVersion?: string; arguments?: { n?: number } };
}
/** True: it has answered. */
type Misbehave = (asked: Asked, response: ServerResponse, request: IncomingMessage) => boolean;

interface Faulty {
  origin: string;
  /** Every method that was asked for. */
  asked: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

const TOOLS = [{ name: "count", description: "Counts.", inputSchema: { type: "object" } }];

const resultOf = ({ method, params }: Asked): object | undefined =>
  ({
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "faulty", version: "1" },
    },
    "tools/list": { tools: TOOLS },
    "tools/call": { content: [{ type: "text", text: `counted ${params?.arguments?.n}` }] },
  })[method ?? ""];

const answerTo = (asked: Asked): string => {
  const result = resultOf(asked);
  const error = { code: -32_601, message: "no such method" };
  return JSON.stringify({ jsonrpc: "2.0", id: asked.id, ...(result ? { result } : { error }) });
};

/** `/mcp` over streamable HTTP, `/sse` over server-sent events. */
async function faulty(misbehave: Misbehave): Promise<Faulty> {
  const asked: string[] = [];
  let stream: ServerResponse | undefined;
  const server = createServer(async (request, response) => {
    const body = await new Response(request).text();
    if (request.url === "/sse") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      return void stream.write("event: endpoint\ndata: /messages\n\n");
    }
    const message: Asked = body === "" ? { params: {} } : JSON.parse(body);
    if (message.method !== undefined) asked.push(message.method);
    if (misbehave(message, request.url === "/messages" && stream ? stream : response, request)) return;
    if (request.method !== "POST") return void response.writeHead(405).end();
    if (message.id === undefined) return void response.writeHead(202).end();
    if (request.url !== "/messages")
      return void response
        .writeHead(200, { "content-type": "application/json", "mcp-session-id": "one" })
        .end(answerTo(message));
    response.writeHead(202).end();
    stream?.write(`event: message\ndata: ${answerTo(message)}\n\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const isCall = ({ method }: Asked): boolean => method === "tools/call";

/** What the model reads of each call, and the states of the server, when the turns have been taken. */
async function run(
  server: Faulty,
  turns: readonly Turn[],
  { type = "http", headers }: { type?: "http" | "sse"; headers?: Record<string, string> } = {},
) {
  let read: (string | undefined)[] = [];
  let states: string[] = [];
  await inSmallWorld([...turns, [say("done")]], async ({ client, create, send }) => {
    const url = `${server.origin}/${type === "sse" ? "sse" : "mcp"}`;
    const sessionId = await create({ mcpServers: { far: { type, url, headers, tools: ["*"], timeout: 3_600_000 } } });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await send(sessionId, "count");
    read = client
      .of("tool.execution_complete")
      .map(({ success, error, result }) => (success ? result?.content : error?.message));
    states = client.of("session.mcp_server_status_changed").map(({ status }) => status);
  });
  return { read, states };
}

describe("a call that a server refuses", () => {
  test("fails with the status and the server's words, and the calls beside it have their answers", async () => {
    const held: (() => void)[] = [];
    await using server = await faulty((asked, response) => {
      if (!isCall(asked)) return false;
      if (asked.params.arguments?.n === 0) {
        response.writeHead(429, { "content-type": "text/plain" }).end("ask less often");
        for (const answer of held) answer();
      } else held.push(() => response.writeHead(200, { "content-type": "application/json" }).end(answerTo(asked)));
      return true;
    });
    const { read, states } = await run(server, [[1, 2, 0].map((n) => call("far-count", { n }))]);
    expect(read.toSorted()).toEqual([
      "MCP server 'far': the server answered with HTTP 429: ask less often.",
      "counted 1",
      "counted 2",
    ]);
    expect(states).toEqual(["pending", "connected"]);
  });

  test("and that repeats our key in its answer does not have it read or kept", async () => {
    const key = "zz9fh29fh2938fh29f8h";
    await using server = await faulty((asked, response, request) => {
      if (isCall(asked)) response.writeHead(403).end(`no such key: ${request.headers.authorization}`);
      return isCall(asked);
    });
    const { read } = await run(server, [[call("far-count")]], { headers: { Authorization: `Bearer ${key}` } });
    expect(read).toEqual([expect.stringContaining("HTTP 403: no such key: ")]);
    expect(read.join()).not.toContain(key);
  });

  test("with a page for a browser fails without the page", async () => {
    await using server = await faulty((asked, response) => {
      if (isCall(asked))
        response.writeHead(503, { "content-type": "text/html" }).end("<html>our engineers know</html>");
      return isCall(asked);
    });
    const { read } = await run(server, [[call("far-count")]]);
    expect(read).toEqual(["MCP server 'far': the server answered with HTTP 503: Service Unavailable."]);
  });
});

describe("an answer that is broken off", () => {
  test.each([
    ["in the middle of an event", (response: ServerResponse) => response.destroy()],
    ["by the end of the stream", (response: ServerResponse) => response.end()],
  ])("%s fails the call at once, and the next one is answered", async (_, breakOff) => {
    let isFirst = true;
    await using server = await faulty((asked, response) => {
      if (!isCall(asked) || !isFirst) return false;
      isFirst = false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${answerTo(asked).slice(0, 20)}`, () => breakOff(response));
      return true;
    });
    const { read } = await run(server, [[call("far-count", { n: 1 })], [call("far-count", { n: 2 })]]);
    expect(read).toEqual([
      expect.stringMatching(/^MCP server 'far': the connection was cut before the answer was complete/),
      "counted 2",
    ]);
  });

  test("with the stream of server-sent events fails the call at once, and the next one has a new stream", async () => {
    let isFirst = true;
    await using server = await faulty((asked, stream) => {
      if (!isCall(asked) || !isFirst) return false;
      isFirst = false;
      stream.destroy();
      return true;
    });
    const turns = [[call("far-count", { n: 1 })], [call("far-count", { n: 2 })]];
    const { read, states } = await run(server, turns, { type: "sse" });
    expect(read).toEqual([
      expect.stringMatching(/^MCP server 'far': the server went away during the call/),
      "counted 2",
    ]);
    expect(states).toEqual(["pending", "connected", "failed", "pending", "connected"]);
  });
});

describe("a server that lets nobody in", () => {
  const stateOf = async (url: string) => {
    let state: object = {};
    await inSmallWorld([], async ({ client, create }) => {
      await create({ mcpServers: { far: { type: "http", url, tools: ["*"] } } });
      const over = await client.until(
        ({ type, data }) => type === "session.mcp_server_status_changed" && data.status !== "pending",
      );
      state = over.data;
    });
    return state;
  };

  test.each([
    [500, "failed", /HTTP 500/],
    [401, "needs-auth", /sign in/],
  ])("with %i and a text without end is not read to its end", async (status, state, words) => {
    await using server = await faulty((_, response) => {
      response.writeHead(status, { "content-type": "text/plain" });
      const more = (): void => {
        while (!response.destroyed && response.write("no ".repeat(4096)));
      };
      response.on("drain", more);
      more();
      return true;
    });
    expect(await stateOf(`${server.origin}/mcp`)).toMatchObject({ status: state, error: expect.stringMatching(words) });
  });

  test("because nothing listens there says so", async () => {
    const server = await faulty(() => false);
    await server[Symbol.asyncDispose]();
    expect(await stateOf(`${server.origin}/mcp`)).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/the server cannot be reached \(.*ECONNREFUSED/),
    });
  });
});
