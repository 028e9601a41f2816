/**
 * Every operation, with tokens that are bound to an agent, a project or both, against everything that lies outside: by every field that
 * names something, with every value that could lead there. An operation that is not in the list fails the first test.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@retinue/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { type Caller, OWNER } from "../records/scope.ts";
import { callerOf } from "../records/tokens.ts";
import { type TestHome, testHome } from "../test-home.ts";
import type { Operation } from "./operation.ts";
import { operationNamed, operations } from "./operations.ts";

let root: string;
let shop: string;
let bank: string;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-scope-")));
  [shop, bank] = [join(root, "shop"), join(root, "bank")];
  for (const folder of [shop, bank]) mkdirSync(folder);
  symlinkSync(bank, join(shop, "link"));
});
afterAll(() => rmSync(root, { recursive: true }));

let home: TestHome;
beforeEach(() => {
  home = testHome();
});

const run = (name: string, input: object, caller: Caller = OWNER) => operationNamed(name).call(home, caller, input);

/** What somebody outside has said is marked with this word. */
const OUTSIDE = "pelican";

interface Place {
  agentId: string;
  project?: string;
}
const PLACES: Readonly<Record<string, () => Place>> = {
  "red-shop": () => ({ agentId: "red", project: shop }),
  "red-bank": () => ({ agentId: "red", project: bank }),
  "blue-shop": () => ({ agentId: "blue", project: shop }),
  "blue-bank": () => ({ agentId: "blue", project: bank }),
  "red-nowhere": () => ({ agentId: "red" }),
};

const TOKENS: Readonly<Record<string, { bound: () => Caller; inside: readonly string[] }>> = {
  "an agent": { bound: () => ({ agentId: "red" }), inside: ["red-shop", "red-bank", "red-nowhere"] },
  "a project": { bound: () => ({ project: shop }), inside: ["red-shop", "blue-shop"] },
  "an agent and a project": { bound: () => ({ agentId: "red", project: shop }), inside: ["red-shop"] },
};

/** Sessions in all places, each with a child, an open call and a checkpoint, and what agents know. What lies outside says so. */
async function settle(inside: readonly string[]): Promise<void> {
  for (const [key, place] of Object.entries(PLACES)) {
    const word = inside.includes(key) ? "ours" : OUTSIDE;
    const about = { harness: "other", ...place() };
    await run("hook_user_prompt_submit", {
      ...about,
      sessionKey: key,
      userMessage: `${key} said ${word} Ledger`,
      title: word,
    });
    await run("hook_tool_call", { ...about, sessionKey: key, callId: `call-${key}`, tool: "task", phase: "before" });
    await run("hook_subagent_start", {
      ...about,
      sessionKey: key,
      harnessAgentId: "kid",
      transcript: `User: ${key} ${word}`,
    });
    await run("checkpoint_add", { agentId: place().agentId, key, summary: `${key} ${word}`, entities: ["Ledger"] });
  }
  // Children whose parents are elsewhere: a link is no way out.
  await run("hook_subagent_start", {
    harness: "other",
    sessionKey: "strayed",
    parentSessionKey: "blue-bank",
    agentId: "blue",
    project: shop,
  });
  for (const agentId of ["red", "blue"])
    await run("attribute_add", {
      agentId,
      name: "Ledger",
      kind: "constraint",
      content: `${agentId} knows ${agentId === "blue" ? OUTSIDE : "things"}`,
    });
}

async function tokenFor(bound: Caller): Promise<Caller> {
  const made = (await run("token_add", { name: "t", ...bound })) as { token: string };
  const caller = await callerOf(home.transcripts, { owner: "rtn_owner", token: made.token });
  if (!caller) throw new Error("the token is not known");
  return caller;
}

type Row = Record<string, unknown>;
const rows = (sql: string, ...given: number[]): Row[] => home.db.prepare(sql).all(...given);

/** The sessions that were there before and lie outside. */
function idsOutside(inside: readonly string[]): number[] {
  const isInside = (key: unknown) => inside.some((each) => key === each || key === `${each}:kid`);
  return rows("SELECT id, session_key FROM transcript_sessions")
    .filter(({ session_key }) => session_key !== "strayed" && !isInside(session_key))
    .map(({ id }) => Number(id));
}

/** Everything that is stored about these sessions, about the agent that nobody here is, and about tokens and agents. */
function stored(ids: readonly number[]): string {
  const tables = [
    "SELECT * FROM transcript_sessions WHERE id = ?",
    "SELECT * FROM transcript_turns WHERE session_id = ?",
    "SELECT * FROM session_checkpoints WHERE session_id = ?",
    "SELECT * FROM transcript_calls WHERE session_id = ?",
    "SELECT id, session_key FROM transcript_sessions WHERE parent_id = ? AND session_key <> 'strayed'",
  ].map((sql) => ids.map((id) => rows(sql, id)));
  const known = rows(
    "SELECT e.agent_id, e.name, a.content FROM entities e JOIN entity_attributes a ON a.entity_id = e.id WHERE e.agent_id <> 'red'",
  );
  const rest = [rows("SELECT * FROM continuity_tokens"), rows("SELECT * FROM continuity_agents")];
  return JSON.stringify([tables, known, rest], undefined, 1);
}

