import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { loadGrammar } from "../shell-language/grammar.ts";
import { shellRequest, typingPermission } from "../tools/shell/shell-command.ts";
import { askForAll, decide, type Policy, parseRule } from "./policy.ts";

await loadGrammar();

const root = mkdtempSync(join(tmpdir(), "retinue-reading-"));
const work = join(root, "work");
const fresh = join(root, "fresh");

beforeAll(() => {
  mkdirSync(join(fresh, "src"), { recursive: true });
  mkdirSync(join(fresh, "linked"));
  mkdirSync(join(root, "outside"));
  writeFileSync(join(root, "outside/secret"), "secret");
  writeFileSync(join(fresh, "a.txt"), "a\n");
  symlinkSync(join(root, "outside/secret"), join(fresh, "linked/secret"));
  execFileSync("git", ["init", "-q", "--template="], { cwd: fresh, stdio: "ignore" });
  reset();
});
/** Before a test that changes something. */
function reset(): void {
  rmSync(work, { recursive: true, force: true });
  cpSync(fresh, work, { recursive: true, verbatimSymlinks: true });
}
afterAll(() => rmSync(root, { recursive: true, force: true }));

function verdict(line: string, policy: Partial<Policy> = {}): string {
  return decide(shellRequest(line, { intention: "", toolCallId: "c" }), {
    ...askForAll,
    approveReads: true,
    directories: [work],
    shell: { workingDirectory: work, searchPath: "/usr/bin:/bin" },
    ...policy,
  }).type;
}

describe("where reads are approved", () => {
  test.each([
    ...[
      "ls",
      "ls -la src",
      "ls -l *.txt",
      "cat a.txt",
      "cat -n a.txt src/b",
      "head -20 a.txt",
      "head -n 5 a.txt",
      "tail -n +3 a.txt",
    ],
    ...[
      "wc -l *.txt",
      "wc -l ./*",
      "pwd",
      "grep -rn 'a b' src",
      "grep -r x --include=*.ts .",
      "grep -e x a.txt",
      "rg -n x src",
      "rg --files src",
    ],
    ...[
      "find . -name '*.ts' -type f",
      "find src -maxdepth 2",
      "sort -u a.txt | uniq -c | sort -rn | head -3",
      "cut -d, -f1 a.txt",
    ],
    ...[
      "sed -n 1,20p a.txt",
      "sed -n '5p' a.txt",
      "cat a.txt 2>/dev/null",
      "wc -l < a.txt",
      "ls src && cat a.txt || echo none",
      "which node",
    ],
    ...[
      "git status",
      "git status --short",
      "git log --oneline -5",
      "git log -n5 --stat -- src",
      "git diff",
      "git diff --cached",
      "git diff main..topic src",
    ],
    ...[
      "git show HEAD~1",
      "git --no-pager log -1",
      "git branch -a",
      "git rev-parse --abbrev-ref HEAD",
      "git log --format='%h %s'",
      "git remote -v",
    ],
  ])("%s is not asked about", (line) => expect(verdict(line)).toBe("allow"));

  test.each([
    ...[
      "cat /etc/passwd",
      "cat ../outside/secret",
      "cat linked/secret",
      "cat linked/*",
      "ls ~",
      "ls ~/x",
      "cat $HOME/x",
      "cat a.txt | tee b",
      "ls > b",
    ],
    ...[
      "head -n 5 /etc/passwd",
      "grep x /etc/passwd",
      "grep -f /etc/passwd a.txt",
      "grep -R x .",
      "rg --files /etc",
      "rg --pre=evil x",
      "rg -z x",
      "rg -L x",
    ],
    ...[
      "wc --files0-from=/etc/x",
      "sort -o b a.txt",
      "sort -ob a.txt",
      "sort --output=b a.txt",
      "sort -T /x a.txt",
      "uniq a.txt b",
      "uniq *.txt",
    ],
    ...[
      "find . -delete",
      "find . -exec rm {} +",
      "find . -fprint b",
      "find / -name x",
      "find -L . -name x",
      "find *",
      "sed -i 1d a.txt",
      "sed -n '1w b' a.txt",
    ],
    ...[
      "sed 1e a.txt",
      "tail -f a.txt",
      "X=1 ls",
      "PATH=. ls",
      "ls $(rm x)",
      "./ls",
      "/bin/ls",
      "env ls",
      "cd .. && cat outside/secret",
      "cd src; ls",
      "cat < /etc/passwd",
    ],
    ...[
      "cat < ~/x",
      "for f in a; do cat $f; done",
      "echo $OPENAI_API_KEY",
      "echo *",
      "printenv",
      "jq . a.txt",
      "date -s x",
      "tree -o b",
      "awk 1 a.txt",
      "xargs cat",
      "less a.txt",
    ],
    ...[
      "git -c core.pager=evil log",
      "git log --ext-diff",
      "git log --output=b",
      "git log --outp=b",
      "git diff --no-index /etc/passwd a.txt",
      "git diff /etc/passwd a.txt",
    ],
    ...[
      "git diff ../outside/secret a.txt",
      "git log --format='%G?'",
      "git log --show-signature",
      "git branch topic",
      "git branch -D topic",
      "git tag v1",
      "git remote add x y",
    ],
    ...[
      "git -C .. status",
      "git status $X",
      "git fetch",
      "git push",
      "git stash",
      "git config -l",
      "git grep -O x",
      "git blame --contents=/etc/passwd a",
      "git lg",
      "git log -S",
    ],
    ...["touch b", "rm a.txt", "", "ls; rm a.txt", "ls &\nrm a.txt", `cat ${"a".repeat(3000)}`],
  ])("%s is asked about", (line) => expect(verdict(line)).toBe("ask"));

  test("a line is asked about where reads are not approved, the place is not known, or the folder is none of the allowed", () => {
    expect(verdict("ls", { approveReads: false })).toBe("ask");
    expect(verdict("ls", { shell: undefined })).toBe("ask");
    expect(verdict("ls", { shell: { workingDirectory: root, searchPath: "/usr/bin" } })).toBe("ask");
  });

  test("deny rules win: for the command, and for what it would read or list", () => {
    expect(verdict("cat a.txt", { denied: [parseRule("shell(cat)")] })).toBe("deny");
    expect(verdict("cat a.txt", { denied: [parseRule("read")] })).toBe("ask");
    const denied = [parseRule("read(src)")];
    expect(
      ["cat src/b", "ls src", "grep -r x .", "rg x", "ls", "git log -p"].map((line) => verdict(line, { denied })),
    ).toEqual(Array(6).fill("ask"));
    expect(["cat a.txt", "pwd"].map((line) => verdict(line, { denied }))).toEqual(["allow", "allow"]);
  });

  test("what is typed into a running program is asked about", async () => {
    const request = await typingPermission("ls", { intention: "", toolCallId: "c" });
    const shell = { workingDirectory: work, searchPath: "/usr/bin" };
    expect(decide(request, { ...askForAll, approveReads: true, directories: [work], shell }).type).toBe("ask");
  });

  test("a program that lies in the folders, or may be found in the working folder, is asked about", () => {
    reset();
    mkdirSync(join(work, "bin"));
    writeFileSync(join(work, "bin/ls"), "");
    const at = (searchPath: string) => ({ shell: { workingDirectory: work, searchPath } });
    expect(verdict("ls", at(`${join(work, "bin")}:/usr/bin`))).toBe("ask");
    expect(verdict("cat a.txt", at(`${join(work, "bin")}:/usr/bin`))).toBe("allow");
    expect(["/usr/bin:", ".:/usr/bin", "bin:/usr/bin"].map((path) => verdict("cat a.txt", at(path)))).toEqual(
      Array(3).fill("ask"),
    );
    expect(verdict("pwd", at(".:/usr/bin"))).toBe("allow");
  });

  test("a pattern that may become an option is asked about", () => {
    reset();
    writeFileSync(join(work, "-x.txt"), "");
    expect(["wc -l *.txt", "wc -l ./*.txt"].map((line) => verdict(line))).toEqual(["ask", "allow"]);
  });
});

