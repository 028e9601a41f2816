/** Prints the figures of 0002-model-http.md: what an HTTP client costs to load, and per streamed answer. Run it from the root. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const POST = 'path: "/", method: "POST", headers: { "content-type": "application/json" }';
const CLIENTS = {
  none: "export const open = undefined;",
  "node:http": `import http from "node:http"; export function open(url) { const agent = new http.Agent({ keepAlive: true });
    return (body) => new Promise((resolve, reject) => http.request(url, { agent, ${POST} }, async (answer) => {
      for await (const chunk of answer) chunk.length; resolve(); }).on("error", reject).end(body)); }`,
  "undici Pool alone": `import Pool from "undici/lib/dispatcher/pool.js"; export function open(url) { const pool = new Pool(url);
    return (body) => new Promise((resolve, reject) => pool.dispatch({ ${POST}, body }, { onRequestStart() {}, onResponseStart() {},
      onResponseData() {}, onResponseEnd: resolve, onResponseError: (_, error) => reject(error) })); }`,
  undici: `import { Pool } from "undici"; export function open(url) { const pool = new Pool(url);
    return async (body) => { for await (const chunk of (await pool.request({ ${POST}, body })).body) chunk.length; }; }`,
};

if (process.argv[2]) await answersPerClient(process.argv[2], process.argv[3]);
else await main();

async function main() {
  const { build } = await import("esbuild");
  const folder = mkdtempSync(join(tmpdir(), "model-http-"));
  const banner = { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' };
  const server = createServer((request, response) => request.resume().on("end", () => stream(response)));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const files = Object.keys(CLIENTS).map((name, at) => [name, join(folder, `${at}.mjs`)]);
  for (const [name, outfile] of files) {
    const stdin = { contents: CLIENTS[name], resolveDir: process.cwd() };
    await build({
      stdin,
      outfile,
      banner,
      bundle: true,
      minify: true,
      format: "esm",
      platform: "node",
      logLevel: "error",
    });
  }
  // Turn by turn and the least of all, because other work on the machine only ever adds.
  const starts = new Map(files.map(([name]) => [name, Number.POSITIVE_INFINITY]));
  for (let round = 0; round < 25; round++) {
    for (const [name, file] of files)
      starts.set(
        name,
        Math.min(
          starts.get(name),
          timed(() => spawnSync(process.execPath, [file])),
        ),
      );
  }
  for (const [name, file] of files) {
    const figures = name === "none" ? "" : await childFigures(file, server.address().port);
    console.log(`${name}: process start ${starts.get(name).toFixed(0)} ms`, figures);
  }
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
}

function stream(response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let i = 0; i < 20; i++)
    setImmediate(() => response.write(`data: {"choices":[{"delta":{"content":"${"x".repeat(20)}"}}]}\n\n`));
  setImmediate(() => response.end("data: [DONE]\n\n"));
}

function timed(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

async function childFigures(file, port) {
  const child = spawn(process.execPath, [process.argv[1], file, `http://127.0.0.1:${port}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  return text.trim();
}

async function answersPerClient(file, url) {
  const ask = (await import(pathToFileURL(file).href)).open(url);
  const body = JSON.stringify({ text: "x".repeat(40_000) });
  const cpu = async (times) => {
    const before = process.cpuUsage();
    for (let i = 0; i < times; i++) await ask(body);
    const { user, system } = process.cpuUsage(before);
    return ((user + system) / 1000 / times).toFixed(2);
  };
  const first = await cpu(1);
  await cpu(200);
  console.log(`first answer ${first} ms CPU, each later one ${await cpu(1000)} ms CPU`);
  process.exit();
}
