import { describe, expect, test } from "vitest";
import type { AssistantMessage, Message, ModelRequest, Part } from "../provider.ts";
import { collect, json, type Loopback, loopback, namedSse, type Reply } from "./loopback.ts";
import { openaiResponses } from "./openai-responses.ts";

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "gpt-5",
  system: "Be brief.",
  messages: [{ role: "user", content: "hello" }],
  tools: [],
  stream: true,
  ...more,
});

async function ask(server: Loopback, more: Partial<ModelRequest> = {}): Promise<Part[]> {
  const provider = openaiResponses({ id: "test", type: "openai", baseUrl: `${server.url}/v1`, apiKey: "key" });
  return await collect(provider.stream(request(more), { signal: new AbortController().signal }));
}

async function answerTo(reply: Reply): Promise<Part[]> {
  await using server = await loopback(reply);
  return await ask(server);
}

const usage = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 39,
};
const reasoning = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Look first." }],
  encrypted_content: "gAAAA=",
};
const message = {
  type: "message",
  id: "msg_1",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text: "Hello", annotations: [] }],
};
const call = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "view",
  arguments: '{"path":"a"}',
  status: "completed",
};
const completed = {
  id: "resp_1",
  object: "response",
  status: "completed",
  error: null,
  output: [reasoning, message, call],
  usage,
};

/** In the order in which the endpoint sends them, with the fields that it repeats left out. */
const EVENTS = [
  {
    type: "response.created",
    sequence_number: 0,
    response: { id: "resp_1", status: "in_progress", error: null, output: [] },
  },
  { type: "response.in_progress", sequence_number: 1, response: { id: "resp_1", status: "in_progress", output: [] } },
  { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "rs_1", summary: [] } },
  {
    type: "response.reasoning_summary_part.added",
    output_index: 0,
    summary_index: 0,
    part: { type: "summary_text", text: "" },
  },
  { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "Look " },
  { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "first." },
  { type: "response.reasoning_summary_text.done", output_index: 0, summary_index: 0, text: "Look first." },
  { type: "response.output_item.done", output_index: 0, item: reasoning },
  { type: "response.output_item.added", output_index: 1, item: { ...message, status: "in_progress", content: [] } },
  { type: "response.content_part.added", output_index: 1, content_index: 0, part: { type: "output_text", text: "" } },
  { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "Hel" },
  { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "lo" },
  { type: "response.output_text.done", output_index: 1, content_index: 0, text: "Hello" },
  { type: "response.output_item.done", output_index: 1, item: message },
  { type: "response.output_item.added", output_index: 2, item: { ...call, arguments: "" } },
  { type: "response.function_call_arguments.delta", output_index: 2, item_id: "fc_1", delta: '{"path":' },
  { type: "response.function_call_arguments.delta", output_index: 2, item_id: "fc_1", delta: '"a"}' },
  { type: "response.function_call_arguments.done", output_index: 2, item_id: "fc_1", arguments: '{"path":"a"}' },
  { type: "response.output_item.done", output_index: 2, item: call },
  { type: "response.completed", response: completed },
];
const END = {
  type: "end",
  reason: "calls",
  responseId: "resp_1",
  usage: { inputTokens: 30, outputTokens: 9, cacheReadTokens: 20, cacheWriteTokens: 0, reasoningTokens: 4 },
};

describe("a Responses request", () => {
  test("stores nothing, asks for encrypted reasoning and streams when asked to", async () => {
    await using server = await loopback(namedSse(...EVENTS));
    await ask(server, { reasoningEffort: "high", reasoningSummary: "detailed", maxOutputTokens: 100 });
    expect(server.received[0]?.url).toBe("/v1/responses");
    expect(server.received[0]?.body).toEqual({
      model: "gpt-5",
      instructions: "Be brief.",
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] }],
      max_output_tokens: 100,
      reasoning: { effort: "high", summary: "detailed" },
      include: ["reasoning.encrypted_content"],
      store: false,
      stream: true,
    });
  });

  test("says nothing about reasoning to a model that does not reason", async () => {
    await using server = await loopback(json(completed));
    await ask(server, { model: "gpt-4.1", stream: false });
    expect(server.received[0]?.body).not.toHaveProperty("reasoning");
    expect(server.received[0]?.body).not.toHaveProperty("include");
    expect(server.received[0]?.body).not.toHaveProperty("stream");
  });

  test("carries tools, tool choice and a JSON schema in the places of this format", async () => {
    const tools = [{ name: "view", description: "Reads.", parameters: { type: "object" } }];
    const responseFormat = { type: "json_schema", jsonSchema: { name: "answer", schema: { type: "object" } } };
    await using server = await loopback(json(completed));
    await ask(server, { tools, toolChoice: { name: "view" }, responseFormat });
    expect(server.received[0]?.body).toMatchObject({
      tools: [{ type: "function", name: "view", description: "Reads.", parameters: { type: "object" }, strict: false }],
      tool_choice: { type: "function", name: "view" },
      text: { format: { type: "json_schema", name: "answer", schema: { type: "object" } } },
    });
  });

  test("carries images, calls and results, and no reasoning that another provider wrote", async () => {
    const messages: Message[] = [
      { role: "user", content: [{ type: "image", mimeType: "image/png", data: "AAAA" }] },
      {
        role: "assistant",
        text: "Looking.",
        calls: [{ id: "c1", name: "view", arguments: "{}" }],
        reasoning: { text: "hm", blocks: { provider: "other/messages", items: [{ type: "thinking" }] } },
      },
      { role: "tool", callId: "c1", text: "the file" },
    ];
    await using server = await loopback(json(completed));
    await ask(server, { messages });
    expect(server.received[0]?.body.input).toEqual([
      { type: "message", role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Looking." }] },
      { type: "function_call", call_id: "c1", name: "view", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "the file" },
    ]);
  });
});

