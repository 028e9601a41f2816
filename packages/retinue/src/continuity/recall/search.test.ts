import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { linkParent } from "../records/lineage.ts";
import { OWNER } from "../records/scope.ts";
import { appendTurns, openSession } from "../records/transcripts.ts";
import { type TestHome, testHome } from "../test-home.ts";
import { type SearchRequest, search } from "./search.ts";

let home: TestHome;
beforeEach(() => {
  home = testHome();
});
afterEach(() => home.db.close());

function say(
  sessionKey: string,
  texts: string[],
  more: { project?: string; harness?: string; agentId?: string; at?: number } = {},
) {
  const { at = home.time.now, harness = "claude-code", agentId = "default", project = "/projects/shop" } = more;
  const session = openSession(home.db, { sessionKey, harness, agentId, at, project });
  appendTurns(
    home.db,
    session,
    texts.map((text) => ({ role: "user" as const, text })),
    { now: at },
  );
  return session;
}

const find = (query: string, more: Partial<SearchRequest> = {}) =>
  search(home.db, { query, caller: OWNER, agentId: "default", now: home.time.now, ...more });
const keys = (query: string, more: Partial<SearchRequest> = {}) => find(query, more).hits.map((hit) => hit.sessionKey);

describe("search", () => {
  test("finds what a running session said one turn ago", () => {
    say("a", ["the lock file is written by the daemon"]);
    expect(keys("lock file")).toEqual(["a"]);
    say("a", ["and the zebra is in the yard"]);
    expect(find("zebra").hits[0]?.snippet).toBe("User: and the zebra is in the yard");
  });

  test("takes quoted words as a phrase and a star as a beginning", () => {
    say("a", ["the lock file is here"]);
    say("b", ["the file has a lock"]);
    expect(keys('"lock file"')).toEqual(["a"]);
    say("c", ["reconciliation of accounts"]);
    expect(keys("reconc*")).toEqual(["c"]);
    expect(keys('"of acc"*')).toEqual([]);
  });

  test("answers a question in plain language with the turn that has most of its telling words", () => {
    say("a", ["we decided that the checkout service retries payments three times"]);
    say("b", ["the weather is nice"]);
    say("c", ["payments are documented elsewhere"]);
    expect(keys("How many times does the checkout service retry payments, and why?")[0]).toBe("a");
    expect(keys("How many times does the checkout service retry payments, and why?")).not.toContain("b");
  });

  test("puts the newer of two equal turns first", () => {
    say("old", ["the zebra ran"], { at: home.time.now - 60 * 24 * 3_600_000 });
    say("new", ["the zebra ran"]);
    say("older", ["the zebra ran"], { at: home.time.now - 90 * 24 * 3_600_000 });
    expect(keys("zebra")).toEqual(["new", "old", "older"]);
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
  ])("is not an error for %j", (query) => {
    say("a", ["near the column of text and not a bar"]);
    expect(() => find(query)).not.toThrow();
  });

  test("is not an error for anything that can be typed", () => {
    say("a", ["some words to find"]);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (query) => Array.isArray(find(query).hits)),
      { numRuns: 300 },
    );
  });

  test("looks only into the named session, or its tree", () => {
    const parent = say("parent", ["zebra one"]);
    const child = say("child", ["zebra two"]);
    say("stranger", ["zebra three"]);
    linkParent(home.db, { childId: child.id, parentId: parent.id, how: "test" });
    expect(keys("zebra", { session: parent })).toEqual(["parent"]);
    expect(keys("zebra", { lineageOf: child }).sort()).toEqual(["child", "parent"]);
  });

  test("filters by project, harness and time", () => {
    say("a", ["zebra"], { project: "/projects/other" });
    say("b", ["zebra"], { harness: "codex" });
    say("c", ["zebra"], { at: home.time.now - 10_000 });
    expect(keys("zebra", { project: "/projects/other" })).toEqual(["a"]);
    expect(keys("zebra", { harness: "codex" })).toEqual(["b"]);
    expect(keys("zebra", { until: home.time.now - 5_000 })).toEqual(["c"]);
    expect(keys("zebra", { since: home.time.now - 5_000 }).sort()).toEqual(["a", "b"]);
    expect(keys("zebra", { project: "/nowhere" })).toEqual([]);
  });

  test("gives page after page without a gap or a repeat", () => {
    say(
      "a",
      Array.from({ length: 25 }, (_, n) => `zebra number ${n}`),
    );
    const pages = [0, 10, 20].map((offset) => find("zebra", { offset, limit: 10 }));
    expect(pages.map(({ hits }) => hits.length)).toEqual([10, 10, 5]);
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, true, false]);
    expect(new Set(pages.flatMap(({ hits }) => hits.map(({ seq }) => seq))).size).toBe(25);
  });

  test("shows no agent the sessions of another, unless one is shared and the other is global", () => {
    say("mine", ["zebra"], { agentId: "red" });
    say("theirs", ["zebra"], { agentId: "blue" });
    expect(keys("zebra", { agentId: "red" })).toEqual(["mine"]);
    home.db.exec("INSERT INTO continuity_agents VALUES ('red', 'shared', 'private')");
    expect(keys("zebra", { agentId: "red" })).toEqual(["mine"]);
    home.db.exec("INSERT INTO continuity_agents VALUES ('blue', 'isolated', 'global')");
    expect(keys("zebra", { agentId: "red" }).sort()).toEqual(["mine", "theirs"]);
    expect(keys("zebra", { agentId: "blue" })).toEqual(["theirs"]);
  });

  test("neither shows a secret nor lets it be guessed", () => {
    say("a", ["the deploy key is API_KEY=hunter2hunter2 for the zebra host"]);
    expect(find("zebra").hits[0]?.snippet).toBe("User: the deploy key is API_KEY=[redacted secret] for the zebra host");
    expect(keys("hunter2hunter2")).toEqual([]);
    expect(keys("hunter2*")).toEqual([]);
  });

  test("cuts a long turn around the match", () => {
    say("a", [`${"many words before ".repeat(100)} zebra ${"and many after ".repeat(100)}`]);
    const { snippet } = find("zebra").hits[0] ?? { snippet: "" };
    expect(snippet).toContain("zebra");
    expect(snippet.length).toBeLessThan(560);
    expect(snippet).toMatch(/^User: … .* …$/);
  });
});
