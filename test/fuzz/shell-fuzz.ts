/**
 * The differential fuzz of shell rules: no line that a rule, an answer or the read-only list allows may run a command that it does not name, or
 * write a file. `npm run fuzz:shell [lines] [seed]` runs it whole; shell-rules.test.ts a part of it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { askForAll, decide, type Policy, parseRule } from "../../packages/retinue/src/permissions/policy.ts";
import { changesSomething, type ShellRequest } from "../../packages/retinue/src/permissions/shell-rules.ts";
import { loadGrammar } from "../../packages/retinue/src/shell-language/grammar.ts";
import { shellRequest } from "../../packages/retinue/src/tools/shell/shell-command.ts";
import { Random } from "./random.ts";
import { anyLine } from "./shell-lines.ts";
import { type Ran, runLines } from "./shell-oracle.ts";

export interface Judge {
  name: string;
  allows(request: ShellRequest): boolean;
  /** Programs that it names; `git` with its subcommands. */
  programs: readonly string[];
}

const GIT = ["git status", "git log"];
const words = (text: string): string[] => text.split(" ");
const BOTH = words("echo ls cat find sort printf test grep make sed");
const RULES = [
  ...BOTH,
  ...words("env xargs tar rg touch cd sudo eval bash time coproc command exec trap alias python3"),
  ...["python3 ok.py", "npm run", ...GIT, "git"],
];
const APPROVED = [...BOTH, ...words("touch true tar rg head"), "cd sub", "npm run build", ...GIT];
const READ_ONLY = [
  ...words("ls cat head tail wc pwd echo printf stat du df id which true false cut tr diff cmp"),
  ...words(
    "seq sleep test nl tac rev fold ps free jq comm paste od grep type exit : cd rg find sort uniq date file tree",
  ),
  ...GIT,
];

const decides = (policy: Partial<Policy>) => (request: ShellRequest) =>
  decide(request, { ...askForAll, ...policy }).type === "allow";
const requestOf = (line: string): ShellRequest => shellRequest(line, { intention: "", toolCallId: "" });

export const JUDGES: readonly Judge[] = [
  ...RULES.flatMap((rule) =>
    [`shell(${rule})`, `shell(${rule}:*)`].map((name) => ({
      name,
      allows: decides({ approved: [parseRule(name)] }),
      programs: [rule],
    })),
  ),
  {
    name: "standing approvals",
    allows: decides({
      approvals: [{ approval: { kind: "commands", commandIdentifiers: APPROVED }, scope: "session" }],
    }),
    programs: APPROVED,
  },
  { name: "read-only", allows: (request) => changesSomething(request) === undefined, programs: READ_ONLY },
];

export interface Found {
  line: string;
  judge: string;
  what: string;
}

export interface Report {
  generated: number;
  run: number;
  found: Found[];
}

const BATCH = 500;

/** Generates lines until so many that somebody allows have run. */
export async function fuzz({
  seed,
  runs,
  judges = JUDGES,
  onBatch,
}: {
  seed: number;
  runs: number;
  judges?: readonly Judge[];
  onBatch?: (report: Report) => void;
}): Promise<Report> {
  await loadGrammar();
  const random = new Random(seed);
  const report: Report = { generated: 0, run: 0, found: [] };
  const root = mkdtempSync(path.join(tmpdir(), "retinue-shell-fuzz-"));
  try {
    while (report.run < runs) {
      const batch: { line: string; by: Judge[] }[] = [];
      while (batch.length < Math.min(BATCH, runs - report.run)) {
        const line = anyLine(random);
        report.generated++;
        const request = requestOf(line);
        const by = judges.filter((judge) => judge.allows(request));
        // No argument of a program can hold a NUL, so such a line never runs.
        if (by.length > 0 && !line.includes("\0")) batch.push({ line, by });
      }
      report.found.push(...(await judged(batch, root)));
      report.run += batch.length;
      onBatch?.(report);
    }
    return report;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function judged(batch: readonly { line: string; by: readonly Judge[] }[], root: string): Promise<Found[]> {
  const ran = await runLines(
    batch.map(({ line }) => line),
    root,
  );
  return batch.flatMap(({ line, by }, index) =>
    by.flatMap((judge) => {
      const what = bypass(judge, ran[index]);
      return what === undefined ? [] : [{ line, judge: judge.name, what }];
    }),
  );
}

/** What ran that is not named. */
export function bypass({ programs, name }: Judge, ran: Ran | undefined): string | undefined {
  if (!ran) return "it did not run";
  const named = new Set(programs.map((program) => program.split(" ")[0] ?? ""));
  if (named.has("test")) named.add("[");
  if (named.has("xargs")) named.add("echo"); // What it runs when nothing is named.
  const other = ran.programs.find((program) => !named.has(program.name) || !isNamedGit(program, programs));
  if (other) return `${other.name} ${other.first}`;
  const traced = ran.traced.find((word) => !named.has(word) && word !== "for");
  if (traced !== undefined) return `traced ${traced}`;
  return ran.hasWritten && !name.includes("sed") ? "a file was written" : undefined;
}

function isNamedGit({ name, first }: { name: string; first: string }, programs: readonly string[]): boolean {
  return name !== "git" || programs.includes("git") || programs.includes(`git ${first}`);
}

async function main(): Promise<void> {
  const [runs = 20_000, seed = 1] = process.argv.slice(2).map(Number);
  let told = 0;
  const say = ({ generated, run, found }: Report) => {
    console.log(`${run} lines ran of ${generated} generated; ${found.length} bypasses`);
    for (const each of found.slice(told)) console.log(`${each.judge}: ${JSON.stringify(each.line)} ran ${each.what}`);
    told = found.length;
  };
  const report = await fuzz({ seed, runs, onBatch: say });
  process.exitCode = report.found.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
