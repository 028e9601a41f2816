/** One prompt and what follows: the order of events, their envelopes, and what the model is asked. */
import type { SessionEvent } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, calls, chunks, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const echo = (seen: unknown[] = []) => ({
  name: "echo",
  description: "Repeats.",
  parameters: { type: "object", properties: { text: { type: "string" } } },
  handler: (args: unknown) => {
    seen.push(args);
    return `echo ${JSON.stringify(args)}`;
  },
});

const PLAIN_TURN = [
  "user.message",
  "system.message",
  "assistant.turn_start",
  "assistant.message",
  "assistant.turn_end",
  "assistant.idle",
  "session.idle",
];

test("a plain turn tells its story in this order", async () => {
  await using talk = await openTalk(world);
  talk.model.script(say("four"));
  expect(await talk.ask("What is 2+2?")).toBe("four");
  expect(talk.record.story()).toEqual(["session.start", ...PLAIN_TURN]);
});

test("send returns the id that the message events carry", async () => {
  await using talk = await openTalk(world);
  const messageId = await talk.session.send({ prompt: "hi" });
  await talk.record.until("session.idle");
  expect(talk.record.one("user.message").data).toMatchObject({ content: "hi", messageId, delivery: "idle" });
  expect(talk.record.one("assistant.message").data).toMatchObject({ content: "ok", originatingMessageId: messageId });
});

test("sendAndWait resolves with the last message of the run", async () => {
  await using talk = await openTalk(world, { tools: [echo()] });
  talk.model.script(call("echo", { text: "x" }), say("after the tool"));
  const answer = await talk.session.sendAndWait("hi");
  expect(answer?.data.content).toBe("after the tool");
});

