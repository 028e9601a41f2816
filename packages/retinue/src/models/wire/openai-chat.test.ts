import { describe, expect, test } from "vitest";
import { type Message, type ModelRequest, NO_USAGE, type Part } from "../provider.ts";
import type { Endpoint } from "./endpoint.ts";
import { brokenSse, collect, json, type Loopback, loopback, type Reply, sse } from "./loopback.ts";
import { openaiChat } from "./openai-chat.ts";

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "gpt-4.1",
  system: "Be brief.",
  messages: [{ role: "user", content: "hello" }],
  tools: [],
  stream: true,
  ...more,
});

const provider = (server: Loopback, more: Partial<Endpoint> = {}) =>
  openaiChat({ id: "test", type: "openai", baseUrl: `${server.url}/v1`, apiKey: "key", ...more });

async function ask(
  server: Loopback,
  more: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
): Promise<Part[]> {
  return await collect(provider(server).stream(request(more), { signal }));
}

async function answerTo(...replies: Reply[]): Promise<Part[]> {
  await using server = await loopback(...replies);
  return await ask(server);
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "gpt-4.1",
  choices: [{ index: 0, delta, finish_reason }],
});
const usage = {
  prompt_tokens: 20,
  completion_tokens: 7,
  total_tokens: 27,
  prompt_tokens_details: { cached_tokens: 16 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const usageChunk = { id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage };
const piece = (index: number | undefined, fn: object, id?: string) =>
  chunk({ tool_calls: [{ index, ...(id && { id }), type: "function", function: fn }] });
const calls = (parts: Part[]) => parts.filter((part) => part.type === "call");
const text = (parts: Part[]) => parts.map((part) => (part.type === "text" ? part.delta : "")).join("");

describe("a chat completions request", () => {
  test("holds the fields of the format, and streams only when asked to", async () => {
    await using server = await loopback(sse(chunk({ content: "hi" }, "stop"), "[DONE]"));
    await ask(server);
    expect(server.received[0]).toMatchObject({ method: "POST", url: "/v1/chat/completions" });
    expect(server.received[0]?.headers).toMatchObject({
      authorization: "Bearer key",
      "content-type": "application/json",
    });
    expect(server.received[0]?.body).toEqual({
      model: "gpt-4.1",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "hello" },
      ],
      temperature: 0,
      top_p: 0.95,
      frequency_penalty: 0,
      presence_penalty: 0,
      stream: true,
      stream_options: { include_usage: true },
    });
    await ask(server, { stream: false });
    expect(server.received[1]?.body).not.toHaveProperty("stream");
  });

  test("carries the history in the roles of the format", async () => {
    const messages: Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "see" },
          { type: "image", mimeType: "image/png", data: "AAAA" },
        ],
      },
      {
        role: "assistant",
        text: "",
        calls: [{ id: "c1", name: "view", arguments: '{"path":"a"}' }],
        reasoning: { text: "look first" },
      },
      { role: "tool", callId: "c1", text: "the file" },
      {
        role: "assistant",
        text: "done",
        calls: [],
        reasoning: { text: "t", blocks: { provider: "other", items: [1] } },
      },
    ];
    await using server = await loopback(sse(chunk({}, "stop")));
    await ask(server, { messages });
    expect(server.received[0]?.body.messages).toEqual([
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "see" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        reasoning_content: "look first",
        tool_calls: [{ id: "c1", type: "function", function: { name: "view", arguments: '{"path":"a"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "the file" },
      { role: "assistant", content: "done" },
    ]);
  });

  test("carries a schema for the answer under the name that endpoints know", async () => {
    const jsonSchema = { name: "answer", schema: { type: "object" }, strict: false };
    await using server = await loopback(sse(chunk({}, "stop")));
    await ask(server, { responseFormat: { type: "json_schema", jsonSchema } });
    expect(server.received[0]?.body).toMatchObject({
      response_format: { type: "json_schema", json_schema: jsonSchema },
    });
    expect(JSON.stringify(server.received[0]?.body)).not.toContain("jsonSchema");
  });

  test("carries tools, tool choice, limits and format", async () => {
    const tools = [{ name: "view", description: "Reads.", parameters: { type: "object" } }];
    await using server = await loopback(sse(chunk({}, "stop")));
    await ask(server, { tools, toolChoice: "none", maxOutputTokens: 9, responseFormat: { type: "json_object" } });
    await ask(server, {
      tools,
      toolChoice: { name: "view" },
      model: "o3",
      reasoningEffort: "high",
      maxOutputTokens: 9,
    });
    expect(server.received[0]?.body).toMatchObject({
      tools: [{ type: "function", function: tools[0] }],
      tool_choice: "none",
      max_tokens: 9,
      response_format: { type: "json_object" },
    });
    expect(server.received[1]?.body).toMatchObject({
      tool_choice: { type: "function", function: { name: "view" } },
      reasoning_effort: "high",
      max_completion_tokens: 9,
    });
    expect(server.received[1]?.body).not.toHaveProperty("temperature");
  });

  test("serialises a message once, however many requests carry the conversation", async () => {
    let reads = 0;
    const message: Message = {
      role: "tool",
      callId: "c1",
      get text() {
        reads++;
        return "result";
      },
    };
    await using server = await loopback(sse(chunk({}, "stop")));
    const messages: Message[] = [message];
    for (const said of ["one", "two", "three"]) {
      await ask(server, { messages });
      messages.push({ role: "user", content: said });
    }
    expect(reads).toBe(1);
    expect(server.received[2]?.body.messages).toContainEqual({ role: "user", content: "two" });
    expect(server.received[2]?.body.messages).toContainEqual({
      role: "tool",
      tool_call_id: "c1",
      content: "result",
    });
  });

  test("signs with the token provider before the bearer token before the key, and adds headers", async () => {
    await using server = await loopback(sse(chunk({}, "stop")));
    const signal = new AbortController().signal;
    const headers = { "X-Team": "a", "X-Initiator": "endpoint" };
    const more = request({ headers: { "x-initiator": "user" } });
    await collect(provider(server, { bearerToken: "bearer", headers }).stream(more, { signal }));
    let token = 0;
    const fresh = provider(server, { bearerToken: "bearer", tokenProvider: async () => `fresh-${++token}` });
    await collect(fresh.stream(request(), { signal }));
    await collect(fresh.stream(request(), { signal }));
    await collect(provider(server, { apiKey: undefined }).stream(request(), { signal }));
    const sent = server.received.map((received) => received.headers.authorization);
    expect(sent).toEqual(["Bearer bearer", "Bearer fresh-1", "Bearer fresh-2", undefined]);
    expect(server.received[0]?.headers).toMatchObject({ "x-team": "a", "x-initiator": "user" });
  });

  test("goes to the deployment of an Azure endpoint that names an API version, else to the versionless route", async () => {
    await using server = await loopback(sse(chunk({}, "stop")));
    const signal = new AbortController().signal;
    const azure = { type: "azure", baseUrl: server.url } as const;
    await collect(provider(server, { ...azure, azure: { apiVersion: "2024-10-21" } }).stream(request(), { signal }));
    await collect(provider(server, azure).stream(request(), { signal }));
    await collect(provider(server, { ...azure, baseUrl: `${server.url}/openai/v1/` }).stream(request(), { signal }));
    expect(server.received.map(({ url }) => url)).toEqual([
      "/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21",
      "/openai/v1/chat/completions",
      "/openai/v1/chat/completions",
    ]);
    expect(server.received[0]?.headers).toMatchObject({ "api-key": "key" });
    expect(server.received[0]?.headers).not.toHaveProperty("authorization");
  });
});

