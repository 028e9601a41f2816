import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TestHome, testHome } from "../test-home.ts";
import { continuityApp } from "./http.ts";

let folder: string;
let home: TestHome;
let app: ReturnType<typeof continuityApp>;
const OWNER_TOKEN = "rtn_owner";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-http-"));
  home = testHome();
  app = continuityApp({ continuity: home, token: OWNER_TOKEN });
});
afterEach(() => {
  home.close();
  rmSync(folder, { recursive: true });
});

interface Ask {
  token?: string;
  headers?: Record<string, string>;
}

async function ask(method: string, path: string, body?: unknown, { token = OWNER_TOKEN, headers = {} }: Ask = {}) {
  const response = await app.request(`http://127.0.0.1:4000${path}`, {
    method,
    headers: { host: "127.0.0.1:4000", authorization: `Bearer ${token}`, ...headers },
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : undefined };
}

const hook = (name: string, fields: object, options?: Ask) =>
  ask("POST", `/api/hooks/${name}`, { harness: "other", project: "/projects/shop", ...fields }, options);
const scoped = async (fields: object): Promise<string> => (await ask("POST", "/api/tokens", fields)).json.token;

describe("the HTTP API", () => {
  test("takes a prompt, gives the child its block, and finds what was said", async () => {
    await hook("session-start", { sessionKey: "p" });
    await hook("user-prompt-submit", { sessionKey: "p", userMessage: "the plan is called pelican" });
    const started = await hook("subagent-start", { sessionKey: "c", parentSessionKey: "p" });
    expect(started.json.inject).toContain("## Inherited from Parent Session");
    const found = await ask("POST", "/api/sessions/search", { query: "pelican", currentSessionKey: "c" });
    expect(found.json.hits).toMatchObject([{ sessionKey: "p", snippet: "User: the plan is called pelican" }]);
    await hook("session-end", { sessionKey: "p", reason: "other" });
    expect((await ask("GET", "/api/sessions")).json.sessions).toMatchObject([
      { sessionKey: "c" },
      { sessionKey: "p", endReason: "other" },
    ]);
  });

  test("gives a transcript page by page, as JSON and as text, without secrets", async () => {
    await hook("user-prompt-submit", {
      sessionKey: "p/1",
      transcript: "User: one\nAssistant: two\nUser: password=correcthorse1",
    });
    const path = "/api/sessions/p%2F1/transcript";
    const first = await ask("GET", `${path}?limit=2`);
    expect(first.json).toMatchObject({ sessionKey: "p/1", turns: [{ text: "one" }, { text: "two" }], next: 2 });
    expect((await ask("GET", `${path}?after=2&format=text`)).text).toBe("User: password=[redacted password]");
  });

  test("shows the tree and the reasons", async () => {
    await hook("user-prompt-submit", { sessionKey: "p", userMessage: "plan" });
    await hook("subagent-start", { sessionKey: "p", harnessAgentId: "a" });
    const tree = await ask("GET", "/api/sessions/p%3Aa/lineage");
    expect(tree.json).toMatchObject({
      sessionKey: "p",
      children: [{ sessionKey: "p:a", lineage: "named by the harness" }],
    });
  });

  test("keeps checkpoints, entities and constraints, and tells a child of them", async () => {
    await hook("user-prompt-submit", { sessionKey: "p", userMessage: "old" });
    await ask("POST", "/api/entities/Ledger/attributes", { kind: "constraint", content: "never delete a row" });
    await ask("POST", "/api/sessions/p/checkpoints", { summary: "we chose a ledger", entities: ["Ledger"] });
    expect((await ask("GET", "/api/sessions/p/inherit")).json.inject).toBe(
      "## Inherited from Parent Session\n\n[active session]\nCheckpoint:\n  we chose a ledger\nFocal entities: Ledger\nActive constraints:\n  - never delete a row",
    );
    const [{ attributes }] = (await ask("GET", "/api/entities")).json.entities;
    await ask("DELETE", `/api/attributes/${attributes[0].id}`);
    expect((await ask("GET", "/api/sessions/p/inherit")).json.inject).not.toContain("never delete");
    expect((await ask("DELETE", "/api/entities/Ledger")).json).toEqual({ removed: true });
  });

  test("deletes a session with its children, and nothing of others", async () => {
    for (const key of ["p", "q"]) await hook("user-prompt-submit", { sessionKey: key, userMessage: "zebra" });
    await hook("subagent-start", { sessionKey: "c", parentSessionKey: "p", transcript: "User: zebra" });
    expect((await ask("DELETE", "/api/sessions/p")).json).toEqual({ deleted: 2 });
    const found = await ask("POST", "/api/sessions/search", { query: "zebra" });
    expect(found.json.hits.map((hit: { sessionKey: string }) => hit.sessionKey)).toEqual(["q"]);
    expect((await ask("GET", "/api/sessions")).json.sessions).toMatchObject([{ sessionKey: "q" }]);
    await hook("user-prompt-submit", { sessionKey: "q", userMessage: "a lion came" });
    expect((await ask("POST", "/api/sessions/search", { query: "lion" })).json.hits).toHaveLength(1);
  });

  test("prunes by age and by size", async () => {
    for (const key of ["a", "b", "c"]) {
      await hook("user-prompt-submit", { sessionKey: key, userMessage: "x".repeat(1_000) });
      home.time.now += 24 * 3_600_000;
    }
    expect((await ask("POST", "/api/sessions/prune", { olderThanDays: 2 })).json).toEqual({ deleted: 1 });
    expect((await ask("POST", "/api/sessions/prune", { maxBytes: 1_500 })).json).toEqual({ deleted: 1 });
    expect((await ask("GET", "/api/sessions/c/transcript")).json.turns).toHaveLength(1);
  });
});

describe("the doors of the HTTP API", () => {
  test("health needs no token, everything else does", async () => {
    expect((await ask("GET", "/health", undefined, { token: "" })).json.status).toBe("ok");
    for (const token of ["", "wrong", "rtn_owne"])
      expect((await ask("GET", "/api/sessions", undefined, { token })).status).toBe(401);
  });

  test.each([
    ["host", "evil.example:4000"],
    ["host", "127.0.0.1.evil.example"],
    ["origin", "http://evil.example"],
    ["origin", "null"],
  ])("a request with %s: %s is refused", async (name, value) => {
    const headers = { [name]: value };
    expect((await ask("GET", "/api/sessions", undefined, { headers })).status).toBe(403);
    expect((await ask("GET", "/health", undefined, { headers })).status).toBe(403);
  });

  test("bad input is answered with what is wrong, never with a failure of ours", async () => {
    expect((await ask("POST", "/api/hooks/session-start", "{half")).status).toBe(400);
    expect((await ask("POST", "/api/hooks/session-start", "[]")).status).toBe(400);
    expect((await hook("session-start", { sessionKey: "" })).json.error).toMatchObject({ code: "invalid_params" });
    expect((await hook("session-start", { sessionKey: "s", harness: "../x" })).status).toBe(400);
    expect((await ask("GET", "/api/sessions/nobody/transcript")).status).toBe(404);
    expect((await ask("GET", "/api/nothing")).status).toBe(404);
    expect(
      (await hook("user-prompt-submit", { sessionKey: "s", harness: "claude-code", transcriptPath: "/etc/passwd" }))
        .status,
    ).toBe(403);
    expect((await ask("POST", "/api/sessions/search", { query: 'AND OR " * (' })).json.hits).toEqual([]);
  });

  test("a full disk is said, and when there is room again it goes on", async () => {
    await hook("user-prompt-submit", { sessionKey: "p", userMessage: "before" });
    const { page_count: pages } = home.db.prepare("PRAGMA page_count").get();
    home.db.exec(`PRAGMA max_page_count = ${pages}`);
    const refused = await hook("user-prompt-submit", { sessionKey: "p", userMessage: "z".repeat(500_000) });
    expect([refused.status, refused.json.error.code]).toEqual([503, "store_unavailable"]);
    home.db.exec("PRAGMA max_page_count = 1000000");
    await hook("user-prompt-submit", { sessionKey: "p", userMessage: "after" });
    expect((await ask("GET", "/api/sessions/p/transcript?format=text")).text).toBe("User: before\nUser: after");
  });
});

describe("scoped tokens", () => {
  test("a token of one team sees nothing of another, on any route", async () => {
    const [red, blue] = [
      await scoped({ name: "red", agentId: "red" }),
      await scoped({ name: "blue", agentId: "blue" }),
    ];
    await hook("user-prompt-submit", { sessionKey: "r", userMessage: "red zebra" }, { token: red });
    const asBlue = { token: blue };
    expect((await ask("POST", "/api/sessions/search", { query: "zebra" }, asBlue)).json.hits).toEqual([]);
    expect((await ask("POST", "/api/sessions/search", { query: "zebra", sessionKey: "r" }, asBlue)).json.hits).toEqual(
      [],
    );
    expect((await ask("POST", "/api/sessions/search", { query: "zebra", agentId: "red" }, asBlue)).status).toBe(403);
    expect(
      (await ask("POST", "/api/sessions/search", { query: "zebra", currentSessionKey: "r" }, asBlue)).json.hits,
    ).toEqual([]);
    expect((await ask("GET", "/api/sessions", undefined, asBlue)).json.sessions).toEqual([]);
    expect((await ask("GET", "/api/sessions?agentId=red", undefined, asBlue)).status).toBe(403);
    for (const path of ["transcript", "lineage", "inherit", "checkpoints"]) {
      expect((await ask("GET", `/api/sessions/r/${path}`, undefined, asBlue)).status).toBe(404);
    }
    expect((await ask("DELETE", "/api/sessions/r", undefined, asBlue)).status).toBe(404);
    expect((await ask("POST", "/api/sessions/r/checkpoints", { summary: "x" }, asBlue)).status).toBe(404);
    expect(
      (await hook("user-prompt-submit", { sessionKey: "r", userMessage: "mine now", agentId: "red" }, asBlue)).status,
    ).toBe(403);
    expect(
      (await hook("subagent-start", { sessionKey: "c", parentSessionKey: "r" }, asBlue)).json.inject,
    ).toBeUndefined();
    expect((await ask("POST", "/api/sessions/search", { query: "zebra" }, { token: red })).json.hits).toHaveLength(1);
  });

  test("a token of a project stays in it", async () => {
    await hook("user-prompt-submit", { sessionKey: "in", userMessage: "zebra", project: "/projects/shop/api" });
    await hook("user-prompt-submit", { sessionKey: "out", userMessage: "zebra", project: "/projects/shopping" });
    const token = await scoped({ name: "shop", project: "/projects/shop" });
    const { hits } = (await ask("POST", "/api/sessions/search", { query: "zebra" }, { token })).json;
    expect(hits.map((hit: { sessionKey: string }) => hit.sessionKey)).toEqual(["in"]);
    expect(
      (await hook("user-prompt-submit", { sessionKey: "x", project: "/projects/shopping" }, { token })).status,
    ).toBe(403);
    expect((await ask("GET", "/api/entities", undefined, { token })).status).toBe(403);
  });

  test("cannot make tokens, set agents or prune, and stops working when it is revoked", async () => {
    const token = await scoped({ name: "red", agentId: "red" });
    for (const [method, path, body] of [
      ["POST", "/api/tokens", { name: "x", agentId: "y" }],
      ["GET", "/api/tokens", undefined],
      ["PUT", "/api/agents/red", { reads: "shared" }],
      ["POST", "/api/sessions/prune", { olderThanDays: 0 }],
    ] as const) {
      expect((await ask(method, path, body, { token })).status).toBe(403);
    }
    await ask("DELETE", "/api/tokens/red");
    expect((await ask("GET", "/api/sessions", undefined, { token })).status).toBe(401);
  });
});

describe("a hook that names a session of another project or agent", () => {
  const placeOf = async (key: string) => {
    const { sessions } = (await ask("GET", "/api/sessions?agentId=red")).json;
    return sessions
      .filter((each: { sessionKey: string }) => each.sessionKey === key)
      .map(({ project, agentId }: Record<string, string>) => ({ project, agentId }));
  };
  const where = [{ project: "/projects/shop", agentId: "red" }];
  const HOOKS = ["session-start", "user-prompt-submit", "turn-end", "session-end", "subagent-start", "subagent-stop"];

  test.each(HOOKS)("%s: leaves the session where it is, also for the owner", async (name) => {
    await hook("user-prompt-submit", { sessionKey: "s", agentId: "red", userMessage: "first" });
    await hook(name, { sessionKey: "s", project: "/projects/bank", userMessage: "second" });
    await hook(name, { sessionKey: "s", agentId: "red", project: "/projects/bank", userMessage: "third" });
    await hook(name, { sessionKey: "s", agentId: "blue", project: "/projects/bank", userMessage: "fourth" });
    expect(await placeOf("s")).toEqual(where);
  });

  test.each(HOOKS)("%s: is refused for a token of another project, with or without an agent", async (name) => {
    await hook("user-prompt-submit", { sessionKey: "s", agentId: "red", userMessage: "first" });
    const both = await scoped({ name: "both", agentId: "red", project: "/projects/bank" });
    const refused = await hook(name, { sessionKey: "s", project: "/projects/bank", agentId: "red" }, { token: both });
    // A stop without a start is nobody's, and nothing is kept of it.
    if (name !== "subagent-stop")
      expect([refused.status, refused.json.error?.code]).toEqual([403, "authentication_failed"]);
    expect(await placeOf("s")).toEqual(where);
  });

  test("fills in a project that was not known", async () => {
    await hook("session-start", { sessionKey: "s", agentId: "red", project: undefined });
    await hook("turn-end", { sessionKey: "s", agentId: "red" });
    expect(await placeOf("s")).toEqual(where);
  });

  test("cannot write into a session of the runtime itself", async () => {
    expect((await hook("turn-end", { sessionKey: "s", harness: "retinue" })).status).toBe(400);
  });
});
