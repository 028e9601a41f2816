import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { boardPlace } from "./board-place.ts";

let world = "";
beforeEach(() => {
  world = realpathSync(mkdtempSync(join(tmpdir(), "retinue-place-")));
});
afterEach(() => rmSync(world, { recursive: true }));

function git(folder: string, ...args: string[]): void {
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: folder, stdio: "ignore" });
}

function repository(name: string, { isEmpty = false } = {}): string {
  const folder = join(world, name);
  mkdirSync(join(folder, "src"), { recursive: true });
  git(folder, "init", "-b", "main");
  if (!isEmpty) git(folder, "commit", "--allow-empty", "-m", "first");
  return folder;
}

test("a folder of a repository has the board of the repository and its branch, also without a commit", () => {
  const repo = repository("repo", { isEmpty: true });
  expect(boardPlace(join(repo, "src"))).toEqual({ repository: repo, branch: "main" });
});

test("a branch with slashes is one branch, and a detached head is none", () => {
  const repo = repository("repo");
  git(repo, "checkout", "-b", "feature/a.b_ä");
  expect(boardPlace(repo).branch).toBe("feature/a.b_ä");
  git(repo, "checkout", "--detach");
  expect(boardPlace(repo)).toEqual({ repository: repo, branch: "" });
});

test("a worktree has the board of its repository, of its own branch", () => {
  const repo = repository("repo");
  git(repo, "worktree", "add", "-b", "side", join(world, "tree"));
  expect(boardPlace(join(world, "tree"))).toEqual({ repository: repo, branch: "side" });
});

test("a folder outside git is its own place, also when a link leads there", () => {
  mkdirSync(join(world, "plain"));
  symlinkSync(join(world, "plain"), join(world, "link"));
  expect(boardPlace(join(world, "link"))).toEqual({ repository: join(world, "plain"), branch: "" });
});

test("a folder that claims to be a worktree of another repository does not get its board", () => {
  const repo = repository("repo");
  git(repo, "worktree", "add", "-b", "side", join(world, "tree"));
  const liar = join(world, "liar");
  mkdirSync(liar);
  writeFileSync(join(liar, ".git"), `gitdir: ${join(repo, ".git/worktrees/tree")}\n`);
  expect(boardPlace(liar).repository).toBe(liar);
  const own = join(liar, "meta");
  mkdirSync(own);
  writeFileSync(join(own, "commondir"), join(repo, ".git"));
  writeFileSync(join(own, "gitdir"), join(liar, ".git"));
  writeFileSync(join(liar, ".git"), `gitdir: ${own}\n`);
  expect(boardPlace(liar).repository).toBe(liar);
});

test("two clones with the same remote have two boards", () => {
  const [one, two] = [repository("one"), repository("two")];
  for (const each of [one, two]) git(each, "remote", "add", "origin", "https://example.com/o/r.git");
  expect(boardPlace(one).repository).not.toBe(boardPlace(two).repository);
});
