import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inheritBlock } from "../recall/inherit.ts";
import { lineageTree } from "../records/lineage.ts";
import { type TestHome, testHome } from "../test-home.ts";
import { foldTranscript, type RecordedEvent } from "./transcript-fold.ts";

let home: TestHome;
beforeEach(() => {
  home = testHome();
});
afterEach(() => home.close());

const event = (sessionId: string, type: RecordedEvent["type"], data: object, more: object = {}): RecordedEvent => ({
  sessionId,
  type,
  data,
  timestamp: "2026-11-15T12:00:00.000Z",
  ...more,
});
const record = (...events: RecordedEvent[]) => home.transcripts.record({ changes: foldTranscript("root", events) });
const turnsOf = async (key: string) => await home.transcripts.turns.read((await only(key)).id);
const only = async (key: string) => {
  const [session] = await home.transcripts.sessions.byKey(key);
  if (!session) throw new Error(`no session ${key}`);
  return session;
};

describe("the transcript of our own sessions", () => {
  test("is what was said and called, in order, each in its own session", async () => {
    await record(
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
    expect((await turnsOf("root")).map(({ role, tool, text }) => [role, tool, text])).toEqual([
      ["user", undefined, "look around"],
      ["assistant", undefined, "I will"],
      ["assistant", "task", '{"prompt":"look"}'],
      ["tool", undefined, "found it"],
    ]);
    expect((await turnsOf("kid")).map(({ text }) => text)).toEqual(["look"]);
    expect((await only("kid")).project).toBe("/projects/shop");
  });

  test("has the words of a failure, and neither what was not said nor what the runtime told itself", () => {
    const changes = foldTranscript("root", [
      event("root", "tool.execution_complete", { toolCallId: "c", success: false, error: { message: "no such file" } }),
      event("root", "assistant.message", { content: "", messageId: "m" }),
      event("root", "user.message", { content: "go on", isAutopilotContinuation: true }),
      event("root", "session.idle", {}),
    ]);
    const session = { agentId: "default", harness: "retinue", sessionKey: "root" };
    const at = Date.parse("2026-11-15T12:00:00.000Z");
    expect(changes).toEqual([
      { type: "turns", session, at, turns: [{ role: "tool", callId: "c", text: "no such file" }] },
    ]);
  });

  test("ends with its session or its sub-agent, and says how", () => {
    const changes = foldTranscript("root", [
      event("kid", "subagent.completed", { cancelled: true }, { agentId: "kid" }),
      event("kid", "subagent.failed", {}, { agentId: "kid" }),
      event("root", "session.shutdown", { shutdownType: "routine" }),
    ]);
    const ended = changes.map((change) => [change.session.sessionKey, change.type === "ended" && change.reason]);
    expect(ended).toEqual([
      ["kid", "cancelled"],
      ["kid", "failed"],
      ["root", "routine"],
    ]);
  });

  test("records who started whom, at every depth", async () => {
    await record(
      event("root", "session.start", { context: { cwd: "/projects/shop" } }),
      event("kid", "subagent.started", { toolCallId: "c1", agentName: "explore" }, { agentId: "kid" }),
      event(
        "grandkid",
        "subagent.started",
        { toolCallId: "c2", agentName: "task", parentId: "kid" },
        { agentId: "grandkid" },
      ),
    );
    const session = await only("grandkid");
    const sessions = await home.transcripts.sessions.tree(session.id);
    const tree = lineageTree(sessions, { session, isVisible: () => true });
    expect([tree.sessionKey, tree.children[0]?.sessionKey, tree.children[0]?.children[0]?.sessionKey]).toEqual([
      "root",
      "kid",
      "grandkid",
    ]);
  });

  test("takes a compaction as a checkpoint, so that a child is told the summary and what came after", async () => {
    await record(
      event("root", "user.message", { content: "long ago" }),
      event("root", "session.compaction_complete", { success: true, summaryContent: "we built a shop" }),
      event("root", "session.compaction_complete", { success: false, error: "no" }),
      event("root", "user.message", { content: "now paint it" }),
    );
    const block = await inheritBlock(home.transcripts, await only("root"), { tailChars: 3_000, maxChars: 9_500 });
    expect(block).toContain("Checkpoint:\n  we built a shop\nRecent context:\n  User: now paint it");
    expect(block).not.toContain("long ago");
  });
});
