/** The single executable as somebody uses it who has nothing else: no Node, no packages, a home folder of their own. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";

const executable = realpathSync(process.env.RETINUE_EXECUTABLE ?? "");
const version = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
const folders: string[] = [];
let home = "";

beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-exe-")));
  folders.push(home);
  mkdirSync(path.join(home, "work"));
  writeFileSync(path.join(home, "work/hay.txt"), "a needle\n");
});
afterEach(() => expect(left()).toEqual([])); // It once ran on for an hour after `--version`.
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

test("it says its version and its help, and unpacks into a folder that only its owner can enter", async () => {
  expect((await retinue("--version")).stdout.trim()).toBe(version);
  expect((await retinue("--help")).stdout).toContain("Commands:");
  for (const folder of [cache(), unpacked()]) expect(statSync(folder).mode & 0o077).toBe(0);
  const files = readdirSync(unpacked(), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const open = files.filter((entry) => (statSync(path.join(entry.parentPath, entry.name)).mode & 0o077) !== 0);
  expect(open.map(({ name }) => name)).toEqual([]);
});

test("it answers a prompt with the offline model, searches with ripgrep and keeps the session", async () => {
  expect((await retinue("-p", "Find needle")).stdout).toContain("hay.txt");
  expect((await retinue("sessions", "list")).stdout).toContain("Find needle");
  const checks: { name: string; status: string }[] = JSON.parse((await retinue("doctor", "--json")).stdout);
  expect(checks.filter(({ status }) => status === "problem")).toEqual([]);
  expect(JSON.stringify(checks)).not.toContain("Install Node"); // It has its own.
});

test("files that were changed are not run: they are unpacked again", async () => {
  await retinue("--version");
  const bundle = path.join(unpacked(), "dist/main.cjs");
  writeFileSync(bundle, 'process.stdout.write("changed");');
  expect((await retinue("--version")).stdout.trim()).toBe(version);
  expect(readFileSync(bundle, "utf8").length).toBeGreaterThan(100_000);
  expect(readdirSync(cache())).toHaveLength(1);
});

test("a folder that others can enter is refused in words", async () => {
  mkdirSync(cache(), { recursive: true });
  chmodSync(cache(), 0o755);
  await expect(retinue("--version")).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("chmod 700") });
});

test("the daemon starts, answers and stops", async () => {
  try {
    expect((await retinue("daemon", "start")).stdout).toMatch(/^Started: process \d+/);
    expect((await retinue("daemon", "status")).stdout).toMatch(/^Running/);
  } finally {
    await retinue("daemon", "stop");
  }
});

test("what it writes for other agent programs runs it again: a hook, and an MCP server", async () => {
  await retinue("connect", "claude-code", "--yes");
  const settings = JSON.parse(readFileSync(path.join(home, ".claude/settings.json"), "utf8"));
  const commands = JSON.stringify(settings).match(/"command":"(?:[^"\\]|\\.)*"/g) ?? [];
  expect(commands.length).toBeGreaterThan(0);
  for (const command of commands) {
    expect(command).toContain(executable);
    expect(command.split(executable)).toHaveLength(2); // Node's own words would name it twice.
  }
  const hook: string = JSON.parse(`{${commands[0]}}`).command;
  const ran = promisify(execFile)("sh", ["-c", hook], { env: env() });
  ran.child.stdin?.end("{}");
  await ran; // Rejects when it ends with another code than 0.

  const servers = JSON.parse(readFileSync(path.join(home, ".claude.json"), "utf8")).mcpServers;
  const server = Object.values<{ command: string; args: string[] }>(servers)[0];
  expect(server?.command).toBe(executable);
  const child = spawn(executable, server?.args ?? [], { env: env(), stdio: ["pipe", "pipe", "ignore"] });
  const closed = once(child, "close");
  try {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "0" } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
    const [answer] = await once(child.stdout.setEncoding("utf8"), "data");
    expect(JSON.parse(answer)).toMatchObject({ id: 1, result: { serverInfo: { name: expect.any(String) } } });
    child.stdin.end();
    await closed;
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
});

const cache = () => path.join(home, ".cache/retinue");
const unpacked = () => path.join(cache(), readdirSync(cache())[0] ?? "");

function env(): NodeJS.ProcessEnv {
  return { HOME: home, PATH: "/usr/bin:/bin", RETINUE_HOME: path.join(home, "retinue"), RETINUE_DAEMON: "off" };
}

function retinue(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const running = promisify(execFile)(executable, args, { cwd: path.join(home, "work"), env: env(), timeout: 30_000 });
  running.child.stdin?.end();
  return running;
}

/** Processes of the executable that are still there. */
function left(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => programOf(pid) === executable);
}

function programOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined; // It has ended, or is not ours.
  }
}
