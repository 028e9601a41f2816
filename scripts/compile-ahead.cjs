/**
 * Runs one session of the bundle on the offline model, then saves what V8 has compiled by then, and the values that are the
 * same in every process (packages/retinue/src/prepared.ts).
 * Called by scripts/build.mjs with the folder of the bundle.
 */
const { mkdtempSync, renameSync, rmSync, writeFileSync } = require("node:fs");
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

let received = "";
let hasSent = false;
process.stdout.write = (text) => {
  received += text;
  if (!hasSent && received.includes('"id":2,"result"')) {
    hasSent = true;
    send(3, "session.send", { sessionId: "compile-ahead", prompt: "List the files here" });
  }
  if (received.includes('"session.idle"')) setImmediate(finish);
  return true;
};
process.exit = () => undefined;
setTimeout(() => exit(1), 30_000); // Also keeps the process alive, which this input does not.

run();
send(1, "connect", {});
send(2, "session.create", { sessionId: "compile-ahead", workingDirectory: home, requestPermission: false });

function send(id, method, params) {
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
