import { expect, test } from "vitest";
import * as z from "zod";
import { codec, document } from "./document.ts";
import { openSqlite } from "./sqlite/store.ts";

/** Version 2 renamed `title` to `name`. */
const note = document("note", () => z.object({ name: z.string(), size: z.number().optional() }), {
  version: 2,
  migrate: (value, from) =>
    from === 1 && typeof value === "object" && value !== null && "title" in value ? { name: value.title } : value,
});

async function stored(...puts: { key: string; version: number; json: string }[]) {
  const { documents, close } = openSqlite({ path: ":memory:" });
  await documents.write(puts.map((put) => ({ put: { kind: "note", ...put } })));
  return { documents, [Symbol.asyncDispose]: close };
}

test("a document is read as it was written, until it is removed", async () => {
  await using world = await stored();
  await world.documents.write([note.put("a/1", { name: "one", size: 3 }), note.put("b/1", { name: "two" })]);
  expect(await note.get(world.documents, "a/1")).toEqual({ name: "one", size: 3 });
  expect(await note.list(world.documents, "b/")).toEqual({
    found: [{ key: "b/1", value: { name: "two" } }],
    problems: [],
  });
  await world.documents.write([note.remove("a/1")]);
  expect(await note.get(world.documents, "a/1")).toBeUndefined();
});

test("a document of an earlier version is converted when it is read", async () => {
  await using world = await stored({ key: "old", version: 1, json: '{"title":"before"}' });
  expect(await note.get(world.documents, "old")).toEqual({ name: "before" });
});

test("a document of a newer version, one that is not JSON and one of another shape are refused by name", async () => {
  await using world = await stored(
    { key: "newer", version: 3, json: '{"name":"x"}' },
    { key: "torn", version: 2, json: '{"name":' },
    { key: "other", version: 2, json: '{"name":5}' },
  );
  const refused = (key: string) => expect(note.get(world.documents, key)).rejects;
  await refused("newer").toThrow(
    "What is stored as note newer cannot be read: it is from a newer version of Retinue (3)",
  );
  await refused("torn").toThrow(/^What is stored as note torn cannot be read: .*JSON/);
  await refused("other").toThrow(/^What is stored as note other cannot be read: name: /);
});

test("a list has the documents that can be read, and names the others", async () => {
  await using world = await stored(
    { key: "a", version: 2, json: "null" },
    { key: "b", version: 2, json: '{"name":"fine"}' },
    { key: "c", version: 9, json: "{}" },
  );
  const { found, problems } = await note.list(world.documents, "");
  expect(found).toEqual([{ key: "b", value: { name: "fine" } }]);
  expect(problems.map(({ code, message }) => [code, /note (\w)/.exec(message)?.[1]])).toEqual([
    ["store_unavailable", "a"],
    ["store_unavailable", "c"],
  ]);
});

test("a schema is built when something is read, and not before", () => {
  let builds = 0;
  const { encode, decode } = codec(() => {
    builds++;
    return z.string();
  });
  const written = encode("x");
  expect(builds).toBe(0);
  expect([decode(written, "it"), decode(written, "it"), builds]).toEqual(["x", "x", 1]);
});
