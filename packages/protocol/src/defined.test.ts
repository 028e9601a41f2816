import { expect, expectTypeOf, test } from "vitest";
import { defined } from "./defined.ts";

test("a member that is undefined is no member, and every other value stays", () => {
  const kept = defined({ a: 1, b: undefined, c: null, d: false, e: "", f: 0 });
  expect(Object.keys(kept)).toEqual(["a", "c", "d", "e", "f"]);
  expect({ ...{ b: "before" }, ...kept }.b).toBe("before");
});

test("a member that may be undefined is optional, and its type has no undefined left", () => {
  const kept = defined({ a: 1, b: undefined as string | undefined });
  expectTypeOf(kept).toHaveProperty("a").toEqualTypeOf<number>();
  expectTypeOf<(typeof kept)["b"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<{ a: number }>().toExtend<typeof kept>();
});
