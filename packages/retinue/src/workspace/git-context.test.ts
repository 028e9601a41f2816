import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { gitContext } from "./git-context.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-git-")));
afterAll(() => rmSync(root, { recursive: true }));

function repository(name: string, { head = "ref: refs/heads/main\n", config = "" } = {}): string {
  const folder = join(root, name);
  mkdirSync(join(folder, ".git"), { recursive: true });
  writeFileSync(join(folder, ".git", "HEAD"), head);
  writeFileSync(join(folder, ".git", "config"), config);
  return folder;
}
const remote = (url: string) => `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n\tfetch = +refs/*\n`;

test("a folder outside of every repository has nothing but its own path", async () => {
  expect(await gitContext(join(root, "plain", ".."))).toEqual({ cwd: root });
});

test("a folder deep inside a repository knows its root and its branch, slashes included", async () => {
  const gitRoot = repository("deep", { head: "ref: refs/heads/feature/lock\n" });
  const cwd = join(gitRoot, "a", "b");
  expect(await gitContext(cwd)).toEqual({ cwd, gitRoot, branch: "feature/lock" });
});

test.each([
  "https://example.com/owner/name.git",
  "https://example.com/owner/name",
  "git@example.com:owner/name.git",
  "ssh://git@example.com:22/owner/name.git",
])("the repository of %s is owner/name", async (url) => {
  const gitRoot = repository("remote", { config: remote(url) });
  expect((await gitContext(gitRoot)).repository).toBe("owner/name");
});

test("a detached head is no branch, and a repository without a remote has no name", async () => {
  const gitRoot = repository("detached", { head: `${"0".repeat(40)}\n` });
  expect(await gitContext(gitRoot)).toEqual({ cwd: gitRoot, gitRoot });
});

test("a worktree has the branch of its own and the remote of the repository that it belongs to", async () => {
  const main = repository("main", { config: remote("https://example.com/owner/name.git") });
  const own = join(main, ".git", "worktrees", "side");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "HEAD"), "ref: refs/heads/side\n");
  writeFileSync(join(own, "commondir"), "../..\n");
  const side = join(root, "side");
  mkdirSync(side);
  writeFileSync(join(side, ".git"), `gitdir: ${own}\n`);
  expect(await gitContext(side)).toEqual({ cwd: side, gitRoot: side, branch: "side", repository: "owner/name" });
});

test("a repository whose files are pipes does not keep anybody waiting", async () => {
  const gitRoot = repository("piped");
  for (const name of ["HEAD", "config"]) {
    rmSync(join(gitRoot, ".git", name));
    execFileSync("mkfifo", [join(gitRoot, ".git", name)]);
  }
  expect(await gitContext(gitRoot)).toEqual({ cwd: gitRoot, gitRoot });
});
