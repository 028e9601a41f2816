/**
 * Runs one session of the bundle against a model endpoint on loopback, with a question, a sub-agent and a tool of the host, closes
 * and resumes it, then saves what V8 has compiled by then, and the values that are the same in every process (packages/retinue/src/prepared.ts).
 * Called by scripts/build.mjs with the folder of the bundle.
 */
const { mkdtempSync, renameSync, rmSync, writeFileSync } = require("node:fs");
const { createServer } = require("node:http");
const { PassThrough } = require("node:stream");
const { tmpdir } = require("node:os");
const path = require("node:path");
const { compile } = require("../bin/load.js");

const folder = process.argv[2];
const home = mkdtempSync(path.join(tmpdir(), "retinue-build-"));
const input = new PassThrough();
const exit = process.exit.bind(process);
rmSync(path.join(folder, "main.cache"), { force: true }); // Values of an earlier bundle must not come back.
const { script, run, id } = compile(path.join(folder, "main.cjs"));

for (const name of Object.keys(process.env))
  if (/^(RETINUE|COPILOT|OPENAI|ANTHROPIC)_/.test(name)) delete process.env[name];
process.env.RETINUE_HOME = home;
process.argv = [process.argv[0], "retinue", "--headless", "--stdio"];
Object.defineProperty(process, "stdin", { value: input });

process.exit = () => undefined;
setTimeout(() => exit(1), 30_000); // Also keeps the process alive, which this input does not.

/** One after the other, whoever asks: the main agent delegates, its sub-agent answers, the main agent calls, then answers. */
const ANSWERS = [
  call("task", { name: "one", agent_type: "general-purpose", description: "a task", prompt: "Go on", mode: "sync" }),
  { content: "It is done." },
  call("view", { path: home }),
  call("ahead_tool", { n: 1 }),
  { content: "Here is the answer." },
];
let answered = 0;
const model = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const delta = { role: "assistant", ...ANSWERS[answered++ % ANSWERS.length] };
    const choice = { index: 0, delta, finish_reason: delta.tool_calls ? "tool_calls" : "stop" };
    const part = { id: "ahead", object: "chat.completion.chunk", created: 0, model: "ahead", choices: [choice], usage };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(part)}\n\ndata: [DONE]\n\n`);
  });
});

let received = "";
let nextId = 1;
process.stdout.write = (text) => {
  received += text;
  for (;;) {
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) break;
    const length = Number(/Content-Length: (\d+)/.exec(received.slice(0, end))?.[1]);
    const bytes = Buffer.from(received.slice(end + 4));
    if (bytes.length < length) break;
    received = bytes.toString("utf8", length);
    onMessage(JSON.parse(bytes.toString("utf8", 0, length)));
  }
  return true;
};

const SESSION = { sessionId: "compile-ahead" };
const TURNS = 3;
let turns = 0;
const onAnswer = new Map();

function onMessage({ id, method, params, error }) {
  if (error) throw new Error(`compile-ahead: ${JSON.stringify(error)}`);
  if (!method) onAnswer.get(id)?.();
  if (method !== "session.event") return;
  const { type, data } = params.event;
  const { requestId } = data ?? {};
  if (type === "permission.requested")
    send("session.permissions.handlePendingPermissionRequest", {
      ...SESSION,
      requestId,
      result: { kind: "approve-once" },
    });
  if (type === "external_tool.requested")
    send("session.tools.handlePendingToolCall", { ...SESSION, requestId, result: "1" });
  if (type === "session.idle") onIdle();
}

const goOn = () => send("session.send", { ...SESSION, prompt: "Go on" });

function onIdle() {
  turns++;
  if (turns < TURNS) goOn();
  else if (turns > TURNS) setImmediate(finish);
  else send("session.destroy", SESSION, () => send("session.resume", config(), goOn));
}

model.listen(0, "127.0.0.1", () => {
  run();
  send("connect", {}, () => send("session.create", config(), goOn));
});

function config() {
  return {
    ...SESSION,
    workingDirectory: home,
    requestPermission: true,
    model: "ahead",
    provider: { type: "openai", baseUrl: `http://127.0.0.1:${model.address().port}/v1`, apiKey: "none" },
    tools: [{ name: "ahead_tool", description: "Returns a number.", parameters: { type: "object", properties: {} } }],
  };
}

function call(name, args) {
  return {
    tool_calls: [
      { index: 0, id: `call_${name}`, type: "function", function: { name, arguments: JSON.stringify(args) } },
    ],
  };
}

function send(method, params, then) {
  const id = nextId++;
  if (then) onAnswer.set(id, then);
  const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
  input.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function finish() {
  const target = path.join(folder, "main.cache");
  const values = Buffer.from(JSON.stringify(globalThis.retinuePrepared));
  const head = Buffer.from(id + values.length.toString(16).padStart(8, "0"));
  writeFileSync(`${target}.${process.pid}`, Buffer.concat([head, values, script.createCachedData()]));
  renameSync(`${target}.${process.pid}`, target);
  rmSync(home, { recursive: true, force: true });
  exit(0);
}
