/** Tools that run in the host program: every kind of result, and what the log and the model get from it. */
import type { ToolResultObject } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, calls, say } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const tool = (handler?: () => unknown, extra: object = {}) => ({
  name: "probe",
  description: "Probes.",
  parameters: { type: "object", properties: { depth: { type: "number" } } },
  skipPermission: true,
  ...(handler ? { handler } : {}),
  ...extra,
});

/** Lets the model call the tool once; returns the end of the call and what the model read. */
async function useOnce(talk: Talk) {
  talk.model.script(call("probe", { depth: 3 }, "call-1"), say("went on"));
  const said = await talk.ask("probe it");
  const { data } = talk.record.one("tool.execution_complete");
  return { data, said, read: talk.model.lastRequest.texts("tool").at(-1), asked: talk.model.requests.length };
}

const result = (
  resultType: ToolResultObject["resultType"],
  extra: Partial<ToolResultObject> = {},
): ToolResultObject => ({
  textResultForLlm: `text of ${resultType}`,
  resultType,
  ...extra,
});

test.each([
  ["a string", () => "plain text", "plain text"],
  ["an object of its own", () => ({ a: 1, b: [2] }), '{"a":1,"b":[2]}'],
  ["nothing", () => undefined, ""],
  ["a success object", () => result("success"), "text of success"],
])("a handler that returns %s succeeds with that text", async (_, handler, text) => {
  await using talk = await openTalk(world, { tools: [tool(handler)] });
  const { data, read, said } = await useOnce(talk);
  expect(data).toMatchObject({ toolCallId: "call-1", success: true, result: { content: text } });
  expect(data.error).toBeUndefined();
  expect(read).toBe(text);
  expect(said).toBe("went on");
});

test("sessionLog is what people see, the text is what the model reads", async () => {
  const handler = () => result("success", { sessionLog: "for people" });
  await using talk = await openTalk(world, { tools: [tool(handler)] });
  const { data, read } = await useOnce(talk);
  expect(data.result).toMatchObject({ content: "text of success", detailedContent: "for people" });
  expect(read).toBe("text of success");
});

test.each(["failure", "denied", "timeout"] as const)(
  "the result %s is told to the model and the run goes on",
  async (kind) => {
    const handler = () => result(kind, { error: "the reason" });
    await using talk = await openTalk(world, { tools: [tool(handler)] });
    const { data, read, said } = await useOnce(talk);
    expect(data).toMatchObject({ success: false, error: { code: kind } });
    if (kind !== "denied") expect(data.error?.message).toBe("the reason");
    expect(read).toBe(`text of ${kind}`);
    expect(said).toBe("went on");
  },
);

test("a failure without a reason has its text as the message", async () => {
  await using talk = await openTalk(world, { tools: [tool(() => result("failure"))] });
  const { data } = await useOnce(talk);
  expect(data.error).toMatchObject({ code: "failure", message: "text of failure" });
});

test("a rejected result ends the turn without asking the model again", async () => {
  await using talk = await openTalk(world, { tools: [tool(() => result("rejected"))] });
  const { data, asked } = await useOnce(talk);
  expect(data).toMatchObject({ success: false, error: { code: "rejected" } });
  expect(asked).toBe(1);
  talk.model.script(say("back again"));
  expect(await talk.ask("and now?")).toBe("back again");
  expect(talk.model.lastRequest.texts("tool")).toEqual(["text of rejected"]);
});

test("a handler that throws fails the call and hides its error from the model", async () => {
  const handler = () => {
    throw new Error("a secret of the host");
  };
  await using talk = await openTalk(world, { tools: [tool(handler)] });
  const { data, read, said } = await useOnce(talk);
  expect(data).toMatchObject({ success: false, error: { code: "failure" } });
  expect(read).not.toContain("a secret of the host");
  expect(said).toBe("went on");
});

test("a tool marked as terminal ends the turn after its success", async () => {
  await using talk = await openTalk(world, { tools: [tool(() => "the end", { isTerminal: true })] });
  const { data, asked } = await useOnce(talk);
  expect(data).toMatchObject({ success: true, result: { content: "the end" } });
  expect(asked).toBe(1);
});

test("a tool that does not exist fails with its name, and the run goes on", async () => {
  await using talk = await openTalk(world);
  talk.model.script(call("no_such_tool", {}), say("went on"));
  expect(await talk.ask("try")).toBe("went on");
  expect(talk.record.one("tool.execution_complete").data).toMatchObject({
    success: false,
    error: { code: "failure", message: expect.stringContaining("Tool 'no_such_tool' does not exist.") },
  });
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("no_such_tool");
});

test("arguments that are not JSON fail the call before the handler runs, and the run goes on", async () => {
  const seen: unknown[] = [];
  await using talk = await openTalk(world, { tools: [{ ...tool(), handler: (args: unknown) => seen.push(args) }] });
  talk.model.script(call("probe", "{not json"), say("went on"));
  expect(await talk.ask("try")).toBe("went on");
  expect(seen).toEqual([]);
  expect(talk.record.one("tool.execution_complete").data).toMatchObject({ success: false });
  expect(talk.model.lastRequest.messages.at(-2)?.tool_calls?.[0]?.function.arguments).toBe("{}");
});

