/**
 * What command lines really run: each in a real bash, in a folder of its own, with nothing on its path but programs that write down their names.
 *
 * A program is seen by its own note, a builtin by the trace of the shell, a written file by the list of files. The programs that can run others are real ones
 * (`env`, `xargs`, `find`, `sort`, `sed`, `sh`), or pretend to when an option of theirs asks for it.
 */
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

export interface Ran {
  /** Programs with their first argument, as they noted it. */
  programs: { name: string; first: string }[];
  /** First words of the trace. */
  traced: string[];
  hasWritten: boolean;
}

const NOTES = "ls cat npm touch grep head uniq date wc evil rm curl tr cut".split(" ");
const REAL = "env xargs find sort sed sh timeout nohup nice".split(" ");
/** They run `evil` when one of their arguments is like this, or, for some, the first one is `-c`. */
const PRETEND = {
  git: "--exec-path*|--ext-diff|--output|--output=*|--outp=*|-x|--upload-pack*",
  tar: "--to-command|--to-command=*|--checkpoint-action=*|--use-compress-program=*|-I*",
  rg: "--pre|--pre=*|-z",
  make: "*=*|-f|-C",
  awk: "*",
  python3: "--evil",
};
const NOTE = `n=\${0##*/}; f=\${1-}; case $f in *[!-=+.,%A-Za-z0-9_/]*) f=odd;; esac; printf '%s\\t%s\\n' "$n" "$f" >> "\${FUZZ_LOG:-\${0%/*}/lost}"\n`;
/** What variables hold that a line may use. */
const VARIABLES = { X: "-exec evil {} +", Y: "$(evil)", Z: "; evil", W: "evil", V: "-oout1" };
const DRIVER = `
shopt -s dotglob nullglob
fresh() { rm -rf work && cp -R seed work && expected="$(printf '%s,' work/*)"; }
fresh
for file in lines/*; do
  n=\${file##*/}
  ( cd work && IFS= read -r -d '' line < ../$file
    FUZZ_LOG="$ROOT/notes/$n" BASH_XTRACEFD=9 PATH="$ROOT/bin" HOME="$ROOT/work" exec /bin/bash --norc -x -c "$line"
  ) 9> traces/$n > /dev/null 2>&1 < /dev/null
  printf -v now '%s,' work/*
  if [ "$now" != "$expected" ]; then : > wrote/$n; fresh; fi
done
exit 0
`;

/** The lines must be without a NUL, which no argument of a program can have. Everything that was started has ended when it resolves. */
export async function runLines(lines: readonly string[], root: string): Promise<Ran[]> {
  for (const folder of ["bin", "lines", "notes", "traces", "wrote", "seed/sub", "seed/evilbin"]) {
    rmSync(path.join(root, folder), { recursive: true, force: true });
    mkdirSync(path.join(root, folder), { recursive: true });
  }
  makePrograms(root);
  for (const [index, line] of lines.entries()) writeFileSync(path.join(root, "lines", nameOf(index)), `${line}\0`);
  await drive(root);
  const lost = path.join(root, "bin/lost");
  if (existsSync(lost)) throw new Error(`a program ran without a line to note it for: ${readFileSync(lost, "utf8")}`);
  return lines.map((_, index) => ranOf(root, nameOf(index)));
}

const nameOf = (index: number) => String(index).padStart(6, "0");

function makePrograms(root: string): void {
  const program = (file: string, text: string) => {
    writeFileSync(path.join(root, file), `#!/bin/sh\n${text}`);
    chmodSync(path.join(root, file), 0o755);
  };
  for (const name of NOTES) program(`bin/${name}`, NOTE);
  for (const name of REAL) program(`bin/${name}`, `${NOTE}exec "$(PATH=/usr/bin:/bin command -v ${name})" "$@"\n`);
  program("bin/bash", `${NOTE}exec /bin/bash --norc "$@"\n`);
  program("bin/sudo", `${NOTE}exec "$@"\n`);
  for (const [name, risky] of Object.entries(PRETEND))
    program(
      `bin/${name}`,
      `${NOTE}case $n$1 in git-c|python3-c) evil;; esac; for a; do case $a in ${risky}) evil;; esac; done\n`,
    );
  program("seed/evil.sh", "evil\n");
  for (const name of ["ls", "cat", "git", "find"]) program(`seed/evilbin/${name}`, `PATH="${root}/bin" evil\n`);
  writeFileSync(path.join(root, "seed/in.txt"), "evil\nb\n");
  writeFileSync(path.join(root, "seed/a"), "a\n");
  writeFileSync(path.join(root, "seed/script"), "1e evil\n");
  // A pattern such as * turns these names into options.
  writeFileSync(path.join(root, "seed/-oout1"), "");
}

function drive(root: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/bash", ["--norc", "-c", `ulimit -t 20 -f 1000; ${DRIVER}`], {
      cwd: root,
      env: { ...VARIABLES, ROOT: root, PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    child.stdout.resume();
    child.once("error", reject);
    // Not before everything in the background has closed its output as well.
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`the driver ended with ${code}`))));
  });
}

function ranOf(root: string, name: string): Ran {
  const notes = textOf(path.join(root, "notes", name))
    .split("\n")
    .filter(Boolean);
  const traces = textOf(path.join(root, "traces", name)).matchAll(/^\++ (\S+)/gm);
  return {
    programs: notes.map((note) => {
      const [program = "", first = ""] = note.split("\t");
      return { name: program, first };
    }),
    traced: [...traces].map(([, word = ""]) => word.replaceAll(/['\\]/g, "")),
    hasWritten: existsSync(path.join(root, "wrote", name)),
  };
}

const textOf = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "");
