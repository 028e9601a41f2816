import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lineageTree } from "../records/lineage.ts";
import { OWNER } from "../records/scope.ts";
import { hookOperations } from "../serve/hook-operations.ts";
import { callerSession } from "../serve/mcp.ts";
import { runSearch } from "../serve/search-operation.ts";
import { type TestHome, testHome } from "../test-home.ts";
import { claudeHook } from "./claude-code.ts";
import { codexHook } from "./codex.ts";
import type { HarnessHook } from "./harness-hook.ts";
import { recorded } from "./test-recorded.ts";

let user: string;
let home: TestHome;
beforeEach(() => {
  user = realpathSync(mkdtempSync(join(tmpdir(), "retinue-payloads-")));
  home = testHome({
    roots: { "claude-code": [join(user, ".claude/projects")], codex: [join(user, ".codex/sessions")] },
  });
});
afterEach(() => {
  home.close();
  rmSync(user, { recursive: true });
});

async function fire(hook: HarnessHook, harness: string, name: string, change: object = {}) {
  const payload = { ...recorded(harness, name, { home: user }).stdin, ...change };
  const call = hook.read(payload);
  if (!call) return undefined;
  const operation = hookOperations.find(({ path }) => path === `/api/hooks/${call.route}`);
  const answer = (await operation?.call(home, OWNER, call.body)) as { inject?: string };
  return hook.answer(answer, payload) as
    | { hookSpecificOutput: { hookEventName: string; additionalContext: string } }
    | undefined;
}

const named = (key: string) => home.transcripts.sessions.byKey(key);
const texts = async (key: string) => {
  const turns = await Promise.all((await named(key)).map(({ id }) => home.transcripts.turns.read(id)));
  return turns.flat().map(({ role, text }) => `${role}: ${text}`);
};

describe("recorded payloads of Claude Code", () => {
  const claude = (name: string, change?: object) => fire(claudeHook, "claude-code", name, change);
  const SESSION = recorded("claude-code", "SubagentStart").stdin.session_id;
  const AGENT = recorded("claude-code", "SubagentStart").stdin.agent_id;
  const same = { session_id: SESSION };

  test("a delegated task: prompt, call, child with its block, answers, ends", async () => {
    await claude("SessionStart", same);
    await claude("UserPromptSubmit", { ...same, prompt: "build the shop" });
    await claude("PreToolUse.Agent", same);
    const answer = await claude("SubagentStart");
    expect(answer?.hookSpecificOutput).toEqual({
      hookEventName: "SubagentStart",
      additionalContext:
        "## Inherited from Parent Session\n\n[active session]\nRecent context:\n  User: build the shop",
    });
    await claude("PreToolUse.in-subagent.mcp", same);
    await claude("SubagentStop");
    await claude("PostToolUse.Agent", same);
    await claude("Stop", same);
    await claude("SessionEnd", same);
    expect(await texts(SESSION)).toEqual(["user: build the shop", "assistant: parent done"]);
    expect(await texts(`${SESSION}:${AGENT}`)).toEqual(["assistant: child answer"]);
    expect((await named(SESSION))[0]?.endReason).toBe("other");
  });

  test("a search by the child is told from one by its parent by the id of the call", async () => {
    await claude("UserPromptSubmit", { ...same, prompt: "the pelican plan" });
    await claude("SubagentStart");
    const call = recorded("claude-code", "PreToolUse.in-subagent.mcp").stdin;
    await claude("PreToolUse.in-subagent.mcp", { ...same, agent_id: AGENT });
    const calls = recorded("claude-code", "mcp_stdio.agent").filter(
      (each: { msg?: { method: string } }) => each.msg?.method === "tools/call",
    );
    expect(calls[0].msg.params._meta["claudecode/toolUseId"]).toBe(call.tool_use_id);
    const caller = await callerSession(home, calls[0].msg.params._meta, { CLAUDE_CODE_SESSION_ID: SESSION });
    expect(caller).toEqual({ currentSessionKey: `${SESSION}:${AGENT}` });
    const { hits } = await runSearch(home, OWNER, { query: "pelican", ...caller });
    expect(hits.map(({ sessionKey }) => sessionKey)).toEqual([SESSION]);
    expect(await callerSession(home, calls[1].msg.params._meta, { CLAUDE_CODE_SESSION_ID: SESSION })).toEqual({
      currentSessionKey: SESSION,
    });
  });

  test("a stop of one of Claude Code's own helpers leaves no session", async () => {
    await claude("SubagentStop.compaction-fork");
    expect(home.db.prepare("SELECT count(*) AS n FROM transcript_sessions").get()).toEqual({ n: 0 });
  });

  test("the result of a background agent is not the user speaking", async () => {
    await claude("UserPromptSubmit.task-notification");
    expect(home.db.prepare("SELECT role FROM transcript_turns").all()).toEqual([{ role: "system" }]);
  });

  test("a notification means nothing to us", async () => {
    expect(claudeHook.read(recorded("claude-code", "Notification").stdin)).toBeUndefined();
  });

  test("what a hook injected does not come back as something said", async () => {
    const { transcript_path: path } = recorded("claude-code", "Stop", { home: user }).stdin;
    mkdirSync(dirname(path), { recursive: true });
    const line = (fields: object) =>
      `${JSON.stringify({ uuid: Math.random().toString(), timestamp: "2026-11-15T12:00:00Z", ...fields })}\n`;
    writeFileSync(
      path,
      line({ type: "user", message: { role: "user", content: "build the shop" } }) +
        line({
          type: "attachment",
          attachment: { type: "hook_additional_context", content: ["## Inherited from Parent Session"] },
        }) +
        line({ type: "api-request-blob", message: { role: "user", content: "vendor prompt" } }) +
        line({ type: "user", isMeta: true, message: { role: "user", content: "a caveat" } }) +
        line({
          type: "assistant",
          message: {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm" },
              { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } },
            ],
          },
        }) +
        line({
          type: "user",
          message: {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "shop.ts" }] }],
          },
        }) +
        line({ type: "user", isCompactSummary: true, message: { role: "user", content: "we listed files" } }),
    );
    await claude("Stop");
    expect(await texts(recorded("claude-code", "Stop").stdin.session_id)).toEqual([
      "user: build the shop",
      'assistant: {"command":"ls"}',
      "tool: shop.ts",
      "assistant: parent done",
    ]);
    expect(home.db.prepare("SELECT summary, upto_seq FROM session_checkpoints").all()).toEqual([
      { summary: "we listed files", upto_seq: 3 },
    ]);
  });
});

