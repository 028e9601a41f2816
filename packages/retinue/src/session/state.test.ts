import type { EventData, EventType } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { replay } from "../recovery/replay.ts";
import { smallSession } from "./small-session.ts";
import { SessionState } from "./state.ts";

const asks = (...ids: string[]): EventData<"assistant.message"> => ({
  messageId: "m",
  content: "",
  toolRequests: ids.map((id) => ({ toolCallId: id, name: "bash", arguments: {}, type: "function" as const })),
});
const ended = (toolCallId: string, content = "done"): EventData<"tool.execution_complete"> => ({
  toolCallId,
  success: true,
  result: { content },
  toolTelemetry: {},
});
const roles = (state: SessionState) =>
  state.messages.map((message) => (message.role === "tool" ? `tool ${message.callId}` : message.role));

describe("the conversation", () => {
  test("messages that come while calls are open follow their results", () => {
    using small = smallSession();
    const { session } = small;
    session.append("user.message", { content: "go" });
    session.append("assistant.message", asks("a", "b"));
    session.append("user.message", { content: "wait" });
    session.append("tool.execution_complete", ended("b"));
    session.append("system.notification", { content: "news", kind: { type: "unclassified" } });
    expect(roles(session.state)).toEqual(["user", "assistant", "tool b"]);
    session.append("tool.execution_complete", ended("a"));
    expect(roles(session.state)).toEqual(["user", "assistant", "tool b", "tool a", "user", "user"]);
  });

  test("a request never has a call without a result", () => {
    using small = smallSession();
    small.session.append("assistant.message", asks("a", "b"));
    small.session.append("tool.execution_complete", ended("a"));
    const complete = small.session.state.completeMessages();
    expect(complete.map((message) => (message.role === "tool" ? message.callId : ""))).toEqual(["", "a", "b"]);
    expect(complete.at(-1)).toMatchObject({ failed: true });
    expect(small.session.state.messages).toHaveLength(2);
  });

  test("a second end of a call, or the end of an unknown call, changes nothing", () => {
    using small = smallSession();
    small.session.append("assistant.message", asks("a"));
    small.session.append("tool.execution_complete", ended("a"));
    small.session.append("tool.execution_complete", ended("a", "again"));
    small.session.append("tool.execution_complete", ended("z"));
    expect(roles(small.session.state)).toEqual(["assistant", "tool a"]);
  });

  test("after a compaction it is one message with the prompts and the summary, and the messages that came meanwhile", () => {
    using small = smallSession();
    const { session } = small;
    session.append("user.message", { content: "first" });
    session.append("assistant.message", { messageId: "m", content: "answer" });
    session.append("session.compaction_start", {});
    session.append("user.message", { content: "meanwhile" });
    session.append("session.compaction_complete", { success: true, summaryContent: "what happened" });
    expect(roles(session.state)).toEqual(["user", "user"]);
    expect(session.state.messages[0]).toMatchObject({ content: expect.stringMatching(/first[\s\S]*what happened/) });
  });

  test("a compaction that began while calls were open keeps those calls with their results", () => {
    using small = smallSession();
    const { session } = small;
    session.append("user.message", { content: "go" });
    session.append("assistant.message", asks("a", "b"));
    session.append("tool.execution_complete", ended("a"));
    session.append("session.compaction_start", {});
    session.append("tool.execution_complete", ended("b"));
    session.append("session.compaction_complete", { success: true, summaryContent: "s" });
    expect(roles(session.state)).toEqual(["user", "assistant", "tool a", "tool b"]);
  });

  test("a compaction that failed changes nothing", () => {
    using small = smallSession();
    small.session.append("user.message", { content: "first" });
    small.session.append("session.compaction_start", {});
    small.session.append("session.compaction_complete", { success: false, error: "no" });
    expect(small.session.state.messages).toEqual([{ role: "user", content: "first" }]);
  });
});

describe("what a resumed session goes on with", () => {
  test("the model owes an answer after a prompt and after calls, and not after its own text, an error or an abort", () => {
    const due = (
      ...events: { type: "user.message" | "assistant.message" | "session.error" | "abort"; data: object }[]
    ) => {
      const state = new SessionState();
      for (const event of events) state.apply(event);
      return state.isModelDue;
    };
    const user = { type: "user.message", data: { content: "hi" } } as const;
    expect(due(user)).toBe(true);
    expect(due(user, { type: "assistant.message", data: asks("a") })).toBe(true);
    expect(due(user, { type: "assistant.message", data: { messageId: "m", content: "hi" } })).toBe(false);
    expect(due(user, { type: "session.error", data: { errorType: "query", message: "no" } })).toBe(false);
    expect(due(user, { type: "abort", data: { reason: "user_initiated" } })).toBe(false);
  });

  test("an open call knows whether it started, was approved, and was sent to the host", () => {
    using small = smallSession();
    const { session } = small;
    session.append("assistant.message", asks("a"));
    session.append("tool.execution_start", { toolCallId: "a", toolName: "bash" });
    const request = { kind: "memory" as const, toolCallId: "a", action: "store" as const, subject: "s", fact: "f" };
    session.append("permission.requested", { requestId: "p", permissionRequest: request as never });
    session.append("permission.completed", { requestId: "p", toolCallId: "a", result: { kind: "approved" } });
    session.append("external_tool.requested", { requestId: "x", sessionId: "root", toolCallId: "a", toolName: "bash" });
    session.append("external_tool.completed", { requestId: "x" });
    expect(session.state.openCalls.get("a")).toMatchObject({
      isStarted: true,
      permission: { requestId: "p", isDecided: true, isApproved: true },
      external: { requestId: "x", isCompleted: true },
    });
  });

  test("a replay of the stored log gives the same state", async () => {
    using small = smallSession();
    const { session } = small;
    session.append("user.message", { content: "go" });
    session.append("assistant.message", asks("a", "b"));
    session.append("user.message", { content: "wait" });
    session.append("tool.execution_complete", ended("b"));
    session.append("session.mode_changed", { previousMode: "interactive", newMode: "plan" });
    await small.log.committed();
    const { state: again } = replay(await small.store.events.read("root"), "root");
    expect(again).toEqual(session.state);
    expect(again.completeMessages()).toEqual(session.state.completeMessages());
  });
});

