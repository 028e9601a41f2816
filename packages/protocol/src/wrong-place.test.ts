import { expect, test } from "vitest";
import * as z from "zod";
import { McpServerConfig } from "./session-config.ts";
import { wrongPlace } from "./wrong-place.ts";

const placeIn = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues.map(wrongPlace)[0];

test("of a choice of which nothing fits, the place inside of what was meant is named", () => {
  const tree: z.ZodType = z.lazy(() => z.union([z.boolean(), z.object({ size: z.number(), below: tree.optional() })]));
  expect(placeIn(z.object({ top: tree }), { top: { size: 1, below: { size: "2" } } })).toEqual({
    path: ["top", "below", "size"],
    message: "Invalid input: expected number, received string",
  });
});

test("a choice with words of its own keeps them", () => {
  const choice = z.union([z.object({ a: z.string() }), z.string()], { error: "expected a or a text" });
  expect(placeIn(z.object({ it: choice }), { it: { a: 1 } })).toEqual({
    path: ["it"],
    message: "expected a or a text",
  });
});

test("a server that is none is told what it lacks, and one that is nearly right which field is wrong", () => {
  expect(placeIn(McpServerConfig(), { comand: "x" })?.message).toBe("it has neither a command nor a url");
  expect(placeIn(McpServerConfig(), "x")?.message).toBe("expected an object with a command or a url");
  expect(placeIn(McpServerConfig(), { command: "x", args: [7] })).toMatchObject({ path: ["args", 0] });
});
