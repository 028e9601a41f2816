/**
 * A model on the loopback address that speaks the three wire formats the harnesses use, and follows one script:
 * the main agent delegates, the child searches, both answer. It keeps every request.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const PARENT_WORDS = "The secret plan is called PELICAN-PROTOCOL. Please delegate it.";
export const CHILD_TASK = "CHILD-TASK: find out what the plan is called.";

export interface Asked {
  path: string;
  body: string;
  /** The whole request as text, with JSON escapes undone. */
  text: string;
  who: "parent" | "child" | "other";
}

export interface ModelServer {
  readonly url: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

type Fields = Record<string, unknown>;
type Reply = { text: string } | { call: { id: string; name: string; namespace?: string; args: object } };

export interface Step {
  tool: RegExp;
  /** May be made from the text of the conversation so far. */
  args: object | ((text: string) => object);
}

/** What each of the two does, call by call, before it answers. */
export interface Script {
  parent: readonly Step[];
  child: readonly Step[];
}

export async function startModelServer(script: Script): Promise<ModelServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const path = request.url ?? "";
      if (request.method !== "POST" || !/messages|responses|completions/.test(path) || path.includes("count_tokens")) {
        response.writeHead(path.includes("count_tokens") ? 200 : 404, { "content-type": "application/json" });
        response.end(JSON.stringify({ input_tokens: 10 }));
        return;
      }
      const parsed: Fields = JSON.parse(body);
      const text = plainText(parsed);
      const who = speakerOf(parsed);
      asked.push({ path, body, text, who });
      const reply = decide({ parsed, who, script });
      respond(response, { path, reply, isStreamed: parsed.stream === true });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked, close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

const messagesOf = (parsed: Fields): Fields[] => [parsed.messages, parsed.input].filter(Array.isArray).flat();

/** Every string in the request, one after the other. */
function plainText(value: unknown): string {
  if (typeof value === "string") return `${value}\n`;
  if (Array.isArray(value)) return value.map(plainText).join("");
  return typeof value === "object" && value !== null ? Object.values(value).map(plainText).join("") : "";
}

/** By the prompt: the child's task is a user message only in its own conversation; elsewhere it is the argument of a call. */
function speakerOf(parsed: Fields): Asked["who"] {
  const users = messagesOf(parsed)
    .filter(({ role }) => role === "user")
    .map(({ content }) => plainText(content));
  if (users.some((text) => text.includes(CHILD_TASK))) return "child";
  return users.some((text) => text.includes(PARENT_WORDS)) ? "parent" : "other";
}

interface Offered {
  name: string;
  namespace?: string;
}

function toolsOf(parsed: Fields): Offered[] {
  const tools = Array.isArray(parsed.tools) ? (parsed.tools as Fields[]) : [];
  return tools.flatMap((tool) => {
    if (tool.type === "namespace")
      return (tool.tools as Fields[]).map(({ name }) => ({ name: String(name), namespace: String(tool.name) }));
    return [{ name: String(((tool.function ?? tool) as Fields).name ?? "") }];
  });
}

/** How many calls the agent has made so far. */
function callsMade(parsed: Fields): number {
  return messagesOf(parsed).reduce((count, message) => {
    const blocks = Array.isArray(message.content) ? (message.content as Fields[]) : [];
    const results = blocks.filter(({ type }) => type === "tool_result").length;
    return count + results + (message.role === "tool" || message.type === "function_call_output" ? 1 : 0);
  }, 0);
}

function decide({ parsed, who, script }: { parsed: Fields; who: Asked["who"]; script: Script }): Reply {
  const made = callsMade(parsed);
  const steps = who === "parent" ? script.parent : who === "child" ? script.child : [];
  const step = steps[made];
  if (!step) return { text: `${who} done` };
  const tools = toolsOf(parsed);
  const tool = tools.find(({ name, namespace }) => step.tool.test(namespace ? `${namespace}__${name}` : name));
  if (!tool) return { text: `no ${step.tool} among ${tools.map(({ name }) => name).join(", ")}` };
  const args = typeof step.args === "function" ? step.args(plainText(messagesOf(parsed))) : step.args;
  return { call: { id: `call_${who}_${made}`, ...tool, args } };
}

interface Answer {
  path: string;
  reply: Reply;
  isStreamed: boolean;
}

function respond(response: ServerResponse, { path, reply, isStreamed }: Answer): void {
  const events = path.includes("/messages")
    ? anthropic(reply)
    : path.includes("/responses")
      ? responses(reply)
      : chat(reply);
  if (!isStreamed && path.includes("/completions")) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(chatWhole(reply)));
    return;
  }
  if (!isStreamed && path.includes("/messages")) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        id: "msg",
        type: "message",
        role: "assistant",
        model: "fake",
        content: [{ type: "text", text: "ok" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    );
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.join(""));
}

