import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type AnyEvent,
  EVENTS,
  isEventType,
  isKnownEvent,
  isPersisted,
  parseEvent,
  type SessionEvent,
} from "./index.ts";

const folder = new URL("./fixtures/", import.meta.url);
const recorded: { file: string; event: { type: string; ephemeral?: boolean } }[] = readdirSync(folder).flatMap((file) =>
  JSON.parse(readFileSync(new URL(file, folder), "utf8")).map((event: { type: string }) => ({ file, event })),
);

/** Types whose events may be kept or ephemeral. */
const EITHER = new Set(["session.info", "external_tool.completed"]);

const envelope = (type: string, data: unknown) => ({ type, data, id: "e1", timestamp: "t", parentId: null });

describe("recorded events", () => {
  test("every one is of a known type and parses unchanged", () => {
    for (const { event } of recorded) {
      expect(isEventType(event.type), event.type).toBe(true);
      expect(parseEvent(structuredClone(event))).toEqual(event);
    }
  });

  test("stored and ephemeral agree with the table", () => {
    for (const { event } of recorded) {
      if (!isEventType(event.type) || EITHER.has(event.type)) continue;
      expect(isPersisted(event.type), event.type).toBe(event.ephemeral !== true);
    }
  });

  test("every file has the events of its own section", () => {
    for (const { file, event } of recorded) expect(`${sectionOf(event.type)}.json`, event.type).toBe(file);
  });
});

describe("parseEvent", () => {
  test("an unknown type passes with its data, and is not taken for a known one", () => {
    const strange = envelope("session.from_the_future", { any: [1, 2] });
    const parsed = parseEvent(strange);
    expect(parsed).toBe(strange);
    expect(isKnownEvent(parsed)).toBe(false);
    expect(isKnownEvent(parseEvent(envelope("constructor", {})))).toBe(false);
  });

  test("unknown fields of a known type are kept", () => {
    const event = envelope("session.idle", { aborted: true, mood: "calm" });
    expect(parseEvent(event)).toEqual(event);
    expect(EVENTS["session.idle"].data().parse(event.data)).toEqual(event.data);
  });

  test("a known type with wrong data is refused with the name of the field", () => {
    expect(() => parseEvent(envelope("assistant.message", { content: 5 }))).toThrow(
      /^malformed assistant\.message event: messageId: /,
    );
  });

  test("what is no envelope is refused", () => {
    for (const value of [
      null,
      1,
      "x",
      [],
      {},
      { ...envelope("session.idle", {}), id: 5 },
      envelope("session.idle", null),
    ]) {
      expect(() => parseEvent(value)).toThrow(/^malformed event: /);
    }
  });

  test("our own fields of sub-agents and asks are part of the types", () => {
    const started = parseEvent(
      envelope("subagent.started", {
        toolCallId: "c",
        agentName: "explore",
        agentDisplayName: "Explore",
        agentDescription: "looks",
        remoteSessionId: "s2",
        path: ["a1"],
      }),
    );
    expect(describeEvent(started)).toBe("s2 a1");
    expect(() => parseEvent(envelope("subagent.failed", { reason: "bored" }))).toThrow(/malformed/);
  });
});

/** Compiles only while `isKnownEvent` and `case` narrow the union. */
function describeEvent(event: AnyEvent): string {
  if (!isKnownEvent(event)) return String(event.data.any);
  switch (event.type) {
    case "subagent.started":
      return `${event.data.remoteSessionId} ${event.data.path?.join("/")}`;
    case "permission.requested":
      return event.data.permissionRequest.kind === "shell" ? event.data.permissionRequest.fullCommandText : "";
    default:
      return (event satisfies SessionEvent).id;
  }
}

function sectionOf(type: string): string {
  if (type.startsWith("subagent.")) return "subagents";
  if (/^(permission|hook|user_input|elicitation|exit_plan_mode|command)/.test(type)) return "asks";
  if (type.includes("mcp")) return "mcp";
  if (type.includes("skill")) return "skills";
  if (/^(tool|external_tool)\./.test(type)) return "tools";
  return type.startsWith("session.") ? "session" : "conversation";
}
