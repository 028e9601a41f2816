/**
 * Runs ripgrep, with bounds: on the lines wanted, on memory, and by the signal of the call.
 *
 * Hidden files count, `.git` and ignored files do not. A glob is given to ripgrep as a file of ignore rules, because its own
 * `--glob` would bring back what is ignored. Links are not followed, apart from a path that is itself one.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { foldedPath, isWithin, realPath } from "../../real-path.ts";
import { childEnvironment } from "../../secrets/environment.ts";
import { makePrivateFolder, PRIVATE_FILE } from "../../store/private-files.ts";

const ALWAYS = ["--no-config", "--color=never", "--hidden", "--glob=!.git", "--no-require-git", "--sort=path"];
const MAX_CHARS = 20 * 1024 * 1024;
const MAX_ERROR_CHARS = 10_000;

export interface Search {
  args: readonly string[];
  cwd: string;
  /** Only files that it matches; with `!` before it, only those that it does not. */
  glob?: string;
  /** Absolute paths that are not looked into, whatever case and Unicode form their names have on the disk. */
  without?: readonly string[];
  maxLines?: number;
  tempFolder: string;
  signal: AbortSignal;
}

export interface Found {
  lines: string[];
  /** What ripgrep complained about, such as a pattern that it cannot read. */
  error: string;
  /** There are more lines than were wanted. */
  isCut: boolean;
}

export async function ripgrep({ glob, ...search }: Search): Promise<Found> {
  if (glob === undefined) return run(search, []);
  const rules = path.join(search.tempFolder, `glob-${randomUUID()}`);
  makePrivateFolder(search.tempFolder);
  await writeFile(rules, ignoreRules(glob), { mode: PRIVATE_FILE });
  try {
    return await run(search, [`--ignore-file=${rules}`]);
  } finally {
    await rm(rules, { force: true });
  }
}

/** Ignores everything but folders and what the glob names. */
function ignoreRules(glob: string): string {
  const pattern = glob.replace(/[\r\n]/g, "").replace(/^\.\//, "");
  if (pattern.startsWith("!")) return `${pattern.slice(1)}\n`;
  return `*\n!*/\n!${pattern}\n`;
}

/** ripgrep compares what is below its folder relative to that, and everything else with the whole path. */
function exclusions(without: readonly string[], cwd: string): string[] {
  const folder = foldedPath(realPath(cwd));
  const patterns = without.map(foldedPath).flatMap((denied) => {
    const whole = `**${literalGlob(denied)}`;
    return isWithin(folder, denied) ? [whole, `/${literalGlob(path.relative(folder, denied))}`] : [whole];
  });
  return patterns.map((pattern) => `--iglob=!${pattern}`);
}

/** ripgrep ignores the case of ASCII letters only; other letters are given in all their forms. */
function literalGlob(text: string): string {
  return [...text].map((char) => (char > "\u007f" ? formsOf(char) : char.replace(/[\\*?[\]{}!]/, "\\$&"))).join("");
}

function formsOf(char: string): string {
  const forms = [char, char.toLowerCase(), char.toUpperCase()].flatMap((each) => [
    each.normalize("NFC"),
    each.normalize("NFD"),
  ]);
  return `{${[...new Set(forms)].join(",")}}`;
}

async function run(
  { args, cwd, without = [], maxLines = Number.POSITIVE_INFINITY, signal }: Omit<Search, "glob">,
  more: string[],
): Promise<Found> {
  const { rgPath } = await import("@vscode/ripgrep");
  const child = spawn(rgPath, [...ALWAYS, ...exclusions(without, cwd), ...more, ...args], {
    cwd,
    env: childEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve());
  });
  const found: Found = { lines: [], error: "", isCut: false };
  let chars = 0;
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    found.error = (found.error + text).slice(0, MAX_ERROR_CHARS);
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    chars += line.length;
    found.isCut ||= found.lines.length >= maxLines || chars > MAX_CHARS;
    if (found.isCut) child.kill();
    else found.lines.push(line);
  });
  await ended;
  return { ...found, error: found.error.trim() };
}
