/**
 * A small world in which the commands of the pages can be typed: `retinue` in the path, a project with the files that the pages name, a home with two
 * stored sessions, and a model on loopback where the pages name an address. Every block of commands gets a fresh copy of it.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { approveAll } from "@retinue/sdk";
import { type ModelRequest, say, startScriptedModel } from "@retinue/sdk/testing";
import { build } from "esbuild";
import { openOwnRuntime } from "../../packages/retinue/src/cli/own-runtime.ts";
import { outsideImports } from "../../scripts/outside.mjs";
import { PATIENCE_MS } from "./patience.ts";
import { cleanEnv } from "./runtime.ts";
import { root } from "./sources.ts";

export const SESSIONS = ["3f2a91c0-0000-4000-8000-000000000001", "909b39b0-0000-4000-8000-000000000002"];
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const FILES = {
  "README.md": "# Lantern\n\nA lamp that answers.\n",
  "package.json": '{ "name": "lantern", "type": "module", "scripts": { "test": "exit 1" } }\n',
  "src/main.ts": "export const light = 1;\n",
  "docs/plan.md": "Let there be light.\n",
  "../design/colours.md": "Yellow.\n",
  "token.txt": "a-token-of-at-least-some-length-0123456789\n",
  "payload.json": "{}\n",
};
/** A server works until it is told to stop: once it has said that it listens, it has done what the page says. */
export const LISTENS = /listening on|serving on/i;

export interface Ran {
  command: string;
  code: number | null;
  output: string;
}

export interface CommandWorld extends AsyncDisposable {
  readonly folder: string;
  /** Types the commands one after the other, in a fresh copy. */
  type(commands: readonly string[], isServer: (command: string) => boolean): Promise<Ran[]>;
  /** Runs a program with our packages. */
  program(source: string): Promise<Ran>;
}

export async function commandWorld(): Promise<CommandWorld> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-pages-")));
  const model = await startModel();
  const children = new Set<ChildProcess>();
  const original = path.join(folder, "original");
  await prepare(original);
  let copies = 0;
  const start = (command: string, at: string) => {
    const env = environment(at, model);
    const child = spawn("bash", ["-c", inWorld(command, model)], {
      cwd: placeOf(command, at),
      env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    children.add(child);
    return child;
  };
  const copy = () => {
    const at = path.join(folder, `copy-${++copies}`);
    cpSync(original, at, { recursive: true, verbatimSymlinks: true });
    return at;
  };
  return {
    folder,
    async type(commands, isServer) {
      const at = copy();
      const ran: Ran[] = [];
      const run = (command: string) => follow(start(command, at), { command, isServer: isServer(command) });
      try {
        for (const command of commands) ran.push(await run(command));
      } finally {
        if (commands.includes("retinue daemon start")) await run("retinue daemon stop");
      }
      return ran;
    },
    async program(source) {
      const at = copy();
      symlinkSync(path.join(root, "node_modules"), path.join(at, "work/node_modules"));
      await bundle(source, path.join(at, "work/program.mjs"));
      const command = "RETINUE_PROVIDER_URL=http://127.0.0.1:11434/v1 RETINUE_MODEL=qwen3 node program.mjs";
      return follow(start(command, at), { command, isServer: false });
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) end(child);
      await model[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** One file, because loading our sources one by one takes longer than the program itself. */
async function bundle(source: string, outfile: string): Promise<void> {
  await build({
    stdin: { contents: source, loader: "ts", resolveDir: root },
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    loader: { ".md": "text" },
    external: outsideImports,
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
    logLevel: "silent",
  });
}

interface Model extends AsyncDisposable {
  url: string;
}

/** The scripted model, with a list of its models before it. */
async function startModel(): Promise<Model> {
  const wantsReview = ({ body }: ModelRequest) => JSON.stringify(body).includes("verdict");
  const script = (request: ModelRequest) =>
    say(wantsReview(request) ? '{"verdict":"merge","reasons":[]}' : "It is a lamp.");
  const model = await startScriptedModel(script);
  const server = createServer(async (request, response) => {
    if (request.method === "GET") return void response.end('{"object":"list","data":[{"id":"qwen3"}]}');
    const body = await text(request);
    const answer = await fetch(`${model.provider.baseUrl}/chat/completions`, { method: "POST", body });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${address && typeof address === "object" ? address.port : 0}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await model[Symbol.asyncDispose]();
    },
  };
}

async function prepare(at: string): Promise<void> {
  for (const [name, contents] of Object.entries(FILES)) put(path.join(at, "work", name), contents);
  put(path.join(at, "work/my-plugin/plugin.json"), JSON.stringify({ name: "my-plugin", version: "1.0.0" }));
  put(path.join(at, "work/my-plugin/commands/ship.md"), "Ship $1.\n");
  put(path.join(at, "work/screen.png"), Buffer.from(PICTURE, "base64"));
  mkdirSync(path.join(at, "user/src/project"), { recursive: true });
  put(path.join(at, "bin/retinue"), `#!/bin/sh\nexec node '${path.join(root, "bin/retinue.js")}' "$@"\n`);
  chmodSync(path.join(at, "bin/retinue"), 0o755);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: path.join(at, "work"), stdio: "ignore" });
  git("init", "--quiet");
  git("add", "README.md");
  put(path.join(at, "work/README.md"), "# Lantern\n\nA lamp that asks.\n");

  await using runtime = openOwnRuntime({ env: {}, home: path.join(at, "home"), provider: "offline" });
  for (const sessionId of SESSIONS) {
    const workingDirectory = path.join(at, "work");
    const session = await runtime.client.createSession({
      sessionId,
      workingDirectory,
      onPermissionRequest: approveAll,
    });
    await session.sendAndWait("What is here?");
  }
}

function put(file: string, contents: string | Buffer): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, contents);
}

function environment(at: string, model: Model): NodeJS.ProcessEnv {
  return cleanEnv({
    PATH: `${path.join(at, "bin")}${path.delimiter}${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`,
    HOME: path.join(at, "user"),
    RETINUE_HOME: path.join(at, "home"),
    RETINUE_PATH: path.join(root, "bin/retinue.js"),
    EDITOR: "true",
    VISUAL: "true",
    RETINUE_DAEMON: "off", // None is started by something else than its own command.
    OPENAI_BASE_URL: model.url,
    TMPDIR: at,
  });
}

/** The pages name the address of Ollama, ports that may be taken here, and ids that are cut after eight digits. */
function inWorld(command: string, model: Model): string {
  return command
    .replaceAll("http://127.0.0.1:11434/v1", model.url)
    .replace("--provider ollama", `$& --base-url ${model.url}`)
    .replace(/--port \d+/, "--port 0")
    .replace(/\b3f2a91c0\b/, SESSIONS[0] ?? "");
}

/** What is typed in a clone, and what is typed anywhere else. */
function placeOf(command: string, at: string): string {
  return /\bbin\/retinue\.js|\bexamples\//.test(command) ? root : path.join(at, "work");
}

async function follow(
  child: ChildProcess,
  { command, isServer }: { command: string; isServer: boolean },
): Promise<Ran> {
  let output = "";
  const take = (more: string) => {
    output += more;
    if (isServer && LISTENS.test(output)) child.kill("SIGTERM");
  };
  child.stdout?.setEncoding("utf8").on("data", take);
  child.stderr?.setEncoding("utf8").on("data", take);
  const late = setTimeout(() => end(child), PATIENCE_MS);
  const [code] = await once(child, "close");
  clearTimeout(late);
  return { command, code, output };
}

/** With everything that it has started. */
function end(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL"); // It has just ended.
  }
}
