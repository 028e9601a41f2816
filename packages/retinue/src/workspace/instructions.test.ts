import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readInstructions } from "./instructions.ts";

let root: string;
let repo: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-instructions-")));
  repo = join(root, "repo");
  mkdirSync(join(repo, ".git"), { recursive: true });
  mkdirSync(join(repo, "sub"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const discovered = (denied: readonly string[] = []) => {
  const { text, warnings } = readInstructions({ enableConfigDiscovery: true }, join(repo, "sub"), repo);
  return { text: text(denied), warnings };
};

test("come from the repository and the working folder, by a link to a neighbour as well", () => {
  writeFileSync(join(repo, "AGENTS.md"), "of the repository");
  symlinkSync("../AGENTS.md", join(repo, "sub/CLAUDE.md"));
  const { text, warnings } = discovered();
  expect(text?.match(/of the repository/g)).toHaveLength(2);
  expect(warnings).toEqual([]);
});

test("are not read through a link out of the repository, from a device or from a pipe, and the next file counts", () => {
  writeFileSync(join(root, "secret.md"), "the secret");
  symlinkSync(join(root, "secret.md"), join(repo, "AGENTS.md"));
  symlinkSync("/dev/zero", join(repo, "sub/AGENTS.md"));
  mkdirSync(join(repo, ".github"));
  execFileSync("mkfifo", [join(repo, ".github/copilot-instructions.md")]);
  writeFileSync(join(repo, "CLAUDE.md"), "harmless");
  const { text, warnings } = discovered();
  expect(text).toContain("harmless");
  expect(text).not.toContain("the secret");
  expect(warnings).toEqual([
    expect.stringContaining("AGENTS.md was not read: it is a link that leads out of the project"),
    expect.stringContaining("copilot-instructions.md was not read: it is a named pipe"),
    expect.stringContaining("sub/AGENTS.md was not read: it is a link that leads out of the project"),
  ]);
});

test("are cut after 30,000 characters, however large the file is, and that is said", () => {
  writeFileSync(join(repo, "AGENTS.md"), "");
  truncateSync(join(repo, "AGENTS.md"), 3 * 1024 * 1024 * 1024);
  const { text = "", warnings } = discovered();
  expect(text.length).toBeLessThan(30_500);
  expect(warnings).toEqual([expect.stringContaining("only its first 30000 characters count")]);
});

test("of a folder that the host names may be a link, but no pipe", () => {
  mkdirSync(join(root, "host"));
  writeFileSync(join(root, "shared.md"), "shared");
  symlinkSync(join(root, "shared.md"), join(root, "host/CLAUDE.md"));
  execFileSync("mkfifo", [join(root, "host/AGENTS.md")]);
  const { text, warnings } = readInstructions({ instructionDirectories: [join(root, "host")] }, repo, repo);
  expect(text([])).toContain("shared");
  expect(warnings).toEqual([expect.stringContaining("a named pipe")]);
});

test("are left out when a rule denies to read them, by their name or by where they lead", () => {
  mkdirSync(join(repo, "docs"));
  writeFileSync(join(repo, "docs/agents.md"), "be brief");
  symlinkSync("docs/agents.md", join(repo, "AGENTS.md"));
  expect(discovered([join(repo, "docs")]).text).toBeUndefined();
  expect(discovered([join(repo, "agents.md")]).text).toBeUndefined();
  expect(discovered([join(repo, "src")]).text).toContain("be brief");
});
