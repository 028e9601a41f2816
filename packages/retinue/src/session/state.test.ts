import type { EventData } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
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
  test("what is said while calls are open follows their results", () => {
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

  test("an end that comes twice, or for a call that nobody made, changes nothing", () => {
    using small = smallSession();
    small.session.append("assistant.message", asks("a"));
    small.session.append("tool.execution_complete", ended("a"));
    small.session.append("tool.execution_complete", ended("a", "again"));
    small.session.append("tool.execution_complete", ended("z"));
    expect(roles(small.session.state)).toEqual(["assistant", "tool a"]);
  });

  test("after a compaction it is one message with the prompts and the summary, and what came meanwhile", () => {
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
  test("the model owes an answer after a prompt and after calls, and not after its own words, an error or an abort", () => {
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

  test("an open call knows whether it began, was approved, and was asked of the host", () => {
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

  test("a replay of the stored log gives the same state", () => {
    using small = smallSession();
    const { session } = small;
    session.append("user.message", { content: "go" });
    session.append("assistant.message", asks("a", "b"));
    session.append("user.message", { content: "wait" });
    session.append("tool.execution_complete", ended("b"));
    session.append("session.mode_changed", { previousMode: "interactive", newMode: "plan" });
    small.log.flush();
    const again = new SessionState();
    for (const { json } of small.store.events("root")) again.apply(JSON.parse(json));
    expect(again).toEqual(session.state);
    expect(again.completeMessages()).toEqual(session.state.completeMessages());
  });
});
