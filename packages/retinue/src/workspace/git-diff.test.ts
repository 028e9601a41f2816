import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { branchChanges, hasChanges, unstagedChanges } from "./git-diff.ts";

let root = "";
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root, stdio: "pipe" });
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-git-")));
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(root, "a.txt"), "one\n");
  git("add", "a.txt");
  git("commit", "--quiet", "-m", "first");
});
afterEach(() => rmSync(root, { recursive: true }));

test.each([
  ["core.fsmonitor", "touch pwned; false"],
  ["diff.external", "touch pwned"],
  ["filter.evil.clean", "touch pwned; cat"],
  ["filter.evil.smudge", "touch pwned; cat"],
  ["filter.e.v.i.l.process", "touch pwned"],
  ["diff.evil.textconv", "touch pwned; cat"],
  ["diff.evil.command", "touch pwned"],
  ["core.pager", "touch pwned"],
])("a repository whose %s names a program does not run it", async (key, command) => {
  writeFileSync(join(root, ".gitattributes"), "* filter=evil diff=evil\nb.txt filter=e.v.i.l\n");
  git("add", ".gitattributes");
  git("commit", "--quiet", "-m", "attributes");
  git("config", key, command);
  writeFileSync(join(root, "a.txt"), "two\n");
  writeFileSync(join(root, "b.txt"), "new\n");
  const { signal } = new AbortController();
  const changes = await unstagedChanges(root, { signal });
  expect(changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
  expect((await branchChanges(root, { signal }))?.changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
  expect(await hasChanges(root, signal)).toBe(true);
  expect(existsSync(join(root, "pwned"))).toBe(false);
});

test("a folder is changed by an edit, by a new file and by what is staged, and not by what is ignored", async () => {
  const { signal } = new AbortController();
  expect(await hasChanges(root, signal)).toBe(false);
  writeFileSync(join(root, ".git/info/exclude"), "*.log\n");
  writeFileSync(join(root, "x.log"), "ignored");
  expect(await hasChanges(root, signal)).toBe(false);
  writeFileSync(join(root, "b.txt"), "new");
  expect(await hasChanges(root, signal)).toBe(true);
  git("add", "b.txt");
  expect(await hasChanges(root, signal)).toBe(true);
});

test("a filter with an equals sign in its name does not run either", async () => {
  writeFileSync(join(root, ".gitattributes"), "a.txt filter=e=vil\n");
  git("config", "filter.e=vil.clean", "touch pwned; cat");
  writeFileSync(join(root, "a.txt"), "two\n");
  const { signal } = new AbortController();
  const changes = await unstagedChanges(root, { signal });
  expect(changes.map(({ path }) => path)).toContain("a.txt");
  expect(existsSync(join(root, "pwned"))).toBe(false);
});
