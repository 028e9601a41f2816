import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PermissionRequest } from "@retinue/protocol";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { SessionPlace } from "../session/session.ts";
import { loadGrammar } from "../shell-language/grammar.ts";
import { shellRequest } from "../tools/shell/shell-command.ts";
import { whyLeaves, withCounterparts } from "./confinement.ts";

let base = "";
let place: SessionPlace;
const at = (path: string) => join(base, path);

beforeAll(async () => {
  await loadGrammar();
  base = realpathSync(mkdtempSync(join(tmpdir(), "retinue-confined-")));
  for (const folder of [
    "orig/src",
    "orig/.git",
    "home/worktrees/w/src",
    "home/worktrees/other",
    "home/session",
    "tmp",
    "else",
  ])
    mkdirSync(at(folder), { recursive: true });
  writeFileSync(at("home/worktrees/w/a.txt"), "a");
  symlinkSync(at("orig"), at("home/worktrees/w/out"));
  mkdirSync(at("home/worktrees/w/links"));
  symlinkSync(at("orig/src"), at("home/worktrees/w/links/one"));
  vi.stubEnv("TMPDIR", at("tmp"));
  const root = at("home/worktrees/w");
  place = {
    workingDirectory: root,
    folder: at("home/session"),
    confinement: { root, mirrors: [at("orig")], closed: [at("orig/.git"), at("home")] },
  };
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true, force: true });
});

const line = (text: string) =>
  whyLeaves(shellRequest(text.replaceAll("BASE", base), { intention: "", toolCallId: "c" }), place);
const write = (fileName: string): string | undefined =>
  whyLeaves(
    { kind: "write", fileName, intention: "", diff: "", canOfferSessionApproval: true } as PermissionRequest,
    place,
  );

describe("a confined agent writes a file", () => {
  test.each(["home/worktrees/w/a.txt", "home/worktrees/w/new/deep.txt", "home/session/plan.md", "tmp/x"])(
    "at %s",
    (path) => {
      expect(write(at(path))).toBeUndefined();
    },
  );

  test.each([
    "orig/a.txt",
    "home/worktrees/w/../../../orig/a.txt",
    "home/worktrees/w/out/a.txt",
    "home/worktrees/other/a.txt",
    "home/retinue.db",
    "home/worktrees/w/.git",
    "home/worktrees/w/src/.git/config",
    "home/worktrees/w/.GIT",
    "else/a.txt",
  ])("but not at %s", (path) => {
    expect(write(at(path))).toContain("it writes to");
  });
});

