/** A sandbox for one real harness: a temp folder as its home, our home beside it, a loopback model, and nothing else. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Sandbox {
  readonly folder: string;
  /** HOME of the harness. */
  readonly user: string;
  readonly home: string;
  readonly project: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs a command of ours. */
  retinue(...args: string[]): Promise<Ran>;
  run(
    command: string,
    args: readonly string[],
    options?: { env?: NodeJS.ProcessEnv; timeoutMs?: number; until?: () => boolean },
  ): Promise<Ran>;
  remove(): Promise<void>;
}

export interface Ran {
  code: number | null;
  output: string;
}

export function openSandbox(program: readonly string[]): Sandbox {
  const folder = mkdtempSync(join(tmpdir(), "retinue-harness-"));
  const [user, home, project] = ["user", "retinue", "project"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [user, home, project]) mkdirSync(each);
  writeFileSync(join(project, "README.md"), "# A project\n");
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: user,
    LANG: "C.UTF-8",
    RETINUE_HOME: home,
    TERM: "dumb",
  };
  const sandbox: Sandbox = {
    folder,
    user,
    home,
    project,
    env,
    retinue: (...args) => sandbox.run(program[0] ?? "", [...program.slice(1), ...args], { timeoutMs: 60_000 }),
    run: (command, args, options = {}) =>
      runIn({
        command,
        args,
        cwd: project,
        env: { ...env, ...options.env },
        timeoutMs: options.timeoutMs ?? 120_000,
        until: options.until,
      }),
    async remove() {
      await sandbox.retinue("daemon", "stop");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return sandbox;
}

interface Start {
  command: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  until?: () => boolean;
}

/** Resolves when the process ends, `until` holds, or the time is up; then the whole process group is killed. */
function runIn({ command, args, cwd, env, timeoutMs, until }: Start): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    const collect = (chunk: Buffer) => {
      output += chunk.toString("utf8");
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    const end = () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    };
    const limit = setTimeout(end, timeoutMs);
    const watch = setInterval(() => until?.() && end(), 200);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(limit);
      clearInterval(watch);
      resolve({ code, output });
    });
  });
}

/** Installs a package from npm once; the folder may be given again. */
export async function install(folder: string, name: string, specs: readonly string[], has: string): Promise<string> {
  const place = join(folder, name);
  if (existsSync(join(place, "node_modules", has))) return place;
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ name: `harness-${name}`, private: true }));
  // --force: under Node 20 npm refuses, or silently takes an older version of, packages that want a newer one.
  const args = ["install", "--no-audit", "--no-fund", "--force", ...specs];
  const { code, output } = await runIn({ command: "npm", args, cwd: place, env: process.env, timeoutMs: 600_000 });
  if (code !== 0 || !existsSync(join(place, "node_modules", has)))
    throw new Error(`npm could not install ${specs.join(" ")}:\n${output.slice(-2_000)}`);
  return place;
}
