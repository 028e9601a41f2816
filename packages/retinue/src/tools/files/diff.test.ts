import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { applyPatch } from "diff";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { contextDiff, countChanges, unifiedDiff } from "./diff.ts";

const folder = mkdtempSync(path.join(tmpdir(), "diff-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Real git applies our diff to `before`. */
async function applied(before: string, after: string): Promise<string> {
  const file = path.join(folder, "f");
  writeFileSync(file, before);
  const diff = await unifiedDiff({ path: "f", before, after });
  if (!diff.includes("@@")) return before;
  execFileSync("git", ["apply", "--unidiff-zero", "--whitespace=nowarn", "-"], { cwd: folder, input: diff });
  return readFileSync(file, "utf8");
}

test("a changed line has three lines of context", async () => {
  const before = ["a", "b", "c", "d", "e", "f", "g", "h", ""].join("\n");
  expect(await unifiedDiff({ path: "/x/f.txt", before, after: before.replace("e", "E") })).toBe(
    [
      "diff --git a/x/f.txt b/x/f.txt",
      "--- a/x/f.txt",
      "+++ b/x/f.txt",
      "@@ -2,7 +2,7 @@",
      " b",
      " c",
      " d",
      "-e",
      "+E",
      " f",
      " g",
      " h",
      "",
    ].join("\n"),
  );
});

test("a new file starts at nothing", async () => {
  expect(await unifiedDiff({ path: "/n", after: "one\ntwo\n" })).toBe(
    "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+one\n+two\n",
  );
});

test("a missing line break at the end is part of the change", async () => {
  const diff = await unifiedDiff({ path: "/n", before: "a", after: "a\n" });
  expect(diff).toContain("-a\n\\ No newline at end of file\n+a\n");
});

test("changes far apart are two hunks, changes close together are one", async () => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}\n`);
  const change = (...at: number[]) => lines.map((line, i) => (at.includes(i) ? "changed\n" : line)).join("");
  const hunks = async (after: string) =>
    (await unifiedDiff({ path: "f", before: lines.join(""), after })).match(/^@@/gm)?.length;
  expect([await hunks(change(5, 20)), await hunks(change(5, 10))]).toEqual([2, 1]);
});

const text = fc
  .array(fc.constantFrom("a", "b", "c", "", " d", "\te", "+", "-- x", "@@"), { maxLength: 12 })
  .chain((lines) => fc.boolean().map((ends) => lines.join("\n") + (ends && lines.length > 0 ? "\n" : "")));

test("git applies any diff of ours", { skip: spawnSync("git", ["--version"]).status !== 0 }, async () => {
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      // git calls a file that becomes empty a deleted one.
      fc.pre(before !== "" && after !== "");
      expect(await applied(before, after)).toBe(after);
    }),
    { numRuns: 60 },
  );
});

test("a diff applied to the old text gives the new text, and counts the same lines", async () => {
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const diff = await unifiedDiff({ path: "f", before, after });
      expect(diff.includes("@@ -") ? applyPatch(before, diff) : before).toBe(after);
      const [, ...hunks] = diff.split(/^@@ -.* @@$/m);
      const lines = hunks.flatMap((hunk) => hunk.split("\n"));
      const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
      expect(await countChanges(before, after)).toEqual({ removed: count("-"), added: count("+") });
    }),
    { numRuns: 500 },
  );
});

test("two large texts with nothing in common are one replaced block", async () => {
  const before = Array.from({ length: 100_000 }, (_, i) => `a${i}`).join("\n");
  const after = Array.from({ length: 100_000 }, (_, i) => `b${i}`).join("\n");
  expect(await countChanges(before, after)).toEqual({ removed: 100_000, added: 100_000 });
  const lines = (await unifiedDiff({ path: "f", before, after })).split("\n");
  expect(lines.length).toBeLessThan(5010);
  expect(lines.filter((line) => line.startsWith("@@"))).toEqual(["@@ -1,100000 +1,100000 @@"]);
});

test("a part of a file is shown with its line numbers", () => {
  expect(contextDiff("/f", ["x", "y"], 7)).toContain("@@ -7,2 +7,2 @@\n x\n y\n");
});
