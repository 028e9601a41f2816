import { execFile, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSqlite } from "../../store/sqlite/store.ts";
import { runDaemon } from "./daemon.ts";
import { askDaemon, daemonAddress, livingDaemon } from "./daemon-client.ts";
import { startDaemon, stopDaemon } from "./daemon-process.ts";

const node = process.execPath;
const executable = join(import.meta.dirname, "../../../../../bin/retinue.js");

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retinue-daemon-"));
});
afterEach(async () => {
  await stopDaemon(home);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

const env = () => ({ ...process.env, HOME: join(home, "user") });
const start = () => startDaemon({ home, program: [node, executable], env: env() });
const prompt = (userMessage: string, more: object = {}) =>
  askDaemon({
    home,
    method: "POST",
    path: "/api/hooks/user-prompt-submit",
    body: { harness: "claude-code", sessionKey: "s", userMessage, ...more },
  });
const find = async (query: string) => {
  const answer = await askDaemon({ home, method: "POST", path: "/api/sessions/search", body: { query } });
  return (answer as { hits: { snippet: string }[] }).hits.map(({ snippet }) => snippet);
};
function runHook(payload: object, harness = "claude-code", more: NodeJS.ProcessEnv = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [executable, "hook", harness, "--home", home], {
      env: { ...env(), ...more },
    });
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(out) : reject(new Error(`the hook ended with ${code}`))));
    child.stdin.end(JSON.stringify(payload));
  });
}

describe("the daemon", () => {
  test("starts once per home, says where it is, and stops", async () => {
    const [first, second] = await Promise.all([start(), start()]);
    expect(first.pid).toBe(second.pid);
    await expect(runDaemon({ home })).rejects.toThrow(/runs for .* already/);
    expect(await livingDaemon(home)).toEqual({ pid: first.pid, port: first.port });
    expect(await stopDaemon(home)).toBe(true);
    expect(await livingDaemon(home)).toBeUndefined();
    expect(await stopDaemon(home)).toBe(false);
  });

  test("keeps its token from other users", async () => {
    await start();
    expect(statSync(join(home, "daemon.token")).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "daemon.json")).mode & 0o777).toBe(0o600);
  });

  test("loses nothing that it acknowledged when it is killed, and the next start finds no lock in its way", async () => {
    const { pid } = await start();
    for (let n = 0; n < 100; n++) await prompt(`zebra number ${n}`);
    process.kill(pid, "SIGKILL");
    await start();
    expect(daemonAddress(home)?.pid).not.toBe(pid);
    expect(await find('"zebra number 99"')).toHaveLength(1);
    const { turns } = (await askDaemon({ home, method: "GET", path: "/api/sessions/s/transcript" })) as {
      turns: unknown[];
    };
    expect(turns).toHaveLength(100);
  });

  test("reads what a running session wrote while it was down", async () => {
    const folder = join(home, "user/.claude/projects/x");
    mkdirSync(folder, { recursive: true });
    const transcriptPath = join(folder, "s.jsonl");
    const line = (text: string) =>
      `${JSON.stringify({ type: "user", uuid: text, message: { role: "user", content: text } })}\n`;
    writeFileSync(transcriptPath, line("first"));
    await start();
    await prompt("first", { transcriptPath });
    await stopDaemon(home);
    appendFileSync(transcriptPath, line("said in the dark"));
    await start();
    await expect.poll(() => find("dark")).toEqual(["User: said in the dark"]);
  });
});