describe("a Responses answer", () => {
  test("is read from its events: reasoning, text, call pieces, kept reasoning, call, end", async () => {
    expect(await answerTo(namedSse(...EVENTS))).toEqual([
      { type: "reasoning", delta: "Look " },
      { type: "reasoning", delta: "first." },
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo" },
      { type: "call_delta", id: "call_1", name: "view", delta: "" },
      { type: "call_delta", id: "call_1", name: "view", delta: '{"path":' },
      { type: "call_delta", id: "call_1", name: "view", delta: '"a"}' },
      {
        type: "reasoning_blocks",
        provider: "test/responses",
        items: [reasoning, { mark: "text", length: 5 }, { mark: "call" }],
      },
      { type: "call", id: "call_1", name: "view", arguments: '{"path":"a"}' },
      END,
    ]);
  });

  test("in one object gives the same text, call and end", async () => {
    const parts = await answerTo(json(completed));
    expect(parts.map((part) => part.type)).toEqual(["reasoning", "text", "reasoning_blocks", "call", "end"]);
    expect(parts.at(-1)).toEqual(END);
  });

  test("goes back as it came: reasoning items unchanged and in their place", async () => {
    const second = { ...reasoning, id: "rs_2" };
    const output = [reasoning, message, second, call];
    await using server = await loopback(json({ ...completed, output }));
    const parts = await ask(server);
    const blocks = parts.find((part) => part.type === "reasoning_blocks");
    const answer: AssistantMessage = {
      role: "assistant",
      text: "Hello",
      calls: [{ id: "call_1", name: "view", arguments: '{"path":"a"}' }],
      reasoning: { blocks },
    };
    await ask(server, { messages: [answer, { role: "tool", callId: "call_1", text: "x" }] });
    expect(server.received[1]?.body.input).toEqual([
      reasoning,
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] },
      second,
      { type: "function_call", call_id: "call_1", name: "view", arguments: '{"path":"a"}' },
      { type: "function_call_output", call_id: "call_1", output: "x" },
    ]);
  });

  test("with reasoning that is not encrypted keeps none of it", async () => {
    const parts = await answerTo(json({ ...completed, output: [{ ...reasoning, encrypted_content: null }, message] }));
    expect(parts.map((part) => part.type)).toEqual(["reasoning", "text", "end"]);
  });

  test("separates the parts of a reasoning summary", async () => {
    const parts = await answerTo(
      namedSse(
        { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 0 },
        { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "One" },
        { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 1 },
        { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "Two" },
        { type: "response.completed", response: { ...completed, output: [] } },
      ),
    );
    expect(parts.map((part) => (part.type === "reasoning" ? part.delta : "")).join("")).toBe("One\n\nTwo");
  });

  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "filtered"],
  ])("that is incomplete because of %s ends as %s", async (reason, expected) => {
    const response = { ...completed, status: "incomplete", incomplete_details: { reason }, output: [message] };
    expect((await answerTo(namedSse({ type: "response.incomplete", response }))).at(-1)).toMatchObject({
      reason: expected,
    });
  });

  test.each([
    [{ type: "error", code: "rate_limit_exceeded", message: "slow down" }, 429],
    [
      { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: "oops" } } },
      500,
    ],
    [
      {
        type: "response.failed",
        response: { status: "failed", error: { code: "context_length_exceeded", message: "x" } },
      },
      400,
    ],
  ])("with %j fails with status %s", async (event, status) => {
    await expect(answerTo(namedSse(event))).rejects.toMatchObject({ kind: "api", status });
  });

  test("that ends before it is completed was cut off", async () => {
    await expect(answerTo(namedSse(...EVENTS.slice(0, 12)))).rejects.toMatchObject({ kind: "transport" });
  });

  test("of another shape is a protocol error", async () => {
    await expect(answerTo(json({ choices: [] }))).rejects.toMatchObject({ kind: "protocol" });
    await expect(answerTo(json([]))).rejects.toMatchObject({ kind: "protocol" });
  });
});