describe("a streamed chat completion", () => {
  test("is read as text and reasoning as they arrive, and an end with usage and id", async () => {
    const parts = await answerTo(
      sse(
        chunk({ role: "assistant", content: "" }),
        chunk({ reasoning_content: "hm" }),
        chunk({ content: "Hel" }),
        chunk({ content: "lo" }),
        chunk({}, "stop"),
        usageChunk,
        "[DONE]",
      ),
    );
    expect(parts).toEqual([
      { type: "reasoning", delta: "hm" },
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo" },
      {
        type: "end",
        reason: "stop",
        responseId: "chatcmpl-1",
        model: "gpt-4.1",
        usage: { inputTokens: 20, outputTokens: 7, cacheReadTokens: 16, cacheWriteTokens: 0, reasoningTokens: 3 },
      },
    ]);
  });

  test("puts calls together from pieces by index", async () => {
    const parts = await answerTo(
      sse(
        piece(0, { name: "view", arguments: "" }, "c0"),
        piece(1, { name: "grep", arguments: '{"pat' }, "c1"),
        piece(0, { arguments: '{"path":' }),
        piece(1, { arguments: 'tern":"x"}' }),
        piece(0, { arguments: '"a"}' }),
        chunk({}, "tool_calls"),
        "[DONE]",
      ),
    );
    expect(calls(parts)).toEqual([
      { type: "call", id: "c0", name: "view", arguments: '{"path":"a"}' },
      { type: "call", id: "c1", name: "grep", arguments: '{"pattern":"x"}' },
    ]);
    expect(parts).toContainEqual({ type: "call_delta", id: "c0", name: "view", delta: '{"path":' });
    expect(parts.at(-1)).toMatchObject({ type: "end", reason: "calls" });
  });

  test.each([
    [
      "an index of 0 for every call",
      [piece(0, { name: "a", arguments: "{}" }, "x"), piece(0, { name: "b", arguments: "{}" }, "y")],
    ],
    [
      "no index",
      [piece(undefined, { name: "a", arguments: "{}" }, "x"), piece(undefined, { name: "b", arguments: "{}" }, "y")],
    ],
    [
      "no index and no id",
      [piece(undefined, { name: "a", arguments: "{}" }), piece(undefined, { name: "b", arguments: "{}" })],
    ],
    [
      "the same id twice",
      [piece(0, { name: "a", arguments: "{}" }, "x"), piece(1, { name: "b", arguments: "{}" }, "x")],
    ],
    [
      "arguments as objects",
      [piece(0, { name: "a", arguments: {} }, "x"), piece(1, { name: "b", arguments: {} }, "y")],
    ],
  ])("keeps two calls apart that come with %s", async (_, pieces) => {
    const found = calls(await answerTo(sse(...pieces, chunk({}, "tool_calls"), "[DONE]")));
    expect(found).toMatchObject([
      { name: "a", arguments: "{}" },
      { name: "b", arguments: "{}" },
    ]);
    expect(new Set(found.map((call) => call.id)).size).toBe(2);
  });

  test("takes an id and a name repeated in every piece for one call", async () => {
    const parts = await answerTo(
      sse(piece(0, { name: "a", arguments: '{"x"' }, "c"), piece(0, { name: "a", arguments: ":1}" }, "c"), "[DONE]"),
    );
    expect(calls(parts)).toEqual([{ type: "call", id: "c", name: "a", arguments: '{"x":1}' }]);
  });

  test("makes an id for a call that has none", async () => {
    const parts = await answerTo(sse(piece(0, { name: "a", arguments: "{}" }), chunk({}, "tool_calls")));
    expect(calls(parts)).toMatchObject([{ id: expect.stringMatching(/^call_\w{32}$/) }]);
  });

  test("gives arguments as they were written, also broken ones, and an object where nothing was written", async () => {
    const pieces = [piece(0, { name: "a", arguments: '{"x":' }, "c"), piece(1, { name: "b", arguments: "" }, "d")];
    const parts = await answerTo(sse(...pieces, chunk({}, "tool_calls")));
    expect(calls(parts)).toMatchObject([{ arguments: '{"x":' }, { arguments: "{}" }]);
  });

  test("drops a call that was cut by the length limit", async () => {
    const parts = await answerTo(sse(piece(0, { name: "a", arguments: '{"x":' }, "c"), chunk({}, "length"), "[DONE]"));
    expect(calls(parts)).toEqual([]);
    expect(parts.at(-1)).toMatchObject({ reason: "length" });
  });

  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "filtered"],
    ["something_new", "stop"],
  ])("with finish reason %s ends as %s", async (wire, reason) => {
    expect((await answerTo(sse(chunk({ content: "x" }, wire), "[DONE]"))).at(-1)).toMatchObject({ reason });
  });

  test("is whole without a finish reason when [DONE] came, and without [DONE] when a finish reason came", async () => {
    expect((await answerTo(sse(chunk({ content: "x" }), "[DONE]"))).at(-1)).toMatchObject({
      reason: "stop",
      usage: NO_USAGE,
    });
    expect((await answerTo(sse(chunk({ content: "x" }, "stop")))).at(-1)).toMatchObject({ reason: "stop" });
  });

  test("without either end mark was cut off", async () => {
    await expect(answerTo(sse(chunk({ content: "x" })))).rejects.toMatchObject({ kind: "transport" });
  });

  test("that breaks off is a transport error after the parts that came", async () => {
    await using server = await loopback(brokenSse(chunk({ content: "half" })));
    const parts: Part[] = [];
    const reading = async () => {
      const signal = new AbortController().signal;
      for await (const part of provider(server).stream(request(), { signal })) parts.push(part);
    };
    await expect(reading()).rejects.toMatchObject({ kind: "transport" });
    expect(text(parts)).toBe("half");
  });

  test("with broken JSON in a chunk is a protocol error, not a silent gap", async () => {
    await expect(answerTo(sse(chunk({ content: "a" }), '{"id":', "[DONE]"))).rejects.toMatchObject({
      kind: "protocol",
    });
  });

  test("passes over comments, empty choices and fields it does not know", async () => {
    const parts = await answerTo((response, received) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(": keep-alive\n\n");
      response.write(`data: ${JSON.stringify({ choices: [], prompt_filter_results: [{}] })}\n\n`);
      response.write(`data: ${JSON.stringify({ ...chunk({ content: "x", audio: null }), obfuscation: "zz" })}\r\n\r\n`);
      response.end(`data: ${JSON.stringify(chunk({}, "stop"))}`);
      expect(received.method).toBe("POST");
    });
    expect(text(parts)).toBe("x");
  });

  test.each([
    [{ error: { message: "slow", type: "rate_limit_error" } }, 429],
    [{ error: { message: "slow", code: "rate_limit_exceeded" } }, 429],
    [{ error: { message: "upstream", code: 502 } }, 502],
    [{ error: { message: "odd" } }, undefined],
  ])("that holds the error %j fails with status %s", async (event, status) => {
    await expect(answerTo(sse(chunk({ content: "a" }), event))).rejects.toMatchObject({ kind: "api", status });
  });

  test("of 10 MB comes through whole, in many chunks and in one", async () => {
    const size = 10 * 1024 * 1024;
    const many = Array.from({ length: 1024 }, () => chunk({ content: "é".repeat(size / 2 / 1024) }));
    expect(Buffer.byteLength(text(await answerTo(sse(...many, "[DONE]"))))).toBe(size);
    expect(text(await answerTo(sse(chunk({ content: "x".repeat(size) }), "[DONE]")))).toHaveLength(size);
  });

  test("leaves its connection to the next request", async () => {
    await using server = await loopback(sse(chunk({ content: "x" }, "stop"), usageChunk, "[DONE]"));
    for (let i = 0; i < 4; i++) await ask(server);
    expect(server.connections).toBe(1);
  });

  test("stops when it is aborted, and the endpoint sees the connection close", async () => {
    await using server = await loopback((response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(`data: ${JSON.stringify(chunk({ content: "x" }))}\n\n`);
    });
    const stop = new AbortController();
    const reading = async () => {
      for await (const _ of provider(server).stream(request(), { signal: stop.signal }))
        stop.abort(new Error("enough"));
    };
    await expect(reading()).rejects.toThrow("enough");
    await server.received[0]?.closed;
  });
});