test("arguments are handed over as the model wrote them, whatever the schema says", async () => {
  const seen: unknown[] = [];
  await using talk = await openTalk(world, { tools: [{ ...tool(), handler: (args: unknown) => seen.push(args) }] });
  talk.model.script(call("probe", { depth: "three", more: [null] }), say("went on"));
  await talk.ask("try");
  expect(seen).toEqual([{ depth: "three", more: [null] }]);
});

test("the model is offered the tool with its description and schema, after the built-in ones", async () => {
  await using talk = await openTalk(world, { tools: [tool(() => "")] });
  await talk.ask("hi");
  const offered = talk.model.lastRequest.body.tools ?? [];
  expect(offered.at(-1)?.function).toMatchObject({
    name: "probe",
    description: "Probes.",
    parameters: { type: "object", properties: { depth: { type: "number" } } },
  });
});

test("the request event names call, tool, arguments and folder", async () => {
  await using talk = await openTalk(world, { tools: [tool(() => "x")] });
  await useOnce(talk);
  const { data } = talk.record.one("external_tool.requested");
  expect(data).toMatchObject({
    requestId: expect.any(String),
    sessionId: talk.session.sessionId,
    toolCallId: "call-1",
    toolName: "probe",
    arguments: { depth: 3 },
    workingDirectory: world.folder,
  });
  expect(talk.record.one("external_tool.completed").data.requestId).toBe(data.requestId);
});

test("a tool without a handler is answered by hand, and only the first answer counts", async () => {
  await using talk = await openTalk(world, { tools: [tool()] });
  talk.model.script(call("probe", {}), say("went on"));
  await talk.session.send({ prompt: "probe" });
  const { requestId } = (await talk.record.until("external_tool.requested")).data;
  const { tools } = talk.session.rpc;
  expect(await tools.handlePendingToolCall({ requestId, result: "by hand" })).toEqual({ success: true });
  await talk.record.until("session.idle");
  expect(await tools.handlePendingToolCall({ requestId, result: "too late" })).toEqual({ success: false });
  expect(await tools.handlePendingToolCall({ requestId: "unknown", result: "x" })).toEqual({ success: false });
  expect(talk.model.lastRequest.texts("tool")).toEqual(["by hand"]);
});

test("an error given by hand fails the call", async () => {
  await using talk = await openTalk(world, { tools: [tool()] });
  talk.model.script(call("probe", {}), say("went on"));
  await talk.session.send({ prompt: "probe" });
  const { requestId } = (await talk.record.until("external_tool.requested")).data;
  await talk.session.rpc.tools.handlePendingToolCall({ requestId, error: "broken" });
  await talk.record.until("session.idle");
  expect(talk.record.one("tool.execution_complete").data).toMatchObject({ success: false, error: { code: "failure" } });
});

test("an image in a result is kept with the result", async () => {
  const image = { data: "aGVsbG8=", mimeType: "image/png", type: "image" as const };
  const handler = () => result("success", { binaryResultsForLlm: [image] });
  await using talk = await openTalk(world, { tools: [tool(handler)] });
  const { data } = await useOnce(talk);
  expect(data.result).toMatchObject({
    content: "text of success",
    binaryResultsForLlm: [expect.objectContaining(image)],
  });
});

test("a host tool may replace a built-in one of the same name", async () => {
  const grep = { ...tool(() => "mine"), name: "grep", overridesBuiltInTool: true };
  await using talk = await openTalk(world, { tools: [grep] });
  talk.model.script(call("grep", { pattern: "x" }), say("done"));
  await talk.ask("grep");
  expect(talk.model.lastRequest.toolNames.filter((name) => name === "grep")).toHaveLength(1);
  expect(talk.model.lastRequest.texts("tool")).toEqual(["mine"]);
});

test("a name clash with a built-in tool without that wish is an error at the first prompt", async () => {
  await using talk = await openTalk(world, { tools: [{ ...tool(() => "mine"), name: "grep" }] });
  await talk.session.send({ prompt: "hi" });
  const { data } = await talk.record.until("session.error");
  expect(data.message).toContain("grep");
  await talk.record.until("session.idle");
});

test("a tool with a name that models cannot write is refused", async () => {
  const bad = { ...tool(() => ""), name: "no spaces please" };
  await expect(openTalk(world, { tools: [bad] })).rejects.toThrow();
});

test("ten calls in one answer each run once and each get their own result", async () => {
  const seen: string[] = [];
  const handler = (_args: unknown, { toolCallId }: { toolCallId: string }) => {
    seen.push(toolCallId);
    return `result of ${toolCallId}`;
  };
  await using talk = await openTalk(world, { tools: [{ ...tool(), handler }] });
  const ids = Array.from({ length: 10 }, (_, at) => `call-${at}`);
  talk.model.script(calls(ids.map((id) => ({ name: "probe", id }))), say("done"));
  await talk.ask("all of them");
  expect(seen.sort()).toEqual(ids);
  const results = talk.model.lastRequest.messages.filter(({ role }) => role === "tool");
  expect(results.map(({ tool_call_id }) => tool_call_id).sort()).toEqual(ids);
  for (const { tool_call_id, content } of results) expect(content).toBe(`result of ${tool_call_id}`);
});
