import { expect, test } from "vitest";
import type { Part } from "./provider.ts";
import { PushedParts, type PushPart } from "./pushed-parts.ts";

const words = (...all: string[]): Part[] => all.map((delta) => ({ type: "text", delta }));
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

async function read(parts: AsyncIterable<Part>): Promise<{ seen: Part[]; error?: unknown }> {
  const seen: Part[] = [];
  try {
    for await (const part of parts) seen.push(part);
    return { seen };
  } catch (error) {
    return { seen, error };
  }
}

test("all parts are read in their order, whether they come together or one by one", async () => {
  const parts = new PushedParts(async (push) => {
    for (const part of words("a", "b")) push(part);
    await nextTurn();
    for (const part of words("c")) push(part);
    await nextTurn();
    for (const part of words("d", "e", "f")) push(part);
  });
  expect(await read(parts)).toEqual({ seen: words("a", "b", "c", "d", "e", "f") });
});

test("the work does not begin before the first read", async () => {
  let hasBegun = false;
  const parts = new PushedParts(async () => {
    hasBegun = true;
  });
  await nextTurn();
  expect(hasBegun).toBe(false);
  expect(await read(parts)).toEqual({ seen: [] });
  expect(hasBegun).toBe(true);
});

test("a failure is thrown after the parts that came before it", async () => {
  const parts = new PushedParts(async (push) => {
    for (const part of words("a", "b")) push(part);
    throw new Error("broken");
  });
  expect(await read(parts)).toEqual({ seen: words("a", "b"), error: new Error("broken") });
});

test("a failure before the first part is thrown", async () => {
  const parts = new PushedParts(() => Promise.reject(new Error("broken")));
  expect(await read(parts)).toEqual({ seen: [], error: new Error("broken") });
});

test("a reader that leaves ends the work with its next part, and is not told of that", async () => {
  let ended: unknown;
  let push: PushPart = () => undefined;
  const parts = new PushedParts(async (given) => {
    push = given;
    for (const part of words("a", "b")) push(part);
    await nextTurn();
    try {
      push({ type: "text", delta: "c" });
    } catch (error) {
      ended = error;
      throw error;
    }
  });
  for await (const _part of parts) break;
  await nextTurn();
  await nextTurn();
  expect(String(ended)).toContain("Nobody reads this answer");
  expect(await parts.next()).toEqual({ value: undefined, done: true });
});
