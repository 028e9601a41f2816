import type { SessionEvent } from "@retinue/protocol";
import { expect, test } from "vitest";
import { openAsks, walk } from "./agent-node.ts";
import { interruptedTreeOf } from "./interrupted-tree.ts";
import { renderTree } from "./tree-text.ts";

let count = 0;

function event(type: string, data: object = {}, agentId?: string): SessionEvent {
  const id = String(++count);
  const timestamp = new Date(1_000 * count).toISOString();
  return { type, data, id, parentId: null, timestamp, ...(agentId && { agentId }) } as SessionEvent;
}

const started = (id: string) =>
  event(
    "subagent.started",
    { toolCallId: `call-${id}`, agentName: id, agentDisplayName: id, agentDescription: "" },
    id,
  );
const prompt = () => event("user.message", { content: "p" });
const answer = (toolRequests: object[] = []) =>
  event("assistant.message", { messageId: "m", content: "a", toolRequests });
const shape = (events: SessionEvent[]) =>
  walk(interruptedTreeOf(events)).map(({ name, status }) => `${name} ${status}`);

test("who was at work is interrupted, with the time of the last event as its end", () => {
  const events = [
    prompt(),
    answer([{ toolCallId: "call-a", name: "task", arguments: {} }]),
    started("a"),
    started("b"),
  ];
  expect(shape(events)).toEqual(["main interrupted", "a interrupted", "b interrupted"]);
  const tree = interruptedTreeOf(events);
  expect(renderTree(tree, { now: 1e12 })).toContain("interrupted");
  expect(walk(tree).map(({ endedAt }) => endedAt)).toEqual(Array(3).fill(Date.parse(events.at(-1)?.timestamp ?? "")));
});

test("who had ended keeps its end, and a main agent that had answered rests", () => {
  const over = event("subagent.completed", { toolCallId: "call-a", agentName: "a", agentDisplayName: "a" }, "a");
  expect(shape([prompt(), started("a"), over, answer()])).toEqual(["main idle", "a completed"]);
  expect(shape([prompt(), answer(), prompt()])).toEqual(["main interrupted"]);
  expect(shape([])).toEqual(["main idle"]);
});

test("nothing is asked any more", () => {
  const ask = event("permission.requested", { requestId: "r", permissionRequest: { kind: "shell" } });
  expect(openAsks(interruptedTreeOf([prompt(), ask]))).toEqual([]);
});