describe("a hook", () => {
  const child = { hook_event_name: "SubagentStart", session_id: "s", agent_id: "a", cwd: "/projects/shop" };

  test("gets its answer without a daemon, and starts one", async () => {
    expect(
      await runHook({
        hook_event_name: "UserPromptSubmit",
        session_id: "s",
        cwd: "/projects/shop",
        prompt: "the pelican plan",
      }),
    ).toBe("");
    await expect.poll(() => livingDaemon(home)).toBeDefined();
    const answer = JSON.parse(await runHook(child));
    expect(answer.hookSpecificOutput.hookEventName).toBe("SubagentStart");
    expect(answer.hookSpecificOutput.additionalContext).toContain("User: the pelican plan");
  });

  test("tells a turn once, though several processes read the same file at once", async () => {
    const transcriptPath = join(home, "user/.claude/projects/x/s.jsonl");
    mkdirSync(join(home, "user/.claude/projects/x"), { recursive: true });
    const line = (n: number) =>
      `${JSON.stringify({ type: "user", uuid: `u${n}`, message: { role: "user", content: `turn ${n}` } })}\n`;
    writeFileSync(transcriptPath, Array.from({ length: 300 }, (_, n) => line(n)).join(""));
    const payload = {
      hook_event_name: "Stop",
      session_id: "s",
      transcript_path: transcriptPath,
      cwd: "/projects/shop",
    };
    await Promise.all(Array.from({ length: 4 }, () => runHook(payload, "claude-code", { RETINUE_DAEMON: "off" })));
    await start();
    const answer = await askDaemon({ home, method: "GET", path: "/api/sessions/s/transcript?limit=1000" });
    expect((answer as { turns: { text: string }[] }).turns.map(({ text }) => text)).toEqual(
      Array.from({ length: 300 }, (_, n) => `turn ${n}`),
    );
  });

  test("ends well whatever it is given", async () => {
    await start();
    expect(await runHook({})).toBe("");
    expect(await runHook({ hook_event_name: "Whatever", session_id: "s" })).toBe("");
    expect(await runHook({ ...child, session_id: "unknown" })).toBe("");
    expect(
      await runHook({
        hook_event_name: "UserPromptSubmit",
        session_id: "s",
        transcript_path: "/etc/passwd",
        prompt: "x",
      }),
    ).toBe("");
    expect(await runHook(child, "no-such-harness")).toBe("");
  });

  test("does not wait for a daemon that accepts and never answers", async () => {
    const deaf = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => deaf.listen(0, "127.0.0.1", resolve));
    const address = deaf.address();
    writeFileSync(
      join(home, "daemon.json"),
      JSON.stringify({ pid: 1, port: typeof address === "object" ? address?.port : 0 }),
    );
    writeFileSync(join(home, "daemon.token"), "rtn_test");
    expect(
      await runHook(
        { hook_event_name: "UserPromptSubmit", session_id: "s", cwd: "/x", prompt: "hello" },
        "claude-code",
        { RETINUE_DAEMON: "off" },
      ),
    ).toBe("");
    await new Promise((resolve) => deaf.close(resolve));
  });
});

test("a home of the version before is migrated once, though several processes open it at once", async () => {
  const store = openSqlite({ path: join(home, "retinue.db") });
  const session = { sessionKey: "s", harness: "other", agentId: "default" };
  const turns = [{ role: "user", text: "the pelican plan" }] as const;
  await store.transcripts.record({ changes: [{ type: "turns", session, at: Date.now(), turns }] });
  store.db.exec(
    "DELETE FROM continuity_meta WHERE key = 'deletions'; UPDATE continuity_meta SET value = 1 WHERE key = 'schema'",
  );
  store.close();
  const search = () => promisify(execFile)(node, [executable, "search", "pelican", "--home", home], { env: env() });
  for (const { stdout } of await Promise.all([search(), search(), search()]))
    expect(stdout).toContain("User: the pelican plan");
});

test("the commands work on the store itself", async () => {
  const run = async (...args: string[]) =>
    (await promisify(execFile)(node, [executable, ...args, "--home", home], { env: env() })).stdout;
  await run(
    "op",
    "hook_user_prompt_submit",
    JSON.stringify({ harness: "other", sessionKey: "s", userMessage: "the pelican plan" }),
  );
  expect(await run("checkpoint", "s", "--summary", "planned", "--entity", "Bird")).toBe("Kept a checkpoint of s.\n");
  expect(await run("search", "pelican")).toContain("User: the pelican plan");
  expect(await run("transcript", "s")).toBe("User: the pelican plan\n");
  expect(await run("daemon", "status")).toBe("Not running.\n");
});
