import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OWNER } from "../records/scope.ts";
import { openContinuity } from "./home.ts";
import { operationNamed } from "./operations.ts";

const executable = join(import.meta.dirname, "../../../../../bin/retinue.js");

let root: string;
let home: string;
let shop: string;
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-mcp-")));
  [home, shop] = [join(root, "home"), join(root, "shop")];
  mkdirSync(shop);
  const continuity = openContinuity({ home });
  const hook = (name: string, fields: object) =>
    operationNamed(name).call(continuity, OWNER, { harness: "opencode", project: shop, ...fields });
  await hook("hook_user_prompt_submit", { sessionKey: "parent", userMessage: "the pelican plan" });
  await hook("hook_user_prompt_submit", { sessionKey: "stranger", userMessage: "another pelican" });
  await hook("hook_subagent_start", { sessionKey: "child", parentSessionKey: "parent" });
  await hook("hook_user_prompt_submit", {
    sessionKey: "banker",
    userMessage: "a secret pelican",
    project: "/projects/bank",
  });
  await hook("hook_subagent_start", { sessionKey: "away", parentSessionKey: "parent", project: "/projects/bank" });
  await hook("hook_user_prompt_submit", { sessionKey: "away", userMessage: "a travelling pelican" });
  continuity.close();
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** One server process; each message in turn, each answer by its id. */
async function talk(
  messages: readonly object[],
  env: Record<string, string> = {},
): Promise<Map<unknown, { result?: { tools?: { name: string }[]; content?: { text: string }[]; isError?: boolean } }>> {
  const server = spawn(process.execPath, [executable, "mcp", "--home", home], {
    stdio: ["pipe", "pipe", "inherit"],
    cwd: shop,
    env: { ...process.env, CLAUDE_CODE_SESSION_ID: "", ...env },
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
    expect(text(4)).toContain("No session nobody is known in this project.");
    expect(answers.get(5)?.result?.isError).toBe(true);
  });

  const transcript = (id: number, args: object) => ({
    id,
    method: "tools/call",
    params: { name: "session_transcript", arguments: args },
  });
  const ATTEMPTS = [
    ...OPENING,
    search(1, { query: "pelican" }),
    search(2, { query: "pelican", sessionKey: "banker" }),
    search(3, { query: "pelican", currentSessionKey: "banker" }),
    search(4, { query: "pelican", currentSessionKey: "banker", project: "/projects/bank" }),
    transcript(5, { key: "banker" }),
    transcript(6, { key: "banker", currentSessionKey: "banker" }),
  ];

  test.each([
    ["a session of the project", { RETINUE_SESSION_KEY: "parent" }],
    ["a session that is not known", { RETINUE_SESSION_KEY: "nobody" }],
    ["no session", {}],
  ])("keeps a model in its project, when the harness names %s", async (_, env) => {
    const answers = await talk(ATTEMPTS, env);
    for (const [id, { result }] of answers) expect(`${id} ${JSON.stringify(result)}`).not.toContain("secret pelican");
    expect(answers.get(5)?.result?.content?.[0]?.text).toContain("unknown session banker");
  });

  test("lets a child in another folder look into the session that started it", async () => {
    const answers = await talk([...OPENING, search(1, { query: "pelican" }), transcript(2, { key: "parent" })], {
      RETINUE_SESSION_KEY: "away",
    });
    for (const id of [1, 2]) expect(answers.get(id)?.result?.content?.[0]?.text).toContain("the pelican plan");
  });

  test("goes further when the user allows it, and says so when the setting is misspelt", async () => {
    const settings = (text: string) =>
      writeFileSync(join(home, "config.yaml"), `memory: { pipelineV2: { search: { ${text} } } }`);
    settings("acrossProjects: true");
    const answers = await talk([...OPENING, search(1, { query: "pelican", sessionKey: "banker" })]);
    expect(answers.get(1)?.result?.content?.[0]?.text).toContain("a secret pelican");
    settings("acrossProject: true");
    expect(() => openContinuity({ home })).toThrow(/config\.yaml.*acrossProject/s);
    rmSync(join(home, "config.yaml"));
  });
});