describe("a confined agent runs", () => {
  test.each([
    "npm test",
    "npm run build -- --watch=false",
    "make all",
    "cargo build --release",
    "python3 script.py --out=build/x",
    "python3 -m pytest tests",
    "python3 -c 'print(1)'",
    "node src/main.js",
    "rm -rf build src/b.txt",
    "cp a.txt src/c.txt",
    "mkdir -p src/new && touch src/new/x",
    "echo hello > a.txt",
    "echo hello >> src/a.txt 2>&1",
    "ls > /dev/null",
    "cd src && touch x",
    "cat /etc/hosts",
    "cat BASE/orig/src/a",
    "grep -rn x BASE/orig",
    "sed -i s/a/b/ a.txt",
    "find . -name '*.ts'",
    "rm src/*.log",
    "git status",
    "git add -A",
    "git commit -m 'Fix the /api route'",
    "git diff HEAD~1 -- src",
    "git checkout -- a.txt",
    "git restore a.txt",
    "git branch --list",
    "env CI=1 npm test",
    "sh -c 'npm test && git status'",
    "sh build.sh",
    "curl http://localhost:3000/health",
    "touch BASE/tmp/x",
    "touch BASE/home/worktrees/w/x",
    "set -e",
  ])("%s", (text) => {
    expect(line(text)).toBeUndefined();
  });

  test.each([
    "touch BASE/orig/x",
    "touch BASE/else/x",
    "touch /etc/x",
    "touch ../x",
    "touch src/../../x",
    "touch out/x",
    "touch links/one/x",
    "rm -rf ..",
    "rm links/*",
    "rm */x",
    "touch ~/x",
    "touch $HOME/x",
    'touch "$HOME/x"',
    'touch "$(pwd)/../x"',
    "cp a.txt --target-directory=BASE/orig",
    "tar -xf a.tar -CBASE/orig",
    "dd if=a.txt of=BASE/orig/x",
    "tee BASE/orig/x",
    "echo x > BASE/orig/x",
    "echo x >> ../x",
    "echo x > out/x",
    "echo x >| BASE/orig/x",
    "echo x &> BASE/orig/x",
    "echo x > $HOME/x",
    "cat <<EOF > x\nhello\nEOF",
    "cd BASE/orig && touch x",
    "cd .. && touch x",
    "cd out && touch x",
    "cd && touch x",
    "cd - && touch x",
    "cd $HOME && touch x",
    "cd links && touch one/x",
    "pushd BASE/orig",
    "env -C BASE/orig touch x",
    "env --chdir=BASE/orig touch x",
    "git -C BASE/orig commit -m x",
    "git -C .. status",
    "git --git-dir=BASE/orig/.git add .",
    "git --work-tree=BASE/orig checkout -- .",
    "git -c core.worktree=BASE/orig status",
    "GIT_DIR=BASE/orig/.git git add .",
    "env GIT_DIR=x git add .",
    "env GIT_WORK_TREE=x git checkout -- .",
    "env GIT_INDEX_FILE=x git add .",
    "export GIT_DIR=BASE/orig/.git",
    "git worktree add ../x",
    "git worktree remove .",
    "git checkout main",
    "git checkout main --",
    "git switch main",
    "git branch -D main",
    "git stash",
    "git push",
    "git config core.worktree BASE/orig",
    "git update-ref refs/heads/main HEAD",
    "git apply --unsafe-paths x.patch",
    "git diff --output=BASE/orig/x",
    "git init BASE/orig/sub",
    "sh -c 'cd BASE/orig; touch x'",
    "bash -c 'git -C BASE/orig add .'",
    "sudo git -C BASE/orig add .",
    "xargs git -C BASE/orig add",
    "timeout 5 git push",
    "find . -exec git -C BASE/orig add . \\;",
    "echo 'touch x' | sh",
    "bash",
    "eval 'touch x'",
    ". ./env.sh",
    "python3 -c \"open('BASE/orig/x','w')\"",
    "python3 -c \"open('../../../x','w')\"",
    "node -e \"require('fs').writeFileSync('BASE/home/retinue.db','')\"",
    "awk '{print > \"BASE/orig/x\"}' a.txt",
    "rm .git",
    "echo 'gitdir: x' > .git",
    "ln -s BASE/orig link",
    "ln -s ../../.. link",
    "uniq a.txt BASE/orig/x",
    "sort -o BASE/orig/x a.txt",
    "for f in a b; do touch $f; done",
    "",
  ])("but not %s", (text) => {
    expect(line(text)).toEqual(expect.any(String));
  });
});

test("a tool of a server is refused when an argument names the folder that the worktree stands for", () => {
  const call = (args: unknown) =>
    whyLeaves(
      {
        kind: "mcp",
        serverName: "files",
        toolName: "write",
        toolTitle: "",
        args,
        readOnly: false,
      } as PermissionRequest,
      place,
    );
  expect(call({ file: at("orig/a.txt") })).toContain("it names");
  expect(call({ deep: [{ uri: `file://${at("orig/a.txt")}` }] })).toContain("it names");
  expect(call({ file: at("home/worktrees/w/out/a.txt") })).toContain("it names");
  expect(call({ file: at("home/worktrees/w/a.txt"), query: "/api" })).toBeUndefined();
});

test("an agent that nothing confines is refused nothing", () => {
  const { confinement: _, ...free } = place;
  expect(whyLeaves(shellRequest("touch /etc/x", { intention: "", toolCallId: "c" }), free)).toBeUndefined();
});

test("a rule against a file holds for its counterpart in the worktree", () => {
  const { confinement } = place;
  if (!confinement) throw new Error("the place is confined");
  const paths = (argument: string) =>
    withCounterparts([{ kind: "write", argument }], { confinement, base: at("orig") }).map((rule) => rule.argument);
  expect(paths(at("orig/secret"))).toContain(at("home/worktrees/w/secret"));
  expect(paths("secret")).toContain(at("home/worktrees/w/secret"));
  expect(paths(base)).toContain(at("home/worktrees/w"));
  expect(paths(at("else"))).toEqual([at("else")]);
});
