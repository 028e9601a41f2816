/** Every surface of continuity, with every credential of the corpus said in a session. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS, exampleOf, readable } from "../../secrets/corpus/test-corpus.ts";
import { indexAll } from "../records/turn-index.ts";
import { appendTurns, openSession, type TestHome, testHome } from "../test-home.ts";
import { operationNamed } from "./operations.ts";

const examples = CREDENTIALS.map((pattern) => exampleOf(pattern));

let home: TestHome;
beforeAll(async () => {
  home = testHome();
  for (const [n, example] of examples.entries()) {
    await say(`s${n}`, `zebra${n} ${example.text}`);
    await call("checkpoint_add", { key: `s${n}`, summary: example.text, entities: ["Ledger"] });
    await say(`s${n}`, `again ${example.text}`);
  }
  await indexAll(home.transcripts);
});
afterAll(() => home.close());

async function say(sessionKey: string, text: string): Promise<void> {
  const session = await openSession(home, { sessionKey });
  await appendTurns(home, session, { turns: [{ role: "user", text }], at: home.time.now });
}

const call = async (name: string, input: object) => JSON.stringify(await operationNamed(name).call(home, {}, input));

const SURFACES: Readonly<Record<string, (key: string) => Promise<string>>> = {
  "a transcript": (key) => call("session_transcript", { key }),
  "a transcript as text": (key) => call("session_transcript", { key, format: "text" }),
  "an inherit block": (key) => call("session_inherit", { key, inherit: "tail(20000)" }),
  "the checkpoints": (key) => call("checkpoint_list", { key }),
};

/** The patterns whose secret can be read in what is shown. */
async function readableIn(show: (n: number) => Promise<string>): Promise<string[]> {
  const found: string[] = [];
  for (const [n, example] of examples.entries()) {
    const text = (await show(n)).replaceAll("\\n", "\n");
    if (readable(example, text).length > 0) found.push(example.pattern);
  }
  return found;
}

describe("the surfaces of continuity", () => {
  test.each(Object.entries(SURFACES))("hide at least 95 of 100 credentials in %s", async (_, read) => {
    expect(await read("s0")).toContain("[redacted");
    const shown = await readableIn((n) => read(`s${n}`));
    expect(shown.length / examples.length, shown.join("\n")).toBeLessThanOrEqual(0.05);
  });

  test("hide them in what a search finds", async () => {
    const find = (n: number) => call("session_search", { query: `zebra${n}` });
    expect(await find(0)).toContain("[redacted");
    const shown = await readableIn(find);
    expect(shown.length / examples.length, shown.join("\n")).toBeLessThanOrEqual(0.05);
  });

  test("do not let a secret be guessed by searching for it", async () => {
    const found = [];
    for (const { secrets, pattern } of examples) {
      const [word = ""] = secrets.filter((secret) => /^[A-Za-z0-9]{12,}$/.test(secret));
      if (word !== "" && /"hits":\[\{/.test(await call("session_search", { query: word }))) found.push(pattern);
    }
    expect(found.length / examples.length, found.join("\n")).toBeLessThanOrEqual(0.05);
  });
});