type Step = { [T in EventType]: { type: T; data: EventData<T> } }[EventType];
const step = <T extends EventType>(type: T, data: EventData<T>) => ({ type, data }) as Extract<Step, { type: T }>;

function fold(...steps: readonly Step[]): SessionState {
  const state = new SessionState();
  for (const each of steps) state.apply(each);
  return state;
}

const user = (content: string, more: Partial<EventData<"user.message">> = {}) =>
  step("user.message", { content, ...more });
const texts = ({ messages }: SessionState) =>
  messages.map((message) => (message.role === "user" ? message.content : message.text));
const hook = (hookType: string, additionalContext: string) =>
  step("hook.end", { hookInvocationId: "h", hookType, success: true, output: { additionalContext } });

test("context from a session-start hook comes before the first prompt, context from a call's hook after its results", () => {
  expect(texts(fold(user("go"), hook("sessionStart", "welcome")))).toEqual(["welcome", "go"]);
  const open = [user("go"), step("assistant.message", asks("a")), hook("preToolUse", "careful")] as const;
  expect(texts(fold(...open, step("tool.execution_complete", ended("a"))))).toEqual(["go", "", "done", "careful"]);
  expect(texts(fold(user("go"), hook("userPromptSubmitted", "in the prompt already")))).toEqual(["go"]);
});

test("the model reads the transformed prompt, and the title is the first line as the user wrote it", () => {
  const state = fold(
    user("from the runtime", { source: "system" }),
    user("\nshort\nmore", { transformedContent: "long" }),
  );
  expect(texts(state)).toEqual(["from the runtime", "long"]);
  expect([state.title, state.userPrompts]).toEqual(["short", 1]);
  expect(fold(user("x".repeat(200))).title).toHaveLength(80);
});

test("a truncation drops the oldest messages; clearing drops all, including those that waited for a call", () => {
  const cut = step("session.truncation", {
    tokenLimit: 9,
    preTruncationTokensInMessages: 3,
    preTruncationMessagesLength: 3,
    postTruncationTokensInMessages: 1,
    postTruncationMessagesLength: 1,
    tokensRemovedDuringTruncation: 2,
    messagesRemovedDuringTruncation: 2,
    performedBy: "test",
  });
  expect(texts(fold(user("one"), user("two"), user("three"), cut))).toEqual(["three"]);
  const open = [user("one"), step("assistant.message", asks("a")), user("behind")] as const;
  const clear = step("session.context_cleared", { messagesCleared: 2 });
  const cleared = fold(...open, clear);
  expect([cleared.messages, cleared.openCalls.size, cleared.isModelDue]).toEqual([[], 0, false]);
  const later = fold(...open, clear, step("assistant.message", asks("b")), step("tool.execution_complete", ended("b")));
  expect(texts(later)).toEqual(["", "done"]);
});

test("images of a prompt are parts of it, and images of a result follow the whole batch", () => {
  const image = { type: "blob" as const, mimeType: "image/png", data: "AAAA" };
  const pdf = { type: "blob" as const, mimeType: "application/pdf", data: "AAAA" };
  const part = { type: "image", mimeType: "image/png", data: "AAAA" };
  expect(texts(fold(user("look", { attachments: [image, pdf] })))).toEqual([[{ type: "text", text: "look" }, part]]);
  expect(texts(fold(user("look", { attachments: [pdf] })))).toEqual(["look"]);
  const seen = { ...ended("a"), result: { content: "A", binaryResultsForLlm: [{ ...image, type: "image" as const }] } };
  const state = fold(
    step("assistant.message", asks("a", "b")),
    step("tool.execution_complete", seen),
    step("tool.execution_complete", ended("b")),
  );
  expect(roles(state)).toEqual(["assistant", "tool a", "tool b", "user"]);
  expect(texts(state).at(-1)).toContainEqual(part);
});

test("a rejected call ends the turn, and the model owes no answer to a command of the user", () => {
  const rejected = { toolCallId: "a", success: false, error: { message: "no", code: "rejected" } };
  const open = [user("go"), step("assistant.message", asks("a"))] as const;
  expect(fold(...open, step("tool.execution_complete", ended("a"))).isModelDue).toBe(true);
  expect(fold(...open, step("tool.execution_complete", rejected)).isModelDue).toBe(false);
  const own = { toolCallId: "own", success: true, isUserRequested: true, modelText: "the user ran ls" };
  const state = fold(
    step("assistant.message", { messageId: "m", content: "hi" }),
    step("tool.execution_complete", own),
  );
  expect([texts(state), state.isModelDue]).toEqual([["hi", "the user ran ls"], false]);
});

test("files and lines are counted from the diffs of calls, except failed ones", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n+more\n same";
  const writes = (name: string, path: string, success: boolean) => [
    step("assistant.message", {
      messageId: "m",
      content: "",
      toolRequests: [{ toolCallId: path, name, arguments: { path } }],
    }),
    step("tool.execution_complete", { toolCallId: path, success, result: { content: "", detailedContent: diff } }),
  ];
  const state = fold(...writes("edit", "x", true), ...writes("create", "y", false), ...writes("view", "z", true));
  expect([[...state.filesModified], state.linesAdded, state.linesRemoved]).toEqual([["x"], 2, 1]);
});
