import { afterEach, beforeEach, expect, test } from "vitest";
import type { CallContext } from "../../tools/tool.ts";
import { foldTranscript, type RecordedEvent } from "../ingest/transcript-fold.ts";
import type { Continuity } from "../records/continuity.ts";
import { type TestHome, testHome } from "../test-home.ts";
import { sessionSearchTool } from "./session-search-tool.ts";

let home: TestHome;
beforeEach(async () => {
  home = testHome();
  const event = (sessionId: string, type: RecordedEvent["type"], data: object, more: object = {}): RecordedEvent => ({
    sessionId,
    type,
    data,
    timestamp: "2026-11-15T12:00:00Z",
    ...more,
  });
  const record = (rootId: string, events: readonly RecordedEvent[]) =>
    home.transcripts.record({ changes: foldTranscript(rootId, events) });
  await record("root", [
    event("root", "session.start", { context: { cwd: "/projects/shop" } }),
    event("root", "user.message", { content: "the pelican plan" }),
    event("kid", "subagent.started", { toolCallId: "c", agentName: "explore" }, { agentId: "kid" }),
  ]);
  await record("elsewhere", [
    event("elsewhere", "session.start", { context: { cwd: "/projects/shop/api" } }),
    event("elsewhere", "user.message", { content: "another pelican" }),
  ]);
  await record("nomad", [
    event("nomad", "user.message", { content: "a nomad pelican" }),
    event("nomad-kid", "subagent.started", { toolCallId: "c", agentName: "explore" }, { agentId: "nomad-kid" }),
  ]);
  await record("bank", [
    event("bank", "session.start", { context: { cwd: "/projects/shopping" } }),
    event("bank", "user.message", { content: "a secret pelican" }),
  ]);
});
afterEach(() => home.close());

async function ask(sessionId: string, args: object, continuity: Continuity = home): Promise<string> {
  // The tool uses nothing of the context but who asks.
  const context = { sessionId } as CallContext;
  return (await (await sessionSearchTool(continuity).prepare(args, context)).run()).text;
}

test("a sub-agent finds what its parent said, and not what strangers did", async () => {
  const text = await ask("kid", { query: "pelican" });
  expect(text).toContain("User: the pelican plan");
  expect(text).not.toContain("another pelican");
});

test("a main agent finds what was said in its earlier sessions", async () => {
  expect(await ask("root", { query: '"another pelican"' })).toContain("elsewhere #1");
});

test("a session without a project finds what was said in its own tree, and nothing else", async () => {
  expect(await ask("nomad", { query: "pelican" })).toMatch(/^[^\n]+nomad #1\nUser: a nomad pelican$/);
  expect(await ask("nomad-kid", { query: "pelican" })).toContain("a nomad pelican");
  expect(await ask("nomad", { query: "pelican", sessionKey: "root" })).toBe(
    "No session root is known in this project.",
  );
  expect(await ask("stranger", { query: "pelican" })).toMatch(/^The session that asks is not known here/);
});

test("an unknown session is said to the model", async () => {
  expect(await ask("root", { query: "pelican", sessionKey: "nobody" })).toBe(
    "No session nobody is known in this project.",
  );
  expect(await ask("root", { query: "walrus" })).toBe("Nothing was found.");
});

test.each(["root", "kid"])("what was said in another project is not found by %s, not even by its name", async (who) => {
  expect(await ask(who, { query: "secret" })).not.toContain("secret pelican");
  expect(await ask(who, { query: "secret", sessionKey: "bank" })).toBe("No session bank is known in this project.");
});

test("what was said in another project is found when the user allows it", async () => {
  const config = { ...home.config, search: { acrossProjects: true } };
  expect(await ask("root", { query: "secret" }, { ...home, config })).toContain("a secret pelican");
});