/** Sessions that were made since and are outside. */
function made(since: number, { agentId, project }: Caller): Row[] {
  return rows("SELECT session_key, agent_id, project FROM transcript_sessions WHERE id > ?", since).filter(
    (row) =>
      (agentId !== undefined && row.agent_id !== agentId) ||
      (project !== undefined && row.project !== project && row.project !== `${project}/deeper`),
  );
}

/** Values for every field that names something. */
function values(): Record<string, readonly unknown[]> {
  const keys = [...Object.keys(PLACES), "blue-bank:kid", "strayed"];
  return {
    key: keys,
    sessionKey: [...keys, "new"],
    currentSessionKey: ["blue-bank", "red-bank", "blue-shop"],
    parentSessionKey: ["blue-bank", "red-bank", "blue-shop", "red-nowhere"],
    harnessAgentId: ["kid"],
    agentId: ["red", "blue", "RED"],
    project: [`${shop}/deeper`, `${shop}/../bank`, `${shop}/link`, `${bank}/`, bank.toUpperCase(), root],
    harness: ["another"],
    lineage: [true],
    id: [1, 2],
    name: ["Ledger", "t"],
  };
}

/** What else an operation needs. */
const REST: Readonly<Record<string, object>> = {
  hook: { harness: "other", userMessage: "written from outside", title: "moved", reason: "clear" },
  hook_tool_call: { harness: "other", callId: "call-blue-bank", tool: "task", phase: "after" },
  session_search: { query: OUTSIDE, limit: 100 },
  checkpoint_add: { summary: "written from outside" },
  attribute_add: { content: "written from outside", kind: "constraint" },
};

const LISTED = [
  "hook_session_start",
  "hook_user_prompt_submit",
  "hook_turn_end",
  "hook_session_end",
  "hook_subagent_start",
  "hook_subagent_stop",
  "hook_tool_call",
  "session_search",
  "session_list",
  "session_transcript",
  "session_lineage",
  "session_inherit",
  "checkpoint_add",
  "checkpoint_list",
  "session_delete",
  "session_prune",
  "entity_add",
  "entity_list",
  "entity_remove",
  "attribute_add",
  "attribute_remove",
  "health",
  "agent_set",
  "token_add",
  "token_list",
  "token_remove",
];

/** Every combination of values for up to four of the fields that the operation has. */
function attempts({ name, input }: Operation): object[] {
  const shape = input instanceof z.ZodObject ? Object.keys(input.shape) : [];
  const fixed = REST[name] ?? (name.startsWith("hook_") ? REST.hook : {});
  const chosen: object[] = [{}];
  for (const [field, options] of Object.entries(values())) {
    if (!shape.includes(field)) continue;
    for (const each of chosen.filter((found) => Object.keys(found).length < 4))
      chosen.push(...options.map((value) => ({ ...each, [field]: value })));
  }
  return chosen.map((each) => ({ ...fixed, ...each }));
}

/** The answer as text. A refusal is an answer too; any other error is a failure of ours. */
async function answerOf(operation: Operation, caller: Caller, input: object): Promise<string> {
  try {
    return JSON.stringify(await operation.call(home, caller, input)) ?? "";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return "refused";
  }
}

test("every operation is tried", () => {
  expect(operations.map(({ name }) => name)).toEqual(LISTED);
});

describe.each(Object.entries(TOKENS))("a token of %s", (_, { bound, inside }) => {
  test.each(LISTED.filter((name) => name !== "health"))(
    "learns and changes nothing outside through %s",
    async (name) => {
      await settle(inside);
      const operation = operationNamed(name);
      const caller = await tokenFor(bound());
      const ids = idsOutside(inside);
      const last = Number(rows("SELECT max(id) AS id FROM transcript_sessions")[0]?.id);
      const before = stored(ids);
      for (const input of attempts(operation)) {
        const answer = await answerOf(operation, caller, input);
        if (answer.includes(OUTSIDE)) expect.fail(`${JSON.stringify(input)} was answered with ${answer}`);
      }
      expect(stored(ids)).toBe(before);
      expect(made(last, caller)).toEqual([]);
      home.close();
    },
  );

  test("works inside", async () => {
    await settle(inside);
    const caller = await tokenFor(bound());
    const about = { harness: "other", sessionKey: "red-shop", agentId: "red" };
    await run("hook_user_prompt_submit", { ...about, userMessage: "a zebra", project: `${shop}/` }, caller);
    expect(await run("session_search", { query: "zebra", agentId: "red" }, caller)).toMatchObject({
      hits: [{ sessionKey: "red-shop", project: shop }],
    });
    const child = await run(
      "hook_subagent_start",
      { ...about, sessionKey: "child", parentSessionKey: "red-shop" },
      caller,
    );
    expect(child).toMatchObject({ parentSessionKey: "red-shop", inject: expect.stringContaining("ours") });
    expect(await run("session_delete", { key: "red-shop", agentId: "red" }, caller)).toEqual({ deleted: 3 });
    home.close();
  });
});