describe("a chat completion in one object", () => {
  const whole = {
    id: "chatcmpl-2",
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Looking.",
          reasoning_content: "hm",
          tool_calls: [{ id: "c1", type: "function", function: { name: "view", arguments: '{"path":"a"}' } }],
        },
        finish_reason: "tool_calls",
      },
    ],
    usage,
  };

  test("gives the same parts as a stream, also when a stream was asked for", async () => {
    const parts = await answerTo(json(whole));
    expect(parts.map((part) => part.type)).toEqual(["reasoning", "text", "call_delta", "call", "end"]);
    expect(parts.at(-1)).toMatchObject({ reason: "calls", responseId: "chatcmpl-2", usage: { inputTokens: 20 } });
  });

  test("with content in parts is their text", async () => {
    const message = {
      role: "assistant",
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    };
    expect(text(await answerTo(json({ choices: [{ message, finish_reason: "stop" }] })))).toBe("ab");
  });

  test.each([[{}], [{ choices: [] }], ["not json"], [[1]]])(
    "without a choice is a protocol error: %j",
    async (body) => {
      await expect(answerTo(json(body))).rejects.toMatchObject({ kind: "protocol" });
    },
  );

  test("with an error object instead is an API error", async () => {
    await expect(answerTo(json({ error: { message: "no", code: 503 } }))).rejects.toMatchObject({ status: 503 });
  });
});