describe("a repository that may run something when git reads it is asked about:", () => {
  beforeEach(reset);
  const config = (text: string) => appendFileSync(join(work, ".git/config"), text);
  test.each<[string, () => void]>([
    ["a monitor of files", () => config("[core]\n\tfsmonitor = ./evil\n")],
    ["a monitor in one line with its section", () => config("[core] fsmonitor = ./evil\n")],
    ["a pager", () => config("[core]\n\tpager = evil\n")],
    ["an alias", () => config("[alias]\n\tstatus = !evil\n")],
    ["a program for differences", () => config('[diff "x"]\n\ttextconv = evil\n')],
    ["another file that is included", () => config("[include]\n\tpath = ../evil\n")],
    ["hooks elsewhere", () => config("[core]\n\thooksPath = evil\n")],
    ["a line that goes on", () => config("[user]\n\tname = a \\\n")],
    ["a configuration of the worktree", () => writeFileSync(join(work, ".git/config.worktree"), "")],
    [
      "a hook",
      () => {
        mkdirSync(join(work, ".git/hooks"));
        writeFileSync(join(work, ".git/hooks/post-index-change"), "");
      },
    ],
    ["submodules", () => writeFileSync(join(work, ".gitmodules"), "")],
    ["no repository", () => rmSync(join(work, ".git"), { recursive: true })],
    [
      "a folder that passes for a bare one",
      () => {
        mkdirSync(join(work, "objects"));
        writeFileSync(join(work, "HEAD"), "");
      },
    ],
  ])("%s", (_what, change) => {
    expect(verdict("git status")).toBe("allow");
    change();
    expect(verdict("git status")).toBe("ask");
    expect(verdict("ls")).toBe("allow");
  });

  test("a repository with a remote, a branch and the samples of hooks is none of them", () => {
    config('[remote "origin"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n');
    config('[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = Ada\n');
    mkdirSync(join(work, ".git/hooks"));
    writeFileSync(join(work, ".git/hooks/pre-commit.sample"), "");
    expect(verdict("git diff && git log -3")).toBe("allow");
  });
});
