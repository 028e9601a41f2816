/**
 * Lines that run without asking because they only read, in a real bash with the real programs: none may change a file, and none may show what is outside
 * the folder. READING_SEED and READING_RUNS repeat or prolong a run.
 */
import { spawn } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { askForAll, decide } from "../../packages/retinue/src/permissions/policy.ts";
import { loadGrammar } from "../../packages/retinue/src/shell-language/grammar.ts";
import { shellRequest } from "../../packages/retinue/src/tools/shell/shell-command.ts";
import { Random } from "./random.ts";

const SEED = Number(process.env.READING_SEED ?? 11);
const RUNS = Number(process.env.READING_RUNS ?? 100);
const SECRET = "the-word-outside";

const PROGRAMS = (
  "ls cat head tail wc grep rg find sort uniq cut tr sed stat du file tree nl tac rev cmp sha256sum realpath echo pwd which " +
  "date basename tee cp mv rm touch mkdir dd xargs env awk git"
).split(" ");
const GIT =
  "status log diff show branch tag remote rev-parse ls-files blame stash checkout clean config commit add".split(" ");
const WORDS = (
  "a.txt b.txt src src/c.txt . .. ../outside ../outside/secret links/out links/* links/dir *.txt ./* src/*.txt * [ab].txt ? none new1 - -- / ~ $HOME " +
  "-n -l -r -a -c -i -o -onew1 -R -L -f -e -k1 -t, -d, -f1 -u -w -z -H -s -v -q -p -C -A2 -n5 -5 -exec -delete -print -fprint -name -type " +
  "-maxdepth 1 2 5p 1,3p 1w\\ new1 1d s/a/b/w\\ new1 d x a evil --output=new1 --outp=new1 --color --include=*.txt --files --files0-from=b.txt --oneline --stat " +
  "--cached --no-index --ext-diff --format=%h --format=%G? HEAD HEAD~1 main..main -D -m -b -v --list"
).split(" ");
const QUOTED = [
  "'*.txt'",
  "'a b'",
  '"a.txt"',
  "a\\.txt",
  "'../outside/secret'",
  "{a,b}.txt",
  "$(touch new1)",
  "`touch new1`",
  "$X",
  "new\\1",
];
const BETWEEN = [" | ", " | ", " && ", "; ", " || ", "\n", " & "];
const AFTER = [
  "",
  "",
  "",
  "",
  " 2>/dev/null",
  " < a.txt",
  " > new1",
  " >> a.txt",
  " < ../outside/secret",
  " 2>&1",
  " >| new1",
];

function anyLine(random: Random): string {
  const parts = Array.from({ length: 1 + random.below(3) }, () => command(random));
  return parts.reduce((line, part) => `${line}${random.pick(BETWEEN)}${part}`);
}

function command(random: Random): string {
  const program = random.pick(PROGRAMS);
  const words = Array.from({ length: random.below(4) }, () =>
    random.below(12) === 0 ? random.pick(QUOTED) : random.pick(WORDS),
  );
  const name = program === "git" ? `git ${random.below(15) === 0 ? "-c x.y=z " : ""}${random.pick(GIT)}` : program;
  return `${random.below(40) === 0 ? "X=1 " : ""}${[name, ...words].join(" ")}${random.pick(AFTER)}`;
}

test(`no line that runs without asking changes a file or shows what is outside (seed ${SEED})`, async () => {
  await loadGrammar();
  const root = mkdtempSync(path.join(tmpdir(), "retinue-reading-fuzz-"));
  try {
    const work = makeWorld(root);
    await run("git init -q -b main && git add -A && git -c user.name=a -c user.email=a@b commit -qm one", work);
    rmSync(path.join(work, ".git/hooks"), { recursive: true, force: true });
    const random = new Random(SEED);
    const shell = { workingDirectory: work, searchPath: "/usr/bin:/bin" };
    const policy = { ...askForAll, approveReads: true, directories: [work], shell };
    const isAllowed = (line: string) =>
      decide(shellRequest(line, { intention: "", toolCallId: "" }), policy).type === "allow";
    const lines: string[] = [];
    let generated = 0;
    for (; lines.length < RUNS && generated < RUNS * 400; generated++) {
      const line = anyLine(random);
      if (isAllowed(line)) lines.push(line);
    }
    expect(lines).toHaveLength(RUNS);
    expect(generated).toBeGreaterThan(RUNS * 5); // Most are asked about; otherwise nothing is tried.
    const before = snapshot(root);
    for (let at = 0; at < lines.length; at += 25) {
      const batch = lines.slice(at, at + 25);
      // Each in a bash of its own, as the tool does it; one driver for many, because starting processes is what takes the time.
      const shown = await run(batch.map((line) => `bash --norc -c ${quoted(line)} < /dev/null 2>&1`).join("\n"), work);
      expect({ batch, isShown: shown.includes(SECRET) }).toEqual({ batch, isShown: false });
      expect({ batch, files: snapshot(root) }).toEqual({ batch, files: before });
    }
    // What would be wrong is seen.
    expect(await run("cat links/out; touch new1", work)).toContain(SECRET);
    expect(snapshot(root)).not.toEqual(before);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function makeWorld(root: string): string {
  const work = path.join(root, "work");
  const put = (name: string, text: string) => {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  };
  put("outside/secret", `${SECRET}\n`);
  put("outside/more/secret", `${SECRET}\n`);
  put("work/a.txt", "a\nb\nx a\n");
  put("work/b.txt", "b,1\na,2\n");
  put("work/src/c.txt", "c\n");
  mkdirSync(path.join(work, "links"));
  symlinkSync("../../outside/secret", path.join(work, "links/out"));
  symlinkSync("../../outside/more", path.join(work, "links/dir"));
  return work;
}

function run(script: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = {
      PATH: "/usr/bin:/bin",
      HOME: path.join(cwd, "../outside"),
      GIT_PAGER: "cat",
      LC_ALL: "C.UTF-8",
      X: "../outside/secret",
    };
    const child = spawn("/bin/bash", ["--norc", "-c", `ulimit -t 20 -f 1000; ${script}`], {
      cwd,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (part: Buffer) => {
      text += part.toString("latin1");
    });
    child.once("error", reject);
    child.once("close", () => resolve(text));
  });
}

/** Every file with its content. Git refreshes what it remembers of the files (`index`) when it looks at them. */
function snapshot(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.endsWith(".git/index"))
    .sort()
    .map((name) => {
      const file = path.join(folder, name);
      const found = lstatSync(file);
      if (found.isSymbolicLink()) return `${name} -> ${readlinkSync(file)}`;
      return found.isFile() ? `${name}: ${readFileSync(file, "latin1")}` : name;
    });
}
