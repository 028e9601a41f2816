/** What a deletion leaves in the files, read as bytes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { begin, event } from "../store.contract.ts";
import { openSqlite, type SqliteStore } from "./store.ts";

let folder: string;
let store: SqliteStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-scrub-"));
  store = openSqlite({ path: join(folder, "retinue.db") });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

function filesWith(word: string): string[] {
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(word));
}

/** The same sequence every time. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const wordOf = (id: string) => `quokka${id}zyx`;
const sentence = (id: string, length: number) =>
  `${wordOf(id)} ${"and so on ".repeat(Math.ceil(length / 10)).slice(0, length)}`;

/** One commit with everything that a session may leave: events, an inbox item that comes and goes, documents that change, turns. */
async function work(
  begun: Awaited<ReturnType<typeof begin>>,
  { id, n, size }: { id: string; n: number; size: number },
) {
  const said = sentence(id, size);
  const item = { id: `${id}-${n}`, sessionId: id, version: 1, json: JSON.stringify({ prompt: said }) };
  const session = { agentId: "default", sessionKey: id, harness: "retinue" };
  await store.commit({
    ...begun,
    inbox: [{ add: item }],
    documents: [{ put: { kind: "task", key: `${id}/${n % 3}`, version: 1, json: JSON.stringify({ said }) } }],
  });
  await store.commit({
    ...begun,
    inbox: [{ remove: item }],
    events: [{ ...event(`${id}-${n}`, id), json: JSON.stringify({ said }) }],
    transcript: [
      { type: "turns", session, at: n, turns: [{ role: "user", text: said }] },
      { type: "checkpoint", session, at: n, summary: said, origin: "compaction" },
    ],
  });
}

async function index(): Promise<void> {
  const { mark, turns } = await store.transcripts.index.next(10_000);
  await store.transcripts.index.add(
    mark,
    turns.map(({ id, sessionId, text }) => ({ id, sessionId, words: text })),
  );
}

test.each([15, 24, 27, 31])(
  "nothing that a deleted session said is in any file, and what others said is (seed %i)",
  async (seed) => {
    const next = random(seed);
    const ids = Array.from({ length: 8 }, (_, n) => `s${n}`);
    const begun = new Map<string, Awaited<ReturnType<typeof begin>>>();
    for (const id of ids) begun.set(id, await begin(store, id));
    for (let n = 0; n < 150; n++) {
      const id = ids[next(ids.length)] ?? "s0";
      const own = begun.get(id);
      if (own) await work(own, { id, n, size: [20, 300, 1500, 9000][next(4)] ?? 20 });
      if (n % 20 === 0) await index();
    }
    for (const id of ids) {
      expect(filesWith(wordOf(id))).not.toEqual([]);
      const { lease } = begun.get(id) ?? (await begin(store, id));
      await store.sessions.delete(lease, { kinds: ["task"] });
      expect([id, filesWith(wordOf(id))]).toEqual([id, []]);
    }
  },
);

test("a transcript of another harness goes from the files too, when it is deleted or pruned", async () => {
  for (const [n, sessionKey] of ["one", "two"].entries()) {
    const session = { agentId: "default", sessionKey, harness: "codex" };
    await store.transcripts.record({
      changes: [{ type: "turns", session, at: n, turns: [{ role: "user", text: sentence(sessionKey, 3000) }] }],
    });
  }
  await index();
  const [one] = await store.transcripts.sessions.byKey("one");
  await store.transcripts.retention.delete(one?.id ?? 0);
  expect([filesWith(wordOf("one")), filesWith(wordOf("two"))]).toEqual([[], ["retinue.db"]]);
  await store.transcripts.retention.prune({ unusedSince: 10 });
  expect(filesWith(wordOf("two"))).toEqual([]);
});

test("the file shrinks when much of it is free", async () => {
  const [large, small] = [await begin(store, "large"), await begin(store, "small")];
  for (let n = 0; n < 60; n++) await work(large, { id: "large", n, size: 20_000 });
  await work(small, { id: "small", n: 0, size: 100 });
  store.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const before = statSync(join(folder, "retinue.db")).size;
  await store.sessions.delete(large.lease, { kinds: ["task"] });
  expect(statSync(join(folder, "retinue.db")).size).toBeLessThan(before / 10);
  expect(await store.events.count("small")).toBe(1);
});

test("a deletion while another process reads is done, and the rest follows with the next one", async () => {
  const [one, two] = [await begin(store, "one"), await begin(store, "two")];
  for (const [id, own] of Object.entries({ one, two })) await work(own, { id, n: 0, size: 5_000 });
  const other = openSqlite({ path: join(folder, "retinue.db") });
  other.db.exec("BEGIN; SELECT count(*) FROM events");
  expect(await store.sessions.delete(one.lease, { kinds: ["task"] })).toBe(true);
  other.db.exec("COMMIT");
  await other.close();
  await store.sessions.delete(two.lease, { kinds: ["task"] });
  expect([filesWith(wordOf("one")), filesWith(wordOf("two"))]).toEqual([[], []]);
});

test("overwriting what is deleted costs ordinary work hardly a page", async () => {
  const frames = async (setting: string, id: string) => {
    const begun = await begin(store, id);
    store.db.exec(`PRAGMA secure_delete = ${setting}; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0`);
    for (let n = 0; n < 200; n++) await work(begun, { id, n, size: [100, 400, 1200, 2500][n % 4] ?? 100 });
    const { size } = statSync(join(folder, "retinue.db-wal"));
    store.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return size;
  };
  const [off, on] = [await frames("OFF", "off"), await frames("ON", "on")];
  expect(on / off).toBeLessThan(1.05);
});