describe("recorded payloads of Codex", () => {
  const codex = (name: string, change?: object) => fire(codexHook, "codex", name, change);
  const ROOT = recorded("codex", "SubagentStart").stdin.session_id;
  const THREAD = recorded("codex", "SubagentStart").stdin.agent_id;

  test("a delegated task: the child is named by root and thread, and its prompt is its own", async () => {
    await codex("SessionStart");
    await codex("UserPromptSubmit", { prompt: "build the shop" });
    expect((await codex("SubagentStart"))?.hookSpecificOutput.additionalContext).toContain("User: build the shop");
    await codex("UserPromptSubmit.in-subagent", { prompt: "child task" });
    await codex("SubagentStop");
    await codex("Stop");
    await codex("SessionEnd");
    expect(await texts(ROOT)).toEqual(["user: build the shop", "assistant: parent done"]);
    expect(await texts(`${ROOT}:${THREAD}`)).toEqual(["user: child task", "assistant: child answer"]);
  });

  test("a grandchild's parent is the thread that its rollout names", async () => {
    const { files } = recorded("codex", "transcript_files", { home: user }) as {
      files: { file: string; session_meta: { id: string; session_id: string; parent_thread_id?: string } }[];
    };
    const [root, child, grandchild] = files.map(({ file, session_meta: meta }) => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(
        file,
        `${JSON.stringify({ timestamp: "2026-11-15T19:27:29Z", type: "session_meta", payload: meta })}\n`,
      );
      return { session_id: files[0]?.session_meta.id, agent_id: meta.id, transcript_path: file };
    });
    await codex("UserPromptSubmit", { ...root, agent_id: undefined, prompt: "build the shop" });
    await codex("SubagentStart", child);
    await codex("UserPromptSubmit.in-subagent", { ...child, prompt: "inner work" });
    expect((await codex("SubagentStart", grandchild))?.hookSpecificOutput.additionalContext).toContain(
      "User: inner work",
    );
    const [session] = await named(`${root?.session_id}:${child?.agent_id}`);
    if (!session) throw new Error("the child is not known");
    const sessions = await home.transcripts.sessions.tree(session.id);
    expect(lineageTree(sessions, { session, isVisible: () => true })).toMatchObject({
      sessionKey: root?.session_id,
      children: [{ children: [{ sessionKey: `${root?.session_id}:${grandchild?.agent_id}` }] }],
    });
  });

  test("a search names its thread and its parent itself", async () => {
    const calls = recorded("codex", "mcp_stdio.agent").filter(
      (each: { msg?: { method: string } }) => each.msg?.method === "tools/call",
    );
    expect(await callerSession(home, calls[0].msg.params._meta, {})).toEqual({
      currentSessionKey: `${ROOT}:${THREAD}`,
      parentSessionKey: ROOT,
    });
    expect(await callerSession(home, calls[1].msg.params._meta, {})).toEqual({ currentSessionKey: ROOT });
    await codex("UserPromptSubmit", { prompt: "the pelican plan" });
    const caller = await callerSession(home, calls[0].msg.params._meta, {});
    const found = await runSearch(home, OWNER, { query: "pelican", ...caller });
    expect(found.hits.map(({ sessionKey }) => sessionKey)).toEqual([ROOT]);
  });

  test("a rollout gives prompts, answers and calls, and no instructions", async () => {
    const { transcript_path: path } = recorded("codex", "Stop", { home: user }).stdin;
    mkdirSync(dirname(path), { recursive: true });
    let ordinal = 0;
    const line = (type: string, payload: object) =>
      `${JSON.stringify({ timestamp: "2026-11-15T12:00:00Z", ordinal: ++ordinal, type, payload })}\n`;
    const message = (role: string, text: string) =>
      line("response_item", {
        type: "message",
        role,
        content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
      });
    writeFileSync(
      path,
      message("developer", "## Inherited from Parent Session") +
        message("user", "<environment_context>\n</environment_context>") +
        message("user", "build the shop") +
        line("response_item", { type: "function_call", name: "shell", arguments: '{"cmd":"ls"}', call_id: "c1" }) +
        line("response_item", { type: "function_call_output", call_id: "c1", output: "shop.ts" }) +
        line("event_msg", { type: "token_count" }) +
        line("compacted", { message: "we listed files" }),
    );
    await codex("Stop");
    expect(await texts(ROOT)).toEqual([
      "user: build the shop",
      'assistant: {"cmd":"ls"}',
      "tool: shop.ts",
      "assistant: parent done",
    ]);
    expect(home.db.prepare("SELECT summary FROM session_checkpoints").all()).toEqual([{ summary: "we listed files" }]);
  });
});
