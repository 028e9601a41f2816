import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentCatalog } from "../agents/catalog.ts";
import type { AgentCatalogSettings } from "../models/config.ts";
import { oneProvider } from "../models/one-provider.ts";
import { say, scripted } from "../models/scripted.ts";
import { TestClient } from "../server/handlers/small-world.ts";
import { Runtime } from "../server/runtime.ts";
import { RemoteAgentCatalog } from "./agent-catalog.ts";
import { runtimeConfig } from "./config.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "retinue-remote-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

interface Endpoint extends AsyncDisposable {
  url: string;
  requests: IncomingHttpHeaders[];
}

async function endpoint(answer: (response: ServerResponse, headers: IncomingHttpHeaders) => void): Promise<Endpoint> {
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    requests.push(request.headers);
    answer(response, request.headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/agents`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const json = (body: unknown, etag?: string) => (response: ServerResponse) => {
  if (etag !== undefined) response.setHeader("etag", etag);
  response.end(JSON.stringify(body));
};

const helper = { name: "helper", description: "Helps.", prompt: "You help.", tools: ["Read"] };

const catalogOf = (settings: AgentCatalogSettings, env: Record<string, string> = {}) =>
  new RemoteAgentCatalog({ home, env, settings: () => settings, now: Date.now });

describe("the remote catalog", () => {
  test("gives agents that are marked as remote, as fields or as files, and none that passes for another", async () => {
    const file = { file: "writer.agent.md", text: "---\nmcp-servers: { x: { command: evil } }\n---\nYou write. Well." };
    const agents = [
      helper,
      file,
      { name: "explore", prompt: "p" },
      { name: "bad" },
      { name: "odd", prompt: "p", tool: [] },
    ];
    await using server = await endpoint(json({ agents }));
    const remote = await catalogOf({ url: server.url }).refresh();
    const catalog = new AgentCatalog({ folders: [], remote });
    expect(
      catalog.custom().map(({ name, source, tools, mcpServers, path }) => ({ name, source, tools, mcpServers, path })),
    ).toEqual([
      { name: "helper", source: "remote", tools: ["view"], mcpServers: {}, path: undefined },
      { name: "writer", source: "remote", tools: null, mcpServers: {}, path: undefined },
      { name: "remote:explore", source: "remote", tools: null, mcpServers: {}, path: undefined },
    ]);
    expect(remote.problems).toEqual([
      expect.stringContaining("the agent writer has MCP servers, which do not start"),
      expect.stringContaining("agent 4 is left out: prompt"),
      expect.stringContaining("agent 5 is left out: The agent 'odd' has a field 'tool'"),
    ]);
  });

  test("is asked with the header that signs in, and with the ETag of what is kept, for the owner alone", async () => {
    await using server = await endpoint((response, headers) => {
      if (headers["if-none-match"] !== '"1"') return json([helper], '"1"')(response);
      response.statusCode = 304;
      response.end();
    });
    const settings = { url: server.url, tokenEnv: "CATALOG_TOKEN", headers: { "x-team": "blue" } };
    const env = { CATALOG_TOKEN: "a-secret-token" };
    expect((await catalogOf(settings, env).refresh()).agents).toHaveLength(1);
    const again = catalogOf(settings, env);
    const first = again.current();
    expect(first.agents.map(({ name }) => name)).toEqual(["helper"]);
    expect(await again.refresh()).toBe(first);
    expect((await catalogOf(settings, env).refresh()).agents).toHaveLength(1);
    expect(server.requests.map((each) => [each.authorization, each["x-team"], each["if-none-match"]])).toEqual([
      ["Bearer a-secret-token", "blue", undefined],
      ["Bearer a-secret-token", "blue", '"1"'],
      ["Bearer a-secret-token", "blue", '"1"'],
    ]);
    expect(statSync(join(home, "agent-catalog.json")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(home, "agent-catalog.json"), "utf8")).not.toContain("a-secret-token");
  });

  test.each<[string, (response: ServerResponse) => void, string]>([
    ["answers with an error", (response) => response.writeHead(500).end(), "it answered with HTTP 500"],
    ["answers with something else", (response) => response.end("<html>"), "not valid JSON"],
    ["answers with no list", (response) => response.end("3"), "its answer is no list of agents"],
    ["answers without end", (response) => response.end(`["${"x".repeat(5_000_000)}"]`), "larger than"],
    ["leads elsewhere", (response) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(), "redirect"],
    ["never answers", () => undefined, "timeout"],
    ["goes away", (response) => response.destroy(), "could not be fetched"],
  ])("that %s leaves what was fetched before, with a warning", async (_, answer, words) => {
    let isWell = true;
    await using server = await endpoint((response) => (isWell ? json([helper])(response) : answer(response)));
    const settings = { url: server.url, timeoutSeconds: 2 };
    await catalogOf(settings).refresh();
    isWell = false;
    const { agents, problems } = await catalogOf(settings).refresh();
    expect(agents.map(({ name }) => name)).toEqual(["helper"]);
    expect(problems).toEqual([expect.stringMatching(/could not be fetched .* so what it gave on \d{4}-.* is used/)]);
    expect(problems[0]).toContain(words);
    rmSync(join(home, "agent-catalog.json"));
    const none = await catalogOf(settings).refresh();
    expect([none.agents, none.problems]).toEqual([[], [expect.stringContaining("so there are none of it")]]);
  });

  test("is not asked without its token, nor in the clear over a network", async () => {
    await using server = await endpoint(json([helper]));
    const noToken = await catalogOf({ url: server.url, tokenEnv: "NOT_SET" }).refresh();
    expect(noToken.problems).toEqual([
      expect.stringContaining("the variable NOT_SET, which holds its token, is not set"),
    ]);
    const open = await catalogOf({ url: "http://192.0.2.1/agents" }).refresh();
    expect(open.problems).toEqual([expect.stringContaining("must begin with https://")]);
    expect(server.requests).toEqual([]);
  });

  test("that is damaged in the home folder is fetched again", async () => {
    await using server = await endpoint(json([helper]));
    writeFileSync(join(home, "agent-catalog.json"), "{");
    const catalog = catalogOf({ url: server.url });
    expect(catalog.current().agents).toEqual([]);
    expect((await catalog.refresh()).agents).toHaveLength(1);
  });
});

test("a session opens and answers while the catalog does not, and has its agents from the prompt after its answer on", async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using server = await endpoint((response) => void released.then(() => json([helper])(response)));
  const provider = scripted([[say("1")], [say("2")]]);
  const runtime = new Runtime({
    config: runtimeConfig({ RETINUE_HOME: home }),
    catalog: { ...oneProvider(provider), agentCatalog: () => ({ url: server.url }) },
    storePath: ":memory:",
  });
  const client = new TestClient(runtime);
  try {
    const { sessionId } = await client.call("session.create", { workingDirectory: home });
    const send = async () => {
      const after = client.events.length;
      await client.call("session.send", { sessionId, prompt: "go" });
      await client.received("session.idle", { after });
      return provider.requests.at(-1)?.tools.find(({ name }) => name === "task")?.description;
    };
    expect(await send()).not.toContain("helper");
    release();
    await expect.poll(() => runtime.sessions.get(sessionId).tree.configuration.follow()).toBe("files");
    expect(await send()).toContain("`helper` (custom): Helps.");
    const { agents } = await client.call("session.agent.list", { sessionId });
    expect(agents).toMatchObject([{ name: "helper", source: "remote" }]);
    expect((await client.call("agents.discover", {})).agents).toMatchObject([{ name: "helper", source: "remote" }]);
    expect(await client.call("agents.discover", { excludeHostAgents: true })).toEqual({ agents: [] });
  } finally {
    client.close();
    await client.ended;
    await runtime.close();
  }
});
