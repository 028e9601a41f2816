import { expect, test } from "vitest";
import type { StoredEvent } from "../store/store.ts";
import { openAsks } from "./open-asks.ts";

const event = (type: string, data: object, sessionId = "root"): StoredEvent => ({
  pos: 0,
  type,
  sessionId,
  json: JSON.stringify({ type, data, id: "e", timestamp: "t", parentId: null }),
});
const asked = (requestId: string, toolCallId: string, sessionId?: string) =>
  event(
    "external_tool.requested",
    { requestId, sessionId: "root", toolCallId, toolName: "probe", arguments: {} },
    sessionId,
  );
const permission = (requestId: string, toolCallId: string) =>
  event("permission.requested", {
    requestId,
    permissionRequest: { kind: "read", toolCallId, path: "/x", intention: "look" },
    promptRequest: { kind: "read", toolCallId, path: "/x", intention: "look" },
  });
const ids = (events: StoredEvent[], kept: string[] = []) =>
  openAsks(events, (id) => kept.includes(id)).map(({ requestId }) => requestId);

test("an ask that was not settled is open, with what clients need to answer it", () => {
  const [tool, shell] = openAsks([asked("1", "a", "child"), permission("2", "b")], () => false);
  expect(tool).toEqual({
    requestId: "1",
    kind: "tool",
    sessionId: "child",
    callId: "a",
    payload: { toolCallId: "a", toolName: "probe", arguments: {} },
  });
  expect(shell).toMatchObject({
    requestId: "2",
    kind: "permission",
    callId: "b",
    payload: { promptRequest: { kind: "read", path: "/x" } },
  });
});

test("an ask that was settled, or whose call has ended, is not open", () => {
  expect(ids([asked("1", "a"), event("external_tool.completed", { requestId: "1" })])).toEqual([]);
  expect(
    ids([permission("2", "b"), event("permission.completed", { requestId: "2", result: { kind: "approved" } })]),
  ).toEqual([]);
  expect(ids([asked("1", "a"), event("tool.execution_complete", { toolCallId: "a", success: false })])).toEqual([]);
});

test("the end of a call with the same id in another session does not close it", () => {
  expect(ids([asked("1", "a", "child"), event("tool.execution_complete", { toolCallId: "a", success: true })])).toEqual(
    ["1"],
  );
});

test("an ask with a kept answer is open until its call ends", () => {
  const settled = [asked("1", "a"), event("external_tool.completed", { requestId: "1" })];
  expect(ids(settled, ["1"])).toEqual(["1"]);
  expect(ids([...settled, event("tool.execution_complete", { toolCallId: "a", success: true })], ["1"])).toEqual([]);
});

test("an ask whose event cannot be read is not open, and the others are", () => {
  const broken = event("permission.requested", { requestId: "2", permissionRequest: { kind: "shell" } });
  const torn = { ...asked("3", "c"), json: "{" };
  expect(ids([asked("1", "a"), broken, torn])).toEqual(["1"]);
});
