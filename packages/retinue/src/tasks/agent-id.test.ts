import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAgentId } from "./agent-id.ts";

const isFree = async () => false;

test.each([
  ["check-tests", "check-tests"],
  ["Check the tests!", "check-the-tests"],
  ["findLock", "find-lock"],
  ["Prüfung", "prufung"],
  ["../../etc/passwd", "etc-passwd"],
  ["a\u0000b\n\u001b[31m", "a-b-31m"],
  ["检查", "agent"],
  ["", "agent"],
  ["--help", "help"],
  ["x".repeat(10_000), "x".repeat(40)],
])("the id of %j begins with %s", async (name, slug) => {
  const id = await newAgentId(name, { newId: randomUUID, isTaken: isFree });
  expect(id).toMatch(/^[a-z0-9][a-z0-9-]*-[0-9a-f]{6}$/);
  expect(id.slice(0, -7)).toBe(slug);
});

test("an id that is taken is not given again", async () => {
  const ids = ["00000000-0000-0000-0000-0000000000aa", "00000000-0000-0000-0000-0000000000bb"];
  const newId = () => ids.shift() ?? "later";
  expect(await newAgentId("dig", { newId, isTaken: async (id) => id === "dig-0000aa" })).toBe("dig-0000bb");
  expect(await newAgentId("dig", { newId, isTaken: async () => true })).toBe("dig-later");
});
