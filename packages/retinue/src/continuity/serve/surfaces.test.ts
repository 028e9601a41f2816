/** Every surface of continuity, with every credential of the corpus said in a session. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CREDENTIALS, exampleOf, readable } from "../../secrets/corpus/test-corpus.ts";
import { indexAll } from "../records/turn-index.ts";
import { appendTurns, openSession, type TestHome, testHome } from "../test-home.ts";
import { operationNamed } from "./operations.ts";

const examples = CREDENTIALS.map((pattern) => exampleOf(pattern));

let home: TestHome;
beforeEach(async () => {
  home = testHome();
});
afterEach(() => home.close());

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

describe("the surfaces of continuity", () => {
  test.each(Object.entries(SURFACES))("hide at least 95 of 100 credentials in %s", async (_, read) => {
    const shown: string[] = [];
    for (const [n, example] of examples.entries()) {
      await say(`s${n}`, `zebra ${example.text}`);
      await call("checkpoint_add", { key: `s${n}`, summary: example.text, entities: ["Ledger"] });
      await say(`s${n}`, `zebra ${example.text}`);
      const text = (await read(`s${n}`)).replaceAll("\\n", "\n");
      expect(text).toContain("[redacted");
      if (readable(example, text).length > 0) shown.push(example.pattern);
    }
    expect(shown.length / examples.length, shown.join("\n")).toBeLessThanOrEqual(0.05);
  });

  test("hide them in what a search finds, and the index does not hold them", async () => {
    for (const [n, example] of examples.entries()) await say(`s${n}`, `zebra${n} ${example.text}`);
    await indexAll(home.transcripts);
    const shown: string[] = [];
    for (const [n, example] of examples.entries()) {
      if (readable(example, await call("session_search", { query: `zebra${n}` })).length > 0)
        shown.push(example.pattern);
    }
    expect(shown.length / examples.length, shown.join("\n")).toBeLessThanOrEqual(0.05);
    const found = [];
    for (const { secrets, pattern } of examples) {
      const [word = ""] = secrets.filter((secret) => /^[A-Za-z0-9]{12,}$/.test(secret));
      if (word !== "" && /"hits":\[\{/.test(await call("session_search", { query: word }))) found.push(pattern);
    }
    expect(found.length / examples.length, found.join("\n")).toBeLessThanOrEqual(0.05);
  });
});
