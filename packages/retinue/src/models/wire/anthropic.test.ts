import { describe, expect, test } from "vitest";
import type { AssistantMessage, Message, ModelRequest, Part } from "../provider.ts";
import { anthropic } from "./anthropic.ts";
import type { Endpoint } from "./endpoint.ts";
import { collect, json, type Loopback, loopback, namedSse, type Reply } from "./loopback.ts";

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "claude-sonnet-4-5",
  system: "Be brief.",
  messages: [{ role: "user", content: "hello" }],
  tools: [],
  stream: true,
  ...more,
});

async function ask(
  server: Loopback,
  more: Partial<ModelRequest> = {},
  endpoint: Partial<Endpoint> = {},
): Promise<Part[]> {
  const provider = anthropic({ id: "test", type: "anthropic", baseUrl: server.url, apiKey: "key", ...endpoint });
  return await collect(provider.stream(request(more), { signal: new AbortController().signal }));
}

async function answerTo(reply: Reply): Promise<Part[]> {
  await using server = await loopback(reply);
  return await ask(server);
}

const thinking = { type: "thinking", thinking: "Look first.", signature: "EqQB==" };
const whole = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [
    thinking,
    { type: "text", text: "Hello" },
    { type: "tool_use", id: "toolu_1", name: "view", input: { path: "a" } },
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 5, cache_creation_input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 42 },
};

/** In the order in which the endpoint sends them. */
const EVENTS = [
  {
    type: "message_start",
    message: {
      ...whole,
      content: [],
      stop_reason: null,
      usage: { input_tokens: 5, cache_creation_input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Look " } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "first." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "EqQB==" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hel" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "lo" } },
  { type: "content_block_stop", index: 1 },
  {
    type: "content_block_start",
    index: 2,
    content_block: { type: "tool_use", id: "toolu_1", name: "view", input: {} },
  },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "" } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"path":' } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '"a"}' } },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 42 } },
  { type: "message_stop" },
];
const END = {
  type: "end",
  reason: "calls",
  responseId: "msg_1",
  model: "claude-sonnet-4-5",
  usage: { inputTokens: 115, outputTokens: 42, cacheReadTokens: 100, cacheWriteTokens: 10, reasoningTokens: 0 },
};
const cache_control = { type: "ephemeral" };

describe("a Messages request", () => {
  test("has a token limit, and marks the system prompt and the last user turn for the cache", async () => {
    await using server = await loopback(namedSse(...EVENTS));
    await ask(server);
    expect(server.received[0]).toMatchObject({
      url: "/v1/messages",
      headers: { "x-api-key": "key", "anthropic-version": "2023-06-01" },
    });
    expect(server.received[0]?.body).toEqual({
      model: "claude-sonnet-4-5",
      max_tokens: 8192,
      system: [{ type: "text", text: "Be brief.", cache_control }],
      messages: [{ role: "user", content: [{ type: "text", text: "hello", cache_control }] }],
      stream: true,
    });
  });

  test("takes a base URL with or without its version, and a bearer token instead of the key", async () => {
    await using server = await loopback(json(whole));
    await ask(server, {}, { baseUrl: `${server.url}/v1/`, bearerToken: "token" });
    expect(server.received[0]?.url).toBe("/v1/messages");
    expect(server.received[0]?.headers).toMatchObject({ authorization: "Bearer token" });
    expect(server.received[0]?.headers).not.toHaveProperty("x-api-key");
  });

  test("puts all results of a batch into one user message right after the calls, before what the user says", async () => {
    const messages: Message[] = [
      { role: "user", content: "go" },
      {
        role: "assistant",
        text: "",
        calls: [
          { id: "a", name: "view", arguments: '{"path":"x"}' },
          { id: "b", name: "view", arguments: "not json" },
        ],
      },
      { role: "tool", callId: "b", text: "no such file", failed: true },
      { role: "user", content: "also this" },
      { role: "tool", callId: "a", text: "the file" },
    ];
    await using server = await loopback(json(whole));
    await ask(server, { messages });
    expect(server.received[0]?.body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "a", name: "view", input: { path: "x" } },
          { type: "tool_use", id: "b", name: "view", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "b", content: "no such file", is_error: true },
          { type: "tool_result", tool_use_id: "a", content: "the file" },
          { type: "text", text: "also this", cache_control },
        ],
      },
    ]);
  });

  test("leaves out empty texts and empty answers, which the format refuses", async () => {
    const messages: Message[] = [
      { role: "user", content: "one" },
      { role: "assistant", text: " ", calls: [] },
      {
        role: "user",
        content: [
          { type: "text", text: "" },
          { type: "image", mimeType: "image/png", data: "AAAA" },
        ],
      },
    ];
    await using server = await loopback(json(whole));
    await ask(server, { messages });
    const source = { type: "base64", media_type: "image/png", data: "AAAA" };
    expect(server.received[0]?.body.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "one" },
          { type: "image", source, cache_control },
        ],
      },
    ]);
  });

  test("carries tools and tool choice in the places of this format", async () => {
    const tools = [{ name: "view", description: "Reads.", parameters: { type: "object" } }];
    await using server = await loopback(json(whole));
    await ask(server, { tools, toolChoice: "none" });
    await ask(server, { tools, toolChoice: { name: "view" }, reasoningEffort: "high" });
    expect(server.received[0]?.body).toMatchObject({
      tools: [{ name: "view", description: "Reads.", input_schema: { type: "object" } }],
      tool_choice: { type: "none" },
    });
    expect(server.received[1]?.body).toMatchObject({ tool_choice: { type: "tool", name: "view" } });
    expect(server.received[1]?.body).not.toHaveProperty("thinking");
  });

  test("gives thinking a budget inside the token limit", async () => {
    await using server = await loopback(json(whole));
    await ask(server, { reasoningEffort: "medium" });
    await ask(server, { reasoningEffort: "high", maxOutputTokens: 5000 });
    await ask(server, { reasoningEffort: "high", maxOutputTokens: 1500 });
    expect(server.received[0]?.body).toMatchObject({
      max_tokens: 16_384,
      thinking: { type: "enabled", budget_tokens: 8192 },
    });
    expect(server.received[1]?.body).toMatchObject({ max_tokens: 5000, thinking: { budget_tokens: 3976 } });
    expect(server.received[2]?.body).not.toHaveProperty("thinking");
  });

  test("does not start thinking in the middle of a run of calls that began without", async () => {
    const messages: Message[] = [
      { role: "user", content: "go" },
      { role: "assistant", text: "", calls: [{ id: "a", name: "view", arguments: "{}" }] },
      { role: "tool", callId: "a", text: "x" },
    ];
    await using server = await loopback(json(whole));
    await ask(server, { messages, reasoningEffort: "high" });
    expect(server.received[0]?.body).not.toHaveProperty("thinking");
  });
});

