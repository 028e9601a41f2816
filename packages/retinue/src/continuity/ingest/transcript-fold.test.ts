import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inheritBlock } from "../recall/inherit.ts";
import { lineageTree } from "../records/lineage.ts";
import { readTurns, sessionsByKey } from "../records/transcripts.ts";
import { type TestHome, testHome } from "../test-home.ts";
import { recordTranscript } from "./transcript-fold.ts";

let home: TestHome;
beforeEach(() => {
  home = testHome();
});
afterEach(() => home.db.close());

const event = (sessionId: string, type: string, data: object, more: object = {}) => ({
  sessionId,
  type,
  json: JSON.stringify({ type, data, id: "x", timestamp: "2026-11-15T12:00:00.000Z", parentId: null, ...more }),
});
const record = (...events: ReturnType<typeof event>[]) => recordTranscript(home.db, "root", events);
const only = (key: string) => {
  const [session] = sessionsByKey(home.db, key);
  if (!session) throw new Error(`no session ${key}`);
  return session;
};

describe("the transcript of our own sessions", () => {
  test("is what was said and called, in order, each in its own session", () => {
    record(
      event("root", "session.start", { context: { cwd: "/projects/shop" } }),
      event("root", "user.message", { content: "look around" }),
      event("root", "assistant.message", { content: "I will", messageId: "m" }),
      event("root", "tool.execution_start", { toolCallId: "c1", toolName: "task", arguments: { prompt: "look" } }),
      event(
        "kid",
        "subagent.started",
        { toolCallId: "c1", agentName: "explore", agentDisplayName: "Explore" },
        { agentId: "kid" },
      ),
      event("kid", "user.message", { content: "look" }, { agentId: "kid" }),
      event("kid", "assistant.message", { content: "", messageId: "m" }, { agentId: "kid" }),
      event("root", "tool.execution_complete", { toolCallId: "c1", success: true, result: { content: "found it" } }),
      event("root", "assistant.turn_end", { turnId: "0" }),
    );
    expect(readTurns(home.db, only("root").id).map(({ role, tool, text }) => [role, tool, text])).toEqual([
      ["user", undefined, "look around"],
      ["assistant", undefined, "I will"],
      ["assistant", "task", '{"prompt":"look"}'],
      ["tool", undefined, "found it"],
    ]);
    expect(readTurns(home.db, only("kid").id).map(({ text }) => text)).toEqual(["look"]);
    expect(only("kid").project).toBe("/projects/shop");
  });

  test("records who started whom, at every depth", () => {
    record(
      event("root", "session.start", { context: { cwd: "/projects/shop" } }),
      event("kid", "subagent.started", { toolCallId: "c1", agentName: "explore" }, { agentId: "kid" }),
      event(
        "grandkid",
        "subagent.started",
        { toolCallId: "c2", agentName: "task", parentId: "kid" },
        { agentId: "grandkid" },
      ),
    );
    const tree = lineageTree(home.db, only("grandkid"));
    expect([tree.sessionKey, tree.children[0]?.sessionKey, tree.children[0]?.children[0]?.sessionKey]).toEqual([
      "root",
      "kid",
      "grandkid",
    ]);
  });

  test("takes a compaction as a checkpoint, so that a child is told the summary and what came after", () => {
    record(
      event("root", "user.message", { content: "long ago" }),
      event("root", "session.compaction_complete", { success: true, summaryContent: "we built a shop" }),
      event("root", "session.compaction_complete", { success: false, error: "no" }),
      event("root", "user.message", { content: "now paint it" }),
    );
    const block = inheritBlock(home.db, only("root"), { tailChars: 3_000, maxChars: 9_500 });
    expect(block).toContain("Checkpoint:\n  we built a shop\nRecent context:\n  User: now paint it");
    expect(block).not.toContain("long ago");
  });
});
