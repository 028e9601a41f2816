/** The three wire formats of the scripted model: how one answer is written as JSON or as a stream of events. */
import type { MessageAnswer, ModelCall } from "./model-answers.ts";

export interface Wire {
  whole(answer: MessageAnswer, id: string): object;
  /** The events of the stream, each already in its SSE form, up to the end that `finish` writes. */
  start(answer: MessageAnswer, id: string): Iterable<string>;
  finish(answer: MessageAnswer, id: string): Iterable<string>;
}

export function wireOf(path: string): Wire {
  if (path.endsWith("/messages")) return anthropic;
  if (path.endsWith("/responses")) return responses;
  return chat;
}

const textOf = (answer: MessageAnswer) => answer.pieces.join("");
const argsOf = (call: ModelCall) => (typeof call.args === "string" ? call.args : JSON.stringify(call.args ?? {}));
const callId = (call: ModelCall, id: string, at: number) => call.id ?? `call_${id}_${at}`;
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const named = (type: string, rest: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
const tokens = (answer: MessageAnswer) => answer.usage ?? { prompt: 100, completion: 10 };

const chatUsage = (answer: MessageAnswer) => {
  const { prompt, completion } = tokens(answer);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
};

const chatCalls = (answer: MessageAnswer, id: string) =>
  answer.calls.map((call, at) => ({
    id: callId(call, id, at),
    type: "function",
    function: { name: call.name, arguments: argsOf(call) },
  }));

const chatFinish = (answer: MessageAnswer) => answer.finish ?? (answer.calls.length > 0 ? "tool_calls" : "stop");
const authorOf = (answer: MessageAnswer) => answer.model ?? "scripted";
const envelope = (answer: MessageAnswer, id: string) => ({ id: `chatcmpl-${id}`, created: 1, model: authorOf(answer) });

const chat: Wire = {
  whole: (answer, id) => ({
    ...envelope(answer, id),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        finish_reason: chatFinish(answer),
        message: {
          role: "assistant",
          content: answer.pieces.length > 0 || answer.calls.length === 0 ? textOf(answer) : null,
          ...(answer.reasoning ? { reasoning_content: answer.reasoning } : {}),
          ...(answer.calls.length > 0 ? { tool_calls: chatCalls(answer, id) } : {}),
        },
      },
    ],
    usage: chatUsage(answer),
  }),
  *start(answer, id) {
    const head = { ...envelope(answer, id), object: "chat.completion.chunk" };
    const chunk = (delta: object) => data({ ...head, choices: [{ index: 0, delta, finish_reason: null }] });
    yield chunk({ role: "assistant", content: "" });
    if (answer.reasoning) yield chunk({ reasoning_content: answer.reasoning });
    for (const piece of answer.pieces) yield chunk({ content: piece });
    for (const [index, call] of chatCalls(answer, id).entries()) {
      const { name, arguments: text } = call.function;
      const half = Math.ceil(text.length / 2);
      yield chunk({ tool_calls: [{ index, ...call, function: { name, arguments: text.slice(0, half) } }] });
      yield chunk({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] });
    }
  },
  *finish(answer, id) {
    const head = { ...envelope(answer, id), object: "chat.completion.chunk" };
    yield data({ ...head, choices: [{ index: 0, delta: {}, finish_reason: chatFinish(answer) }] });
    yield data({ ...head, choices: [], usage: chatUsage(answer) });
    yield "data: [DONE]\n\n";
  },
};

const anthropicUsage = (answer: MessageAnswer) => ({
  input_tokens: tokens(answer).prompt,
  output_tokens: tokens(answer).completion,
});
const anthropicStop = (answer: MessageAnswer) => answer.finish ?? (answer.calls.length > 0 ? "tool_use" : "end_turn");
const anthropicMessage = (answer: MessageAnswer, id: string) => ({
  id: `msg_${id}`,
  type: "message",
  role: "assistant",
  model: authorOf(answer),
});

const anthropic: Wire = {
  whole: (answer, id) => ({
    ...anthropicMessage(answer, id),
    content: [
      ...(answer.pieces.length > 0 ? [{ type: "text", text: textOf(answer) }] : []),
      ...answer.calls.map((call, at) => ({
        type: "tool_use",
        id: callId(call, id, at),
        name: call.name,
        input: call.args ?? {},
      })),
    ],
    stop_reason: anthropicStop(answer),
    stop_sequence: null,
    usage: anthropicUsage(answer),
  }),
  *start(answer, id) {
    const message = { ...anthropicMessage(answer, id), content: [], stop_reason: null, stop_sequence: null };
    yield named("message_start", { message: { ...message, usage: anthropicUsage(answer) } });
    let index = 0;
    if (answer.pieces.length > 0) {
      yield* anthropicBlock(index++, { type: "text", text: "" }, textDeltas(answer));
    }
    for (const [at, call] of answer.calls.entries()) {
      const block = { type: "tool_use", id: callId(call, id, at), name: call.name, input: {} };
      yield* anthropicBlock(index++, block, [{ type: "input_json_delta", partial_json: argsOf(call) }]);
    }
  },
  *finish(answer) {
    const delta = { stop_reason: anthropicStop(answer), stop_sequence: null };
    const usage = { output_tokens: tokens(answer).completion };
    yield named("message_delta", { delta, usage });
    yield named("message_stop", {});
  },
};

const textDeltas = (answer: MessageAnswer) => answer.pieces.map((text) => ({ type: "text_delta", text }));

function* anthropicBlock(index: number, block: object, deltas: object[]): Iterable<string> {
  const event = (type: string, rest: object) => named(type, { index, ...rest });
  yield event("content_block_start", { content_block: block });
  for (const delta of deltas) yield event("content_block_delta", { delta });
  yield event("content_block_stop", {});
}

const responseItems = (answer: MessageAnswer, id: string) => [
  ...(answer.pieces.length > 0
    ? [
        {
          type: "message",
          id: `msg_${id}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: textOf(answer), annotations: [] }],
        },
      ]
    : []),
  ...answer.calls.map((call, at) => ({
    type: "function_call",
    id: `fc_${id}_${at}`,
    call_id: callId(call, id, at),
    name: call.name,
    arguments: argsOf(call),
    status: "completed",
  })),
];

const responseOf = (answer: MessageAnswer, id: string) => {
  const { prompt, completion } = tokens(answer);
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: 1,
    model: authorOf(answer),
    status: "completed",
    output: responseItems(answer, id),
    usage: { input_tokens: prompt, output_tokens: completion, total_tokens: prompt + completion },
  };
};

const responses: Wire = {
  whole: responseOf,
  *start(answer, id) {
    const response = { ...responseOf(answer, id), status: "in_progress", output: [], usage: null };
    yield named("response.created", { response });
    for (const [output_index, item] of responseItems(answer, id).entries()) {
      const event = (type: string, rest: object) => named(type, { output_index, ...rest });
      yield event("response.output_item.added", { item: { ...item, status: "in_progress" } });
      if (!("arguments" in item)) {
        for (const delta of answer.pieces) {
          yield event("response.output_text.delta", { item_id: item.id, content_index: 0, delta });
        }
      } else {
        yield event("response.function_call_arguments.delta", { item_id: item.id, delta: item.arguments });
        yield event("response.function_call_arguments.done", { item_id: item.id, arguments: item.arguments });
      }
      yield event("response.output_item.done", { item });
    }
  },
  *finish(answer, id) {
    yield named("response.completed", { response: responseOf(answer, id) });
  },
};
