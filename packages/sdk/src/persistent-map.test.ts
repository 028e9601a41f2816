import fc from "fast-check";
import { expect, test } from "vitest";
import { PersistentMap } from "./persistent-map.ts";

test("every version goes on to answer what it answered when it was made, in any order of asking", () => {
  const key = fc.constantFrom("a", "b", "c");
  const change = fc.oneof(
    fc.record({ at: fc.nat(20), key, value: fc.integer() }),
    fc.record({ at: fc.nat(20), key, value: fc.constant(undefined) }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), fc.array(fc.nat(30)), (changes, asked) => {
      const versions = [{ map: new PersistentMap<number>(), plain: new Map<string, number>() }];
      for (const { at, key: changed, value } of changes) {
        const from = versions[at % versions.length];
        if (!from) continue;
        const plain = new Map(from.plain);
        if (value === undefined) plain.delete(changed);
        else plain.set(changed, value);
        const map = value === undefined ? from.map.delete(changed) : from.map.set(changed, value);
        versions.push({ map, plain });
      }
      for (const index of [...asked, ...versions.keys()]) {
        const version = versions[index % versions.length];
        const entries = version?.map.keys().map((name) => [name, version.map.get(name)]);
        expect(new Map(entries as [string, number][])).toEqual(version?.plain);
        expect(version?.map.size).toBe(version?.plain.size);
      }
    }),
  );
});

test("a change that changes nothing gives the same map", () => {
  const map = new PersistentMap([["a", 1]]);
  expect(map.set("a", 1)).toBe(map);
  expect(map.delete("b")).toBe(map);
});
