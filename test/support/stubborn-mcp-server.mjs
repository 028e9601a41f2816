/**
 * An MCP server over stdio that refuses to leave: neither the end of its input nor SIGTERM ends it, and it starts a helper in a session of
 * its own. It appends the pids of both to the file that its argument names, before it answers anything.
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(signal, () => undefined);
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
setInterval(() => undefined, 60_000);

const helper = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
helper.unref();
appendFileSync(process.argv[2], `${process.pid}\n${helper.pid}\n`);

const tools = [{ name: "wait", description: "Waits.", inputSchema: { type: "object", properties: {} } }];
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "stubborn", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method]?.(params ?? {});
  const error = { code: -32601, message: `no method ${method}` };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...(answer ? { result: answer } : { error }) })}\n`);
});
