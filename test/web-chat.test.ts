/** The web chat of examples/: what its page does, done over its HTTP interface; and who may not use it. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { RetinueClient, RuntimeConnection, renderTree } from "@retinue/sdk";
import { call, oneProvider, Runtime, runtimeConfig, say, scripted, type Turn } from "retinue";
import { expect, test } from "vitest";
import { bundlePage, type PageFile } from "../examples/web-chat/bundle.ts";
import { openLink } from "../examples/web-chat/link.ts";
import { startWebChat } from "../examples/web-chat/server.ts";

const PAGE: ReadonlyMap<string, PageFile> = new Map([["/", { type: "text/html", content: "<h1>chat</h1>" }]]);

async function world(turns: readonly Turn[] = [], files = PAGE) {
  const folder = mkdtempSync(path.join(tmpdir(), "retinue-web-chat-"));
  const [home, workingDirectory] = [path.join(folder, "home"), path.join(folder, "work")];
  mkdirSync(workingDirectory);
  const runtime = new Runtime({
    config: runtimeConfig({}, { home }),
    catalog: oneProvider(scripted([...turns])),
    storePath: ":memory:",
  });
  const chat = await startWebChat({ runtime, files });
  const clients: RetinueClient[] = [];
  return {
    ...chat,
    workingDirectory,
    /** What page.ts does when it is loaded. */
    openPage(token = chat.token): RetinueClient {
      const connection = RuntimeConnection.forTransport(() => openLink(chat.base, token));
      const client = new RetinueClient({ connection, reconnect: false });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.forceStop();
      await chat[Symbol.asyncDispose]();
      await runtime.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A request with any headers: `fetch` does not let a program choose Host. */
function ask(
  url: string,
  { method = "POST", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
) {
  return new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    const sent = request(url, { method, headers }, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve({ status: response.statusCode ?? 0, body, headers: response.headers });
    });
    sent.on("error", reject).end();
  });
}

test("a page streams the answer, decides asks of sub-agents, and draws the tree; one that is loaded again goes on", async () => {
  const task = call("task", { name: "t", agent_type: "task", description: "tidy", prompt: "Tidy up." });
  const rm = call("bash", { command: "rm -rf build", description: "Remove" });
  await using app = await world([
    [task],
    [rm],
    [say("could not")],
    [say("Nothing was deleted.")],
    [say("Still here.")],
  ]);
  const asked: string[] = [];
  const client = app.openPage();
  const session = await client.createSession({
    streaming: true,
    workingDirectory: app.workingDirectory,
    onPermissionRequest: async (request, { agentName }) => {
      asked.push(`${agentName} ${request.kind === "shell" ? request.fullCommandText : request.kind}`);
      return { kind: "reject", feedback: "The user denied this." };
    },
  });
  const parts: string[] = [];
  let text = "";
  for await (const part of session.stream("Tidy up.")) {
    parts.push(part.type);
    if (part.type === "text") text += part.text;
  }
  expect(text).toBe("Nothing was deleted.");
  expect(asked).toEqual(["task rm -rf build"]);
  expect(parts).toEqual(expect.arrayContaining(["agent-start", "tool-end", "agent-end", "end"]));
  const drawn = renderTree(session.tree(), { now: 0 });
  expect(drawn).toMatch(/main[\s\S]*task/i);
  await client.forceStop(); // The tab is closed.

  const again = await app.openPage().resumeSession(session.sessionId, { continuePendingWork: true });
  expect(renderTree(again.tree(), { now: 0 }).split("\n")).toHaveLength(drawn.split("\n").length);
  expect((await again.sendAndWait("Are you there?"))?.data.content).toBe("Still here.");
});

test("without the token, from another page and under another name the runtime cannot be reached", async () => {
  await using app = await world();
  const authorization = `Bearer ${app.token}`;
  const refused: [string, Record<string, string>, number][] = [
    ["/link", {}, 401],
    ["/link", { authorization: "Bearer wrong" }, 401],
    ["/link", { authorization: `Bearer ${"x".repeat(app.token.length)}` }, 401],
    ["/link", { authorization, origin: "https://evil.example" }, 403],
    ["/link", { authorization, origin: "null" }, 403],
    ["/link", { authorization, host: "evil.example" }, 403],
    ["/link/guessed", { authorization }, 404],
    ["/link/guessed", {}, 401],
  ];
  for (const [where, headers, status] of refused) {
    expect((await ask(`${app.base}${where}`, { headers })).status, JSON.stringify([where, headers])).toBe(status);
  }
  await expect(app.openPage("wrong").start()).rejects.toThrow("the token is missing or wrong");
  expect((await ask(`${app.base}/`, { method: "GET", headers: { host: "evil.example" } })).status).toBe(403);
  expect((await ask(`${app.base}/../package.json`, { method: "GET", headers: { authorization } })).status).toBe(404);
  expect(new URL(app.base).hostname).toBe("127.0.0.1");
});

test("the page is bundled for a browser: its files are served, and what it loads at once needs no Node", async () => {
  const files = await bundlePage();
  await using app = await world([], files);
  const html = await ask(`${app.base}/`, { method: "GET" });
  expect(html.body).not.toContain(app.token);
  expect(html.headers["content-security-policy"]).toContain("default-src 'none'");
  const linked = [...html.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file);
  expect(linked).toEqual(["/style.css", "/page.js"]);
  for (const file of linked) expect((await ask(`${app.base}${file}`, { method: "GET" })).status).toBe(200);
  const script = (await ask(`${app.base}/page.js`, { method: "GET" })).body;
  expect(script).not.toMatch(/from ?"node:/);
});
