import { expect, test } from "vitest";
import { isLoaded, loadGrammar } from "./grammar.ts";
import { readLine } from "./line.ts";

test("the parser is loaded when it is asked for and not before; until then no line is plain", async () => {
  expect(isLoaded()).toBe(false);
  expect(readLine("ls")).toMatchObject({ commands: [], unclear: expect.stringContaining("not loaded") });
  await loadGrammar();
  expect(readLine("ls").unclear).toBeUndefined();
});

test("a line that is too long or too hard is not plain, and the next one is read as ever", async () => {
  await loadGrammar();
  expect(readLine(`ls ${"a".repeat(100_000)}`).unclear).toBe("it is longer than 2000 characters");
  expect(readLine("é$[".repeat(600)).unclear).toBeDefined();
  expect(readLine("ls -l | cat").commands.map(({ text }) => text)).toEqual(["ls -l", "cat"]);
});
