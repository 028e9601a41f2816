import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SearchWithin } from "../../store/transcripts.ts";
import { appendTurns, openSession, type TestHome, testHome } from "../test-home.ts";
import { type SearchRequest, search } from "./search.ts";

let home: TestHome;
beforeEach(() => {
  home = testHome();
});
afterEach(() => home.close());

async function say(
  sessionKey: string,
  texts: string[],
  more: { project?: string; harness?: string; agentId?: string; at?: number } = {},
) {
  const { at = home.time.now, harness = "claude-code", agentId = "default", project = "/projects/shop" } = more;
  const session = await openSession(home, { sessionKey, harness, agentId, at, project });
  await appendTurns(home, session, { turns: texts.map((text) => ({ role: "user", text })), at });
  return session;
}

type Asked = Partial<SearchWithin & Pick<SearchRequest, "limit" | "offset">>;
const find = (query: string, { limit, offset, ...within }: Asked = {}) =>
  search(home.transcripts, { query, within: { agentId: "default", ...within }, now: home.time.now, limit, offset });
const keys = async (query: string, more: Asked = {}) => (await find(query, more)).hits.map((hit) => hit.sessionKey);

describe("search", () => {
  test("finds what a running session said one turn ago", async () => {
    await say("a", ["the lock file is written by the daemon"]);
    expect(await keys("lock file")).toEqual(["a"]);
    await say("a", ["and the zebra is in the yard"]);
    expect((await find("zebra")).hits[0]?.snippet).toBe("User: and the zebra is in the yard");
  });

  test("takes quoted words as a phrase and a star as a beginning", async () => {
    await say("a", ["the lock file is here"]);
    await say("b", ["the file has a lock"]);
    expect(await keys('"lock file"')).toEqual(["a"]);
    await say("c", ["reconciliation of accounts"]);
    expect(await keys("reconc*")).toEqual(["c"]);
    expect(await keys('"of acc"*')).toEqual([]);
  });

  test("answers a question in plain language with the turn that has most of its telling words", async () => {
    await say("a", ["we decided that the checkout service retries payments three times"]);
    await say("b", ["the weather is nice"]);
    await say("c", ["payments are documented elsewhere"]);
    expect((await keys("How many times does the checkout service retry payments, and why?"))[0]).toBe("a");
    expect(await keys("How many times does the checkout service retry payments, and why?")).not.toContain("b");
  });

  test("finds what stands behind a NUL byte", async () => {
    await say("a", ["before\0after the zero"]);
    expect(await keys("zero")).toEqual(["a"]);
  });

  test("puts the newer of two equal turns first", async () => {
    await say("old", ["the zebra ran"], { at: home.time.now - 60 * 24 * 3_600_000 });
    await say("new", ["the zebra ran"]);
    await say("older", ["the zebra ran"], { at: home.time.now - 90 * 24 * 3_600_000 });
    expect(await keys("zebra")).toEqual(["new", "old", "older"]);
  });

  test.each([
    "AND",
    "OR NOT",
    'NEAR("a b", 3)',
    '"',
    '"""',
    "*",
    "a*b*",
    "text : x",
    "session : s1",
    "-foo ^bar",
    "(((",
    "{col}: x",
    "'; DROP TABLE x; --",
    "\0",
    "\\",
    "^",
    "+",
  ])("is not an error for %j", async (query) => {
    await say("a", ["near the column of text and not a bar"]);
    await expect(find(query)).resolves.toBeDefined();
  });

  test("is not an error for anything that can be typed", async () => {
    await say("a", ["some words to find"]);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 60 }), async (query) =>
        Array.isArray((await find(query)).hits),
      ),
      { numRuns: 300 },
    );
  });

  test("looks only into the named session, or its tree", async () => {
    const parent = await say("parent", ["zebra one"]);
    const child = await say("child", ["zebra two"]);
    await say("stranger", ["zebra three"]);
    const link = { type: "parent", session: child, at: home.time.now, parent, how: "test" } as const;
    await home.transcripts.record({ changes: [link] });
    expect(await keys("zebra", { sessionId: parent.id })).toEqual(["parent"]);
    expect((await keys("zebra", { treeOf: child.id })).sort()).toEqual(["child", "parent"]);
  });

  test("filters by project, harness and time", async () => {
    await say("a", ["zebra"], { project: "/projects/other" });
    await say("b", ["zebra"], { harness: "codex" });
    await say("c", ["zebra"], { at: home.time.now - 10_000 });
    expect(await keys("zebra", { project: "/projects/other" })).toEqual(["a"]);
    expect(await keys("zebra", { harness: "codex" })).toEqual(["b"]);
    expect(await keys("zebra", { until: home.time.now - 5_000 })).toEqual(["c"]);
    expect((await keys("zebra", { since: home.time.now - 5_000 })).sort()).toEqual(["a", "b"]);
    expect(await keys("zebra", { project: "/nowhere" })).toEqual([]);
  });

  test("gives page after page without a gap or a repeat", async () => {
    await say(
      "a",
      Array.from({ length: 25 }, (_, n) => `zebra number ${n}`),
    );
    const pages = await Promise.all([0, 10, 20].map((offset) => find("zebra", { offset, limit: 10 })));
    expect(pages.map(({ hits }) => hits.length)).toEqual([10, 10, 5]);
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, true, false]);
    expect(new Set(pages.flatMap(({ hits }) => hits.map(({ seq }) => seq))).size).toBe(25);
  });

  test("shows no agent the sessions of another, unless one is shared and the other is global", async () => {
    await say("mine", ["zebra"], { agentId: "red" });
    await say("theirs", ["zebra"], { agentId: "blue" });
    expect(await keys("zebra", { agentId: "red" })).toEqual(["mine"]);
    await home.transcripts.agents.set("red", { reads: "shared", visibility: "private" });
    expect(await keys("zebra", { agentId: "red" })).toEqual(["mine"]);
    await home.transcripts.agents.set("blue", { reads: "isolated", visibility: "global" });
    expect((await keys("zebra", { agentId: "red" })).sort()).toEqual(["mine", "theirs"]);
    expect(await keys("zebra", { agentId: "blue" })).toEqual(["theirs"]);
  });

  test("neither shows a secret nor lets it be guessed", async () => {
    await say("a", ["the deploy key is API_KEY=hunter2hunter2 for the zebra host"]);
    expect((await find("zebra")).hits[0]?.snippet).toBe(
      "User: the deploy key is API_KEY=[redacted secret] for the zebra host",
    );
    expect(await keys("hunter2hunter2")).toEqual([]);
    expect(await keys("hunter2*")).toEqual([]);
  });

  test("cuts a long turn around the match", async () => {
    await say("a", [`${"many words before ".repeat(100)} zebra ${"and many after ".repeat(100)}`]);
    const { snippet } = (await find("zebra")).hits[0] ?? { snippet: "" };
    expect(snippet).toContain("zebra");
    expect(snippet.length).toBeLessThan(560);
    expect(snippet).toMatch(/^User: … .* …$/);
  });
});