describe("a Messages answer", () => {
  test("is read from its events: thinking, text, call pieces, kept thinking, call, end", async () => {
    expect(await answerTo(namedSse(...EVENTS))).toEqual([
      { type: "reasoning", delta: "Look " },
      { type: "reasoning", delta: "first." },
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo" },
      { type: "call_delta", id: "toolu_1", name: "view", delta: "" },
      { type: "call_delta", id: "toolu_1", name: "view", delta: '{"path":' },
      { type: "call_delta", id: "toolu_1", name: "view", delta: '"a"}' },
      {
        type: "reasoning_blocks",
        provider: "test/messages",
        items: [thinking, { mark: "text", length: 5 }, { mark: "call" }],
      },
      { type: "call", id: "toolu_1", name: "view", arguments: '{"path":"a"}' },
      END,
    ]);
  });

  test("in one object gives the same text, call and end", async () => {
    const parts = await answerTo(json(whole));
    expect(parts.map((part) => part.type)).toEqual([
      "reasoning",
      "text",
      "call_delta",
      "reasoning_blocks",
      "call",
      "end",
    ]);
    expect(parts).toContainEqual({ type: "call", id: "toolu_1", name: "view", arguments: '{"path":"a"}' });
    expect(parts.at(-1)).toEqual(END);
  });

  test("goes back as it came: thinking with its signature, in its place among text and calls", async () => {
    const redacted = { type: "redacted_thinking", data: "Zm9v" };
    const content = [whole.content[1], redacted, thinking, whole.content[2]];
    await using server = await loopback(json({ ...whole, content }));
    const parts = await ask(server);
    const answer: AssistantMessage = {
      role: "assistant",
      text: "Hello",
      calls: [{ id: "toolu_1", name: "view", arguments: '{"path":"a"}' }],
      reasoning: { text: "Look first.", blocks: parts.find((part) => part.type === "reasoning_blocks") },
    };
    const messages: Message[] = [
      { role: "user", content: "go" },
      answer,
      { role: "tool", callId: "toolu_1", text: "x" },
    ];
    await ask(server, { messages, reasoningEffort: "low" });
    expect(server.received[1]?.body.messages).toMatchObject([{}, { role: "assistant", content }, {}]);
    expect(server.received[1]?.body).toHaveProperty("thinking");
  });

  test("does not send thinking to an endpoint that did not write it", async () => {
    const blocks = { provider: "other/messages", items: [thinking] };
    await using server = await loopback(json(whole));
    await ask(server, {
      messages: [{ role: "assistant", text: "Hello", calls: [], reasoning: { text: "x", blocks } }],
    });
    expect(server.received[0]?.body.messages).toEqual([
      { role: "assistant", content: [{ type: "text", text: "Hello" }] },
    ]);
  });

  test("with a call without arguments gives an empty object", async () => {
    const parts = await answerTo(namedSse(...EVENTS.filter((event) => event.delta?.type !== "input_json_delta")));
    expect(parts).toContainEqual({ type: "call", id: "toolu_1", name: "view", arguments: "{}" });
  });

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["refusal", "filtered"],
  ])("that stops with %s ends as %s", async (stop_reason, reason) => {
    const content = [{ type: "text", text: "x" }];
    expect((await answerTo(json({ ...whole, content, stop_reason }))).at(-1)).toMatchObject({ reason });
  });

  test("drops a call that was cut by the token limit", async () => {
    const cut = EVENTS.filter((event) => event.delta?.partial_json !== '"a"}').map((event) =>
      event.type === "message_delta" ? { ...event, delta: { stop_reason: "max_tokens" } } : event,
    );
    const parts = await answerTo(namedSse(...cut));
    expect(parts.filter((part) => part.type === "call")).toEqual([]);
    expect(parts.at(-1)).toMatchObject({ reason: "length" });
  });

  test("with an error event fails with the status of its class", async () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    await expect(answerTo(namedSse(...EVENTS.slice(0, 9), error))).rejects.toMatchObject({ kind: "api", status: 529 });
  });

  test("that ends in the middle was cut off", async () => {
    await expect(answerTo(namedSse(...EVENTS.slice(0, 9)))).rejects.toMatchObject({ kind: "transport" });
  });

  test("of another shape is a protocol error", async () => {
    await expect(answerTo(json({ choices: [] }))).rejects.toMatchObject({ kind: "protocol" });
  });
});
