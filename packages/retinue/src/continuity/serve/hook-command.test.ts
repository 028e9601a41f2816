/** `retinue hook` as a harness runs it, with fields that are longer than anything that they could name. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openContinuity } from "./home.ts";

const executable = join(import.meta.dirname, "../../../../../bin/retinue.js");

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retinue-hook-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

const env = () => ({ ...process.env, HOME: join(home, "user"), RETINUE_DAEMON: "off" });

function runHook(harness: string, payload: object): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [executable, "hook", harness, "--home", home], { env: env() });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
    child.stdin.end(JSON.stringify(payload));
  });
}

/** What was kept of the session, as texts. */
async function kept(sessionKey: string): Promise<string[]> {
  const continuity = openContinuity({ home, env: env() });
  try {
    const [found] = await continuity.transcripts.sessions.byKey(sessionKey);
    if (found === undefined) return [];
    return (await continuity.transcripts.turns.read(found.id, { after: 0, limit: 10 })).map(({ text }) => text);
  } finally {
    continuity.close();
  }
}

const prompt = { hook_event_name: "UserPromptSubmit", session_id: "s", cwd: "/projects/shop", prompt: "pelican" };
const child = { ...prompt, hook_event_name: "SubagentStart", agent_id: "a", agent_type: "explore" };
const LONG = `/${"a/".repeat(50 * 1024)}x.jsonl`;

test.each(["codex", "claude-code"])(
  "a hook of %s whose transcript is a pipe that nobody writes to ends",
  async (harness) => {
    const pipe = join(home, "transcript.jsonl");
    execFileSync("mkfifo", [pipe]);
    expect(await runHook(harness, { ...child, transcript_path: pipe })).toMatchObject({ code: 0 });
  },
);

describe("a hook with a field that is too long", () => {
  test.each([
    ["claude-code", "transcript_path", { ...prompt, transcript_path: LONG }],
    ["claude-code", "transcript_path", { ...child, transcript_path: LONG }],
    [
      "claude-code",
      "agent_transcript_path",
      { ...child, hook_event_name: "SubagentStop", agent_transcript_path: LONG },
    ],
    ["claude-code", "cwd", { ...prompt, cwd: LONG }],
    ["claude-code", "session_id", { ...prompt, session_id: "s".repeat(100 * 1024) }],
    ["claude-code", "agent_type", { ...child, agent_type: "s".repeat(100 * 1024) }],
    ["claude-code", "reason", { ...prompt, hook_event_name: "SessionEnd", reason: "s".repeat(100 * 1024) }],
    ["codex", "transcript_path", { ...child, transcript_path: LONG }],
    ["codex", "agent_id", { ...child, agent_id: "s".repeat(100 * 1024) }],
  ])("%s says in one short line that %s is too long, keeps nothing, and ends well", async (harness, field, payload) => {
    const { code, out, err } = await runHook(harness, payload);
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(err).toMatch(new RegExp(`^retinue: .*${field} is too long: [0-9]+ characters, and at most [0-9]+`));
    expect(err.length).toBeLessThan(400);
    expect(await kept("s")).toEqual([]);
  });

  test("takes a path that a system opens, however long", async () => {
    const file = join(home, "user/.claude/projects/x/s.jsonl");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      `${JSON.stringify({ type: "user", uuid: "1", message: { role: "user", content: "from the file" } })}\n`,
    );
    const path = `${dirname(file)}/${"./".repeat(1900)}s.jsonl`;
    const { err } = await runHook("claude-code", { ...prompt, cwd: `/${"p".repeat(2000)}`, transcript_path: path });
    expect(err).toBe("");
    expect(await kept("s")).toContain("from the file");
  });
});
