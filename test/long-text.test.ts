/** Text of any length from anybody keeps the process only as long as its length needs: every reader of such text, with texts made to be slow. */
import { afterAll, expect, test } from "vitest";
import { isReallyWithin } from "../packages/retinue/src/continuity/records/paths.ts";
import { Crashable } from "./crash/crashable.ts";
import { promptOf } from "./laws/plan.ts";
import { READERS, removeFolder, textOf, UNITS } from "./support/long-texts.ts";

afterAll(removeFolder);

const SMALL = 8 * 1024;
const TIMES = 8;
/** What takes less for 64 KB cannot have looked at every character from every other, which are four thousand million looks. */
const QUICK_US = 10_000;
/** No reader that is linear needs that for 64 KB, so it is not measured again. */
const HOPELESS_US = 3_000_000;

/** Processor time in microseconds, so that other work on the machine does not count. */
async function cost(read: (text: string) => unknown, text: string): Promise<number> {
  const before = process.cpuUsage();
  await read(text);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function least(read: (text: string) => unknown, text: string): Promise<number> {
  const taken = [await cost(read, text), await cost(read, text), await cost(read, text)];
  return Math.min(...taken);
}

test.each(READERS)("the time of reading $name grows with its length, and not faster", async (reader) => {
  await reader.prepare?.();
  const slow: string[] = [];
  for (const unit of UNITS) {
    const [small, large] = [textOf(unit, SMALL), textOf(unit, SMALL * TIMES)];
    const first = await cost(reader.read, large);
    if (first < QUICK_US) continue;
    if (first > HOPELESS_US) slow.push(`${JSON.stringify(unit)}: ${(first / 1e6).toFixed(0)} s`);
    if (first > HOPELESS_US) continue;
    const taken = await least(reader.read, large);
    if (taken < QUICK_US) continue;
    const ratio = taken / Math.max(await least(reader.read, small), 300);
    // Eight times the text would take 64 times as long if every character looked at all the others.
    if (ratio > TIMES * 5) slow.push(`${JSON.stringify(unit)}: ${ratio.toFixed(0)} times as long`);
  }
  expect(slow).toEqual([]);
});

test("a path of many names that do not exist is placed without looking at each of them twice", () => {
  // Twice for each name would be more looks than there are atoms.
  expect(isReallyWithin(`/none/${"a/".repeat(1500)}x`, "/none")).toBe(true);
});

test("arguments that are too long are refused in words, and the session goes on", async () => {
  await using crashable = await Crashable.start();
  const client = await crashable.connect({ attached: "sdk" });
  const calls: Record<string, Record<string, unknown>> = {
    bash: { command: `echo ${"x".repeat(1024 * 1024)}` },
    web_fetch: { url: `http://a${".".repeat(100 * 1024)}b` },
    view: { path: `/${"a/".repeat(50 * 1024)}` },
    grep: { pattern: "(".repeat(100 * 1024) },
    sql: { query: "a;".repeat(200 * 1024) },
  };
  const moves = Object.entries(calls).map(([call, args]) => ({ call, args, id: call }));
  await client.call("session.create", { ...crashable.session, ...client.abilities, hooks: false, sessionId: "one" });
  await client.call("session.send", { sessionId: "one", prompt: promptOf({ turns: [{ moves }], says: "tried" }) });
  await client.until("session.idle");
  const ends = client.events.filter(({ type }) => type === "tool.execution_complete");
  const told = ends.map(({ data }) => JSON.stringify(data.error ?? data.result));
  expect(told).toHaveLength(moves.length);
  for (const words of told) expect(words).toContain("is too long");
});
