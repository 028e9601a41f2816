/** For tests: the built executable in a small world of its own, with a fresh home, working folder and temp folder. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ModelScript, type ScriptedModel, startScriptedModel } from "@retinue/sdk/testing";
import { quoted } from "./permission-words.ts";

const executable = fileURLToPath(new URL("../../../../bin/retinue.js", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  process: ChildProcess;
  ended: Promise<Ended>;
  /** Resolves when standard error has this text. */
  says(text: string): Promise<void>;
}

export interface RunOptions {
  input?: string;
  /** Standard input stays open after the input. */
  staysOpen?: boolean;
  env?: Record<string, string>;
  /** Where it runs, in place of the working folder. */
  cwd?: string;
  /** At a real terminal of this size; what is on it comes as standard output. Needs `canHaveTerminal`. */
  terminal?: { columns: number; rows: number };
}

export interface CliWorld extends AsyncDisposable {
  readonly home: string;
  readonly folder: string;
  readonly root: string;
  put(name: string, text: string): string;
  start(args: readonly string[], options?: RunOptions): Running;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** What the program has left in its temp folder. */
  leftovers(): string[];
}

export interface ModelWorld extends CliWorld {
  readonly model: ScriptedModel;
}

/** With a scripted model as the provider. */
export async function modelWorld(script: ModelScript): Promise<ModelWorld> {
  const model = await startScriptedModel(script);
  const world = cliWorld({ RETINUE_PROVIDER_URL: model.provider.baseUrl, RETINUE_MODEL: "scripted" });
  return {
    ...world,
    model,
    async [Symbol.asyncDispose]() {
      await model[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

export function cliWorld(settings: Record<string, string> = {}): CliWorld {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-cli-")));
  const [home, folder, temporary] = ["home", "work", "tmp"].map((name) => join(root, name)) as [string, string, string];
  for (const path of [folder, temporary]) mkdirSync(path);
  const children = new Set<ChildProcess>();
  const start = (
    args: readonly string[],
    { input, staysOpen = false, env = {}, cwd = folder, terminal }: RunOptions = {},
  ): Running => {
    const all = { ...cleanEnv(), RETINUE_HOME: home, TMPDIR: temporary, ...settings, ...env };
    const [program, words] = terminal ? atTerminal(args, terminal) : [process.execPath, [executable, ...args]];
    const child = spawn(program, words, { cwd, env: all, stdio: "pipe" });
    children.add(child);
    if (!staysOpen) child.stdin.end(input);
    else if (input !== undefined) child.stdin.write(input);
    return follow(child);
  };
  return {
    home,
    folder,
    root,
    start,
    run: (args, options) => start(args, options).ended,
    leftovers: () => readdirSync(temporary),
    put(name, text) {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGKILL");
      rmSync(root, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

export const canHaveTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

function atTerminal(args: readonly string[], { columns, rows }: { columns: number; rows: number }): [string, string[]] {
  const line = [process.execPath, executable, ...args].map(quoted).join(" ");
  return ["script", ["-qec", `stty cols ${columns} rows ${rows}; TERM=xterm ${line}`, "/dev/null"]];
}

/** A client of a runtime on stdio that asks for its sessions, and goes when it has them. */
export async function askForSessions(
  world: CliWorld,
  args: readonly string[],
  env?: Record<string, string>,
): Promise<Ended> {
  const requests = ["connect", "session.list"].map((method, at) => {
    const text = JSON.stringify({ jsonrpc: "2.0", id: at + 1, method, params: {} });
    return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  });
  const { process: child, ended } = world.start(args, { input: requests.join(""), staysOpen: true, env });
  let received = "";
  child.stdout?.on("data", (text: string) => {
    received += text;
    if (received.includes('"sessions"')) child.stdin?.end();
  });
  return ended;
}

function follow(child: ReturnType<typeof spawn>): Running {
  let stdout = "";
  let stderr = "";
  const waiting = new Set<() => void>();
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    for (const look of [...waiting]) look();
  });
  const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
  return {
    process: child,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!stderr.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
        void ended.then(() => reject(new Error(`it ended without saying ${text}:\n${stderr}`)));
      }),
  };
}

/** Without keys or settings of whoever runs the tests. */
function cleanEnv(): Record<string, string> {
  const foreign = /^(COPILOT_|RETINUE_|GITHUB_|GH_|OPENAI_|ANTHROPIC_|AZURE_|NODE_OPTIONS|VITEST)/;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      foreign.test(name) || value === undefined ? [] : [[name, value]],
    ),
  );
}