test("the model is asked with the system message first and the prompt last", async () => {
  await using talk = await openTalk(world);
  await talk.ask("a unique prompt");
  const { body, headers, messages, path } = talk.model.lastRequest;
  expect(path).toMatch(/\/v1\/chat\/completions$/);
  expect(headers.authorization).toBe("Bearer test-key");
  expect(body.model).toBe("scripted");
  expect(body.stream ?? false).toBe(false);
  expect(messages.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(talk.model.lastRequest.lastText).toContain("a unique prompt");
});

test("a second turn sends the first one along, unchanged", async () => {
  await using talk = await openTalk(world);
  talk.model.script(say("first answer"), say("second answer"));
  await talk.ask("first prompt");
  await talk.ask("second prompt");
  const [one, two] = talk.model.requests;
  expect(two?.messages.slice(0, 2)).toEqual(one?.messages);
  expect(two?.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(two?.texts("assistant")).toEqual(["first answer"]);
});

test("a turn with one host tool tells its story in this order", async () => {
  await using talk = await openTalk(world, { tools: [echo()] });
  talk.model.script(call("echo", { text: "x" }, "call-1"), say("done"));
  await talk.ask("use the tool");
  // The other runtime may send the end of an ask after the event that follows from it.
  const isLate = (type: string) => !ours && /^(permission|external_tool)\.completed$/.test(type);
  const whole = [
    "session.start",
    "user.message",
    "system.message",
    "assistant.turn_start",
    "assistant.message",
    "tool.execution_start",
    "permission.requested",
    "permission.completed",
    "external_tool.requested",
    "external_tool.completed",
    "tool.execution_complete",
    "assistant.turn_end",
    "assistant.turn_start",
    "assistant.message",
    "assistant.turn_end",
    "assistant.idle",
    "session.idle",
  ];
  expect(talk.record.story().filter((type) => !isLate(type))).toEqual(whole.filter((type) => !isLate(type)));
  expect(talk.record.all("assistant.turn_start").map(({ data }) => data.turnId)).toEqual(["0", "1"]);
  expect(talk.record.all("assistant.message")[0]?.data.toolRequests).toMatchObject([
    { toolCallId: "call-1", name: "echo", arguments: { text: "x" } },
  ]);
  const ids = ["tool.execution_start", "external_tool.requested", "tool.execution_complete"] as const;
  for (const type of ids) expect(talk.record.one(type).data.toolCallId).toBe("call-1");
});

test("the model reads the result of the tool under the id of its call", async () => {
  await using talk = await openTalk(world, { tools: [echo()] });
  talk.model.script(call("echo", { text: "x" }, "call-1"), say("done"));
  await talk.ask("use the tool");
  const [assistant, tool] = talk.model.lastRequest.messages.slice(-2);
  expect(assistant).toMatchObject({ role: "assistant", tool_calls: [{ id: "call-1", function: { name: "echo" } }] });
  expect(tool).toMatchObject({ role: "tool", tool_call_id: "call-1", content: 'echo {"text":"x"}' });
});

test("the calls of one answer all start before any of them ends, and run at the same time", async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = { name: "slow", description: "Waits.", parameters: { type: "object" }, handler: () => gate };
  const quick = { ...echo(), handler: () => release() };
  await using talk = await openTalk(world, { tools: [slow, quick] });
  talk.model.script(calls([{ name: "slow" }, { name: "echo", args: { text: "x" } }]), say("done"));
  await talk.ask("use both");
  const story = talk.record.story().filter((type) => type.startsWith("tool."));
  expect(story).toEqual([
    "tool.execution_start",
    "tool.execution_start",
    "tool.execution_complete",
    "tool.execution_complete",
  ]);
  expect(talk.record.all("tool.execution_start").map(({ data }) => data.toolName)).toEqual(["slow", "echo"]);
  expect(talk.model.lastRequest.texts("tool")).toHaveLength(2);
});

test("a streamed turn sends the text in deltas under the id of the message", async () => {
  await using talk = await openTalk(world, { streaming: true });
  talk.model.script(chunks(20));
  const answer = await talk.ask("stream");
  expect(talk.model.lastRequest.body.stream).toBe(true);
  const message = talk.record.one("assistant.message");
  const deltas = talk.record.all("assistant.message_delta");
  expect(deltas.map(({ data }) => data.deltaContent).join("")).toBe(answer);
  expect(new Set(deltas.map(({ data }) => data.messageId))).toEqual(new Set([message.data.messageId]));
  expect(deltas.every(({ ephemeral }) => ephemeral)).toBe(true);
  const story = talk.record.story().filter((type, at, all) => type !== all[at - 1]);
  expect(story).toEqual([
    "session.start",
    "user.message",
    "system.message",
    "assistant.turn_start",
    "assistant.message_start",
    "assistant.message_delta",
    "assistant.message",
    "assistant.turn_end",
    "assistant.idle",
    "session.idle",
  ]);
});

test("streamed reasoning comes before the text and is repeated whole", async () => {
  await using talk = await openTalk(world, { streaming: true });
  talk.model.script(say("so it is", { reasoning: "let me think" }));
  await talk.ask("think");
  const story = talk.record.story();
  expect(story.indexOf("assistant.reasoning_delta")).toBeLessThan(story.indexOf("assistant.message_delta"));
  expect(talk.record.one("assistant.reasoning").data.content).toBe("let me think");
  expect(talk.record.one("assistant.message").data.reasoningText).toBe("let me think");
});

test("a streamed tool call shows its arguments as they come", async () => {
  const seen: unknown[] = [];
  await using talk = await openTalk(world, { streaming: true, tools: [echo(seen)] });
  talk.model.script(call("echo", { text: "piece by piece" }, "call-1"), say("done"));
  await talk.ask("use the tool");
  const pieces = talk.record.all("assistant.tool_call_delta").map(({ data }) => data.inputDelta);
  expect(JSON.parse(pieces.join(""))).toEqual({ text: "piece by piece" });
  expect(seen).toEqual([{ text: "piece by piece" }]);
});

test("reasoning of a model that does not stream reaches the message and goes back to the model", async () => {
  await using talk = await openTalk(world, { tools: [echo()] });
  talk.model.script(calls([{ name: "echo", args: {} }], { reasoning: "a tool will help" }), say("done"));
  await talk.ask("think");
  expect(talk.record.all("assistant.message")[0]?.data.reasoningText).toBe("a tool will help");
  expect(talk.model.lastRequest.messages.at(-2)?.reasoning_content).toBe("a tool will help");
});

test("the usage of a model call is reported", async () => {
  await using talk = await openTalk(world);
  talk.model.script(say("ok", { usage: { prompt: 321, completion: 7 } }));
  await talk.ask("hi");
  expect(talk.record.one("assistant.usage").data).toMatchObject({
    inputTokens: 321,
    outputTokens: 7,
    model: "scripted",
  });
});

test("stored events form one chain from session.start, and ephemeral ones point into it", async () => {
  await using talk = await openTalk(world, { tools: [echo()] });
  talk.model.script(call("echo", { text: "x" }), say("done"));
  await talk.ask("one");
  await talk.ask("two");
  const stored = await talk.session.getEvents();
  expect(stored[0]).toMatchObject({ type: "session.start", parentId: null });
  for (const [at, event] of stored.entries()) expect(event.parentId).toBe(stored[at - 1]?.id ?? null);
  const ids = new Set(stored.map(({ id }) => id));
  for (const event of talk.record.events.filter(({ ephemeral }) => ephemeral)) {
    expect(ids.has(event.id)).toBe(false);
    expect(event.parentId === null || ids.has(event.parentId)).toBe(true);
  }
});

test("getEvents returns what was told live, without the ephemeral part", async () => {
  await using talk = await openTalk(world, { streaming: true, tools: [echo()] });
  talk.model.script(call("echo", { text: "x" }), chunks(5));
  await talk.ask("one");
  const told = talk.record.events.filter(({ ephemeral }) => !ephemeral);
  const stored = await talk.session.getEvents();
  const ids = (events: SessionEvent[]) => events.map(({ id }) => id);
  expect(ids(stored).sort()).toEqual(ids(told).sort());
  // The other runtime may send the end of a host tool after the event that follows it in the log.
  if (ours) expect(ids(stored)).toEqual(ids(told));
});

test("every event has an id of its own, a time and data", async () => {
  await using talk = await openTalk(world);
  await talk.ask("hi");
  const { events } = talk.record;
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (const event of events) {
    expect(Date.parse(event.timestamp)).toBeGreaterThan(0);
    expect(event.data).toBeTypeOf("object");
  }
});

test("session.idle and the deltas are ephemeral, messages are not", async () => {
  await using talk = await openTalk(world);
  await talk.ask("hi");
  expect(talk.record.one("session.idle").ephemeral).toBe(true);
  expect(talk.record.one("assistant.idle").ephemeral).toBe(true);
  expect(talk.record.one("assistant.message").ephemeral).toBeFalsy();
});

test("displayPrompt is shown while the model reads the prompt", async () => {
  await using talk = await openTalk(world);
  await talk.session.rpc.send({ prompt: "the long prompt", displayPrompt: "short" });
  await talk.record.until("session.idle");
  expect(talk.record.one("user.message").data.content).toBe("short");
  expect(talk.model.lastRequest.lastText).toContain("the long prompt");
});

test("two sessions run at the same time and do not mix", async () => {
  await using one = await openTalk(world);
  await using two = await openTalk(world);
  one.model.script(async () => {
    await two.record.until("session.idle");
    return say("I waited for the other");
  });
  two.model.script(say("I was quick"));
  expect(await Promise.all([one.ask("a"), two.ask("b")])).toEqual(["I waited for the other", "I was quick"]);
});

test("a prompt of a megabyte and an answer of a megabyte pass whole", async () => {
  await using talk = await openTalk(world);
  const large = "0123456789".repeat(100_000);
  talk.model.script(say(large));
  expect(await talk.ask(large)).toBe(large);
  expect(talk.model.lastRequest.lastText).toContain(large);
});

test("several prompts can be sent at once and are answered in their order", async () => {
  await using talk = await openTalk(world);
  const { messageIds } = await talk.session.rpc.sendMessages({ messages: [{ prompt: "one" }, { prompt: "two" }] });
  expect(messageIds).toHaveLength(2);
  await talk.record.until("session.idle");
  expect(talk.record.all("user.message").map(({ data }) => data.content)).toEqual(["one", "two"]);
});
