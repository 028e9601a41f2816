import { expect, test } from "vitest";
import type { LoggedEvent } from "../session/log.ts";
import { Activity } from "./activity.ts";

const event = (type: string, data: object): LoggedEvent =>
  ({ type, data, agentId: "a", id: "e", parentId: null, timestamp: "t", sessionId: "s" }) as unknown as LoggedEvent;
const start = (toolName: string, args: object) => event("tool.execution_start", { toolName, arguments: args });

test("what an agent says itself is its intent until its run ends, and otherwise what its calls are about", () => {
  const activity = new Activity();
  activity.follow([start("view", { path: "a.ts" })]);
  expect(activity.intent("a")).toEqual({ latestIntent: "a.ts" });
  activity.follow([
    start("report_intent", { intent: "Reading the tests" }),
    event("assistant.intent", { intent: "Reading the tests" }),
    start("view", { path: "b.ts" }),
  ]);
  expect(activity.intent("a")).toEqual({ latestIntent: "Reading the tests" });
  expect(activity.recent("a").map(({ message }) => message)).toEqual(["view: a.ts", "Reading the tests", "view: b.ts"]);
  activity.follow([event("subagent.completed", {}), start("view", { path: "c.ts" })]);
  expect(activity.intent("a")).toEqual({ latestIntent: "c.ts" });
});
