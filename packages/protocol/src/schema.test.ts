import { expect, test } from "vitest";
import * as z from "zod";
import { later } from "./schema.ts";

test("the schema of a field is built when a message has the field, and not before", () => {
  const built: string[] = [];
  const field = (name: string) =>
    later(() => {
      built.push(name);
      return z.object({ is: z.boolean() });
    });
  const schema = z.object({ a: field("a"), b: field("b") });
  for (const options of [{ jitless: true }, undefined]) {
    expect(schema.safeParse({}, options)).toEqual({ success: true, data: {} });
    expect(schema.safeParse({ b: undefined }, options).success).toBe(true);
  }
  expect(built).toEqual([]);
  for (const options of [{ jitless: true }, undefined]) {
    expect(schema.safeParse({ b: { is: true } }, options)).toEqual({ success: true, data: { b: { is: true } } });
    expect(schema.safeParse({ b: { is: "yes" } }, options).success).toBe(false);
  }
  expect(built).toEqual(["b"]);
});
