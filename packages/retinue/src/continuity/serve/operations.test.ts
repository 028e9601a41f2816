import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { operations, withRoutes } from "./operations.ts";

describe("the operations", () => {
  test("have one name and one route each", () => {
    expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
    expect(new Set(operations.map(({ method, path }) => `${method} ${path}`)).size).toBe(operations.length);
  });

  test("are in docs/continuity.md as they are; npm run docs writes them", () => {
    const page = readFileSync(new URL("../../../../../docs/continuity.md", import.meta.url), "utf8");
    expect(page).toBe(withRoutes(page));
  });

  test("offer models only what reads", () => {
    expect(operations.filter(({ tool }) => tool).map(({ name }) => name)).toEqual([
      "session_search",
      "session_transcript",
    ]);
  });
});
