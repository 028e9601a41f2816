/**
 * A scripted model for tests: an HTTP server on the loopback address that speaks OpenAI chat completions.
 *
 * Owns the script. It answers with the next turn, or with what a function makes of the request; a request that the
 * script does not expect is refused, and a turn that was never asked for fails `assertSpent`. Any runtime can use it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isRecord } from "../questions.ts";

export interface ModelCall {
  readonly name: string;
  readonly arguments: unknown;
}
export interface ModelTurn {
  readonly text?: string | undefined;
  readonly calls?: readonly ModelCall[];
}
export interface ModelRequest {
  /** The whole system prompt. */
  readonly system: string;
  /** What the last user message says. */
  readonly prompt: string;
  /** Results of calls since that message, oldest first. */
  readonly results: readonly string[];
  /** Names of the tools that are offered. */
  readonly tools: readonly string[];
  readonly body: Record<string, unknown>;
}
/** An array is one turn of several parts: `[say("I look."), call("view", { path })]`. */
export type ModelParts = ModelTurn | readonly ModelTurn[];
export type ModelScript = readonly ModelParts[] | ((request: ModelRequest) => ModelParts | Promise<ModelParts>);

export interface ScriptedModel extends AsyncDisposable {
  /** For `provider` of a session, which needs no `model` then. */
  readonly provider: { type: "openai"; wireApi: "completions"; baseUrl: string; apiKey: string; modelId: string };
  readonly requests: readonly ModelRequest[];
  /** Throws when a turn was left over. */
  assertSpent(): void;
  /** The same as leaving `await using`. */
  close(): Promise<void>;
}

export function say(text: string): ModelTurn {
  return { text };
}

export function call(name: string, args: unknown = {}): ModelTurn {
  return { calls: [{ name, arguments: args }] };
}

export async function startScriptedModel(script: ModelScript): Promise<ScriptedModel> {
  const left = typeof script === "function" ? [] : script.map(wholeTurn);
  const requests: ModelRequest[] = [];
  const next = async (request: ModelRequest) => {
    requests.push(request);
    return typeof script === "function" ? wholeTurn(await script(request)) : left.shift();
  };
  const server = createServer((incoming, response) => {
    answer(incoming, response, next).catch((error: unknown) => refuse(response, `scripted model: ${String(error)}`));
  });
  server.keepAliveTimeout = 0; // On a busy machine a client takes its time between two requests, and its connection must not be closed.
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = address && typeof address === "object" ? address.port : 0;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    requests,
    provider: {
      type: "openai",
      wireApi: "completions",
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: "scripted",
      modelId: "scripted",
    },
    assertSpent: () => {
      if (left.length > 0) throw new Error(`${left.length} scripted turns were never asked for`);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A part of another kind, such as those of `retinue/testing`, would be an empty answer. */
function wholeTurn(turn: ModelParts): ModelTurn {
  const parts: readonly ModelTurn[] = [turn].flat();
  if (parts.length === 0 || !parts.every((part) => isRecord(part) && ("text" in part || "calls" in part)))
    throw new TypeError(
      `scripted model: ${JSON.stringify(turn)} is not a turn. Use say() and call() of "@retinue/sdk/testing".`,
    );
  const text = parts.map((part) => part.text ?? "").join("");
  return { text: text === "" ? undefined : text, calls: parts.flatMap(({ calls = [] }) => calls) };
}

let answered = 0;
/** A second model that goes on with a session must not give out the ids of the first. */
const series = Math.random().toString(36).slice(2, 8);

async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  next: (request: ModelRequest) => Promise<ModelTurn | undefined>,
): Promise<void> {
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += chunk;
  const body: unknown = JSON.parse(text);
  if (!isRecord(body)) return refuse(response, "scripted model: the request is no object");
  const turn = await next(readRequest(body));
  if (!turn) return refuse(response, "scripted model: unexpected call");
  answered += 1;
  if (body.stream) stream(response, turn, body.model);
  else response.setHeader("content-type", "application/json").end(JSON.stringify(completion(turn, body.model)));
}

function refuse(response: ServerResponse, message: string): void {
  response.statusCode = 400;
  response.setHeader("content-type", "application/json").end(JSON.stringify({ error: { message } }));
}

function readRequest(body: Record<string, unknown>): ModelRequest {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isRecord) : [];
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const tools = Array.isArray(body.tools) ? body.tools.filter(isRecord) : [];
  return {
    body,
    system: messages.flatMap(({ role, content }) => (role === "system" ? [textOf(content)] : [])).join("\n"),
    prompt: textOf(messages[lastUser]?.content),
    results: messages.slice(lastUser + 1).flatMap(({ role, content }) => (role === "tool" ? [textOf(content)] : [])),
    tools: tools.map((tool) => String(isRecord(tool.function) ? tool.function.name : tool.name)),
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isRecord(part) && typeof part.text === "string" ? part.text : "")).join("");
}

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

function toolCalls({ calls = [] }: ModelTurn) {
  return calls.map((made, index) => ({
    index,
    id: `call_${series}_${answered}_${index}`,
    type: "function",
    function: { name: made.name, arguments: JSON.stringify(made.arguments) },
  }));
}

function completion(turn: ModelTurn, model: unknown) {
  const calls = toolCalls(turn);
  const message = { role: "assistant", content: turn.text ?? null, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  return {
    id: `scripted-${answered}`,
    object: "chat.completion",
    created: 0,
    model,
    usage,
    choices: [{ index: 0, message, finish_reason }],
  };
}

function stream(response: ServerResponse, turn: ModelTurn, model: unknown): void {
  const head = { id: `scripted-${answered}`, object: "chat.completion.chunk", created: 0, model };
  const calls = toolCalls(turn);
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks = [
    chunk({ role: "assistant", content: "" }),
    ...(turn.text ?? "").split(/(?<= )/).flatMap((content) => (content === "" ? [] : [chunk({ content })])),
    ...(calls.length > 0 ? [chunk({ tool_calls: calls })] : []),
    chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    { ...head, choices: [], usage },
  ];
  response.setHeader("content-type", "text/event-stream");
  for (const part of chunks) response.write(`data: ${JSON.stringify(part)}\n\n`);
  response.end("data: [DONE]\n\n");
}