const event = (data: Fields) => `${data.type ? `event: ${data.type}\n` : ""}data: ${JSON.stringify(data)}\n\n`;

function anthropic(reply: Reply): string[] {
  const message = {
    id: `msg_${Math.random().toString(36).slice(2)}`,
    type: "message",
    role: "assistant",
    model: "fake-model",
    content: [],
    stop_reason: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  const isCall = "call" in reply;
  const block = isCall
    ? { type: "tool_use", id: `toolu_${Math.random().toString(36).slice(2)}`, name: reply.call.name, input: {} }
    : { type: "text", text: "" };
  const delta = isCall
    ? { type: "input_json_delta", partial_json: JSON.stringify(reply.call.args) }
    : { type: "text_delta", text: reply.text };
  return [
    event({ type: "message_start", message }),
    event({ type: "content_block_start", index: 0, content_block: block }),
    event({ type: "content_block_delta", index: 0, delta }),
    event({ type: "content_block_stop", index: 0 }),
    event({
      type: "message_delta",
      delta: { stop_reason: isCall ? "tool_use" : "end_turn" },
      usage: { output_tokens: 5 },
    }),
    event({ type: "message_stop" }),
  ];
}

const toolCall = (reply: Reply) =>
  "call" in reply
    ? [
        {
          index: 0,
          id: `${reply.call.id}_${Math.random().toString(36).slice(2)}`,
          type: "function",
          function: { name: reply.call.name, arguments: JSON.stringify(reply.call.args) },
        },
      ]
    : undefined;

function chat(reply: Reply): string[] {
  const chunk = (delta: object, finish: string | null) =>
    event({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "fake-model",
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
  const calls = toolCall(reply);
  const usage = event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "fake-model",
    choices: [],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  });
  const delta = calls
    ? { role: "assistant", content: null, tool_calls: calls }
    : { role: "assistant", content: "text" in reply ? reply.text : "" };
  return [chunk(delta, null), chunk({}, calls ? "tool_calls" : "stop"), usage, "data: [DONE]\n\n"];
}

function chatWhole(reply: Reply): object {
  const calls = toolCall(reply);
  const message = calls
    ? { role: "assistant", content: null, tool_calls: calls }
    : { role: "assistant", content: "text" in reply ? reply.text : "" };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "fake-model",
    choices: [{ index: 0, message, finish_reason: calls ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

function responses(reply: Reply): string[] {
  const id = Math.random().toString(36).slice(2);
  const item =
    "call" in reply
      ? {
          type: "function_call",
          id: `fc_${id}`,
          call_id: `call_${id}`,
          name: reply.call.name,
          namespace: reply.call.namespace,
          arguments: JSON.stringify(reply.call.args),
          status: "completed",
        }
      : {
          type: "message",
          id: `msg_${id}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: reply.text, annotations: [] }],
        };
  const usage = {
    input_tokens: 10,
    input_tokens_details: null,
    output_tokens: 5,
    output_tokens_details: null,
    total_tokens: 15,
  };
  return [
    event({ type: "response.created", response: { id: `resp_${id}` } }),
    event({ type: "response.output_item.added", output_index: 0, item }),
    event({ type: "response.output_item.done", output_index: 0, item }),
    event({ type: "response.completed", response: { id: `resp_${id}`, usage, output: [item] } }),
  ];
}
