/** What must be true after a harness has delegated, seen from the model's requests and from our store. */
import { CHILD_TASK, type ModelServer, PARENT_WORDS } from "./model-server.ts";
import type { Ran, Sandbox } from "./sandbox.ts";

export interface Judgement {
  harness: string;
  checks: { what: string; ok: boolean; detail: string }[];
}

interface Evidence {
  harness: string;
  /** As `retinue connect` calls it. */
  name: string;
  model: ModelServer;
  ran: Ran;
  sandbox: Sandbox;
}

interface Node {
  sessionKey: string;
  children: Node[];
}

export async function judge({ harness, name, model, ran, sandbox }: Evidence): Promise<Judgement> {
  const children = model.asked.filter(({ who }) => who === "child");
  const [first, ...later] = children.map(({ text }) => text);
  const sessions = await ours<{ sessions: { sessionKey: string }[] }>(sandbox, "session_list", {});
  const keys = sessions?.sessions.map(({ sessionKey }) => sessionKey) ?? [];
  const tree = keys[0] ? await ours<Node>(sandbox, "session_lineage", { key: keys[0] }) : undefined;
  const parentSaid = tree ? await userTurns(sandbox, tree.sessionKey) : [];
  const childSaid = tree?.children[0] ? await userTurns(sandbox, tree.children[0].sessionKey) : [];
  const status = (await sandbox.retinue("connect", name, "--status")).output;
  const detail = `${model.asked.length} requests, ${children.length} of the child\n${ran.output.slice(-1_500)}\n${status}`;
  const check = (what: string, ok: boolean) => ({ what, ok, detail });
  return {
    harness,
    checks: [
      check("the inherit block is in the child's first model request", inherited(first ?? "")),
      check(
        "session_search gave the child a hit from its parent",
        later.some((text) => countOf(text, PARENT_WORDS) > countOf(first ?? "", PARENT_WORDS)),
      ),
      check(
        "the parent's prompt is in its transcript, once",
        parentSaid.filter((text) => text.includes(PARENT_WORDS)).length === 1,
      ),
      check("the child is below its parent", tree?.children.length === 1),
      check(
        "the child's task is in its transcript, once",
        childSaid.filter((text) => text.includes(CHILD_TASK)).length === 1,
      ),
      check(
        "what was injected is not taken for something said",
        ![...parentSaid, ...childSaid].some((text) => text.includes("Inherited from Parent")),
      ),
      check(
        "hooks and search are in effect, as the status says",
        status.includes("✓ hooks") && status.includes("✓ search"),
      ),
    ],
  };
}

const inherited = (text: string) => text.includes("## Inherited from Parent Session") && text.includes(PARENT_WORDS);
const countOf = (text: string, words: string) => text.split(words).length - 1;

async function ours<T>(sandbox: Sandbox, operation: string, input: object): Promise<T | undefined> {
  const { code, output } = await sandbox.retinue("op", operation, JSON.stringify(input));
  return code === 0 ? JSON.parse(output) : undefined;
}

async function userTurns(sandbox: Sandbox, key: string): Promise<string[]> {
  const found = await ours<{ turns: { role: string; text: string }[] }>(sandbox, "session_transcript", { key });
  return found?.turns.filter(({ role }) => role === "user").map(({ text }) => text) ?? [];
}
