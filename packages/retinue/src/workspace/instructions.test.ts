import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readInstructions } from "./instructions.ts";

let root = "";
let repo = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-instructions-")));
  repo = join(root, "repo");
  mkdirSync(join(repo, "docs"), { recursive: true });
  writeFileSync(join(root, "key.txt"), "a fake key");
  writeFileSync(join(repo, "docs/agents.md"), "be brief");
});
afterEach(() => rmSync(root, { recursive: true }));

const read = (denied: readonly string[] = []) => readInstructions({ enableConfigDiscovery: true }, repo, repo)(denied);

test("a file of the repository that is a link out of it is not read, and the next one is", () => {
  symlinkSync(join(root, "key.txt"), join(repo, "AGENTS.md"));
  expect(read()).toBeUndefined();
  writeFileSync(join(repo, "CLAUDE.md"), "be kind");
  expect(read()).toContain("be kind");
  expect(read()).not.toContain("fake key");
});

test("a link within the repository is read", () => {
  symlinkSync("docs/agents.md", join(repo, "AGENTS.md"));
  expect(read()).toContain("be brief");
});

test("what a rule denies to read is left out, by its name or by where it leads", () => {
  symlinkSync("docs/agents.md", join(repo, "AGENTS.md"));
  expect(read([join(repo, "docs")])).toBeUndefined();
  expect(read([join(repo, "agents.md")])).toBeUndefined();
  expect(read([join(repo, "src")])).toContain("be brief");
});
