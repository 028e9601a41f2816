import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OWNER } from "../records/scope.ts";
import { openContinuity } from "./home.ts";
import { operationNamed } from "./operations.ts";

const executable = join(import.meta.dirname, "../../../../../bin/retinue.js");

let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "retinue-mcp-"));
  const continuity = openContinuity({ home });
  const hook = (name: string, fields: object) =>
    operationNamed(name).call(continuity, OWNER, { harness: "opencode", project: "/projects/shop", ...fields });
  await hook("hook_user_prompt_submit", { sessionKey: "parent", userMessage: "the pelican plan" });
  await hook("hook_user_prompt_submit", { sessionKey: "stranger", userMessage: "another pelican" });
  await hook("hook_subagent_start", { sessionKey: "child", parentSessionKey: "parent" });
  continuity.close();
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

/** One server process; each message in turn, each answer by its id. */
async function talk(
  messages: readonly object[],
): Promise<Map<unknown, { result?: { tools?: { name: string }[]; content?: { text: string }[]; isError?: boolean } }>> {
  const server = spawn(process.execPath, [executable, "mcp", "--home", home], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const answers = new Map();
  const wanted = messages.filter((message) => "id" in message).length;
  const send = (message: object | undefined) =>
    message && server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  for (const message of messages) send(message);
  for await (const line of createInterface({ input: server.stdout })) {
    const answer = JSON.parse(line);
    answers.set(answer.id, answer);
    if (answers.size === wanted) server.stdin.end();
  }
  return answers;
}

const OPENING = [
  {
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  },
  { method: "notifications/initialized" },
];
const search = (id: number, args: object, meta: object = {}) => ({
  id,
  method: "tools/call",
  params: { name: "session_search", arguments: args, _meta: meta },
});

describe("the MCP server", () => {
  test("offers session_search, and looks for a child into its parent's session", async () => {
    const answers = await talk([
      ...OPENING,
      { id: 1, method: "tools/list" },
      search(2, { query: "pelican", currentSessionKey: "child" }),
      search(3, { query: "pelican" }),
      search(4, { query: "pelican", sessionKey: "nobody" }),
      search(5, { query: "" }),
    ]);
    expect(answers.get(1)?.result?.tools?.map(({ name }) => name)).toEqual(["session_search", "session_transcript"]);
    const text = (id: number) => answers.get(id)?.result?.content?.[0]?.text ?? "";
    expect(text(2)).toContain("the pelican plan");
    expect(text(2)).not.toContain("another pelican");
    expect(text(3)).toContain("another pelican");
    expect(text(4)).toContain("No session nobody is known here.");
    expect(answers.get(5)?.result?.isError).toBe(true);
  });
});
