/** A part of the fuzz of shell rules, always with the same lines; `npm run fuzz:shell` runs all of it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { bypass, fuzz, type Judge } from "./shell-fuzz.ts";
import { runLines } from "./shell-oracle.ts";

const RUNS = 300;

test("no line that is allowed runs a command that is not named, or writes a file", async () => {
  const report = await fuzz({ seed: 7, runs: RUNS });
  expect(report.found).toEqual([]);
  expect(report.run).toBe(RUNS);
  expect(report.generated).toBeGreaterThan(1500); // Most lines are not allowed; otherwise nothing is tried.
});

test("what runs is seen, however it is hidden", async () => {
  const judge: Judge = { name: "shell(ls)", allows: () => true, programs: ["ls"] };
  const hidden: [line: string, what: string][] = [
    ["ls $(evil)", "evil "],
    ["ls & evil &", "evil "],
    ["trap evil EXIT; ls", "evil "],
    ["PATH=./evilbin; ls", "evil "],
    ["env -i ./evil.sh; ls", "env -i"],
    ["{ eval :; } 2>/dev/null", "traced eval"],
    ["X=1", "traced X=1"],
    ["ls > out1", "a file was written"],
  ];
  const root = mkdtempSync(path.join(tmpdir(), "retinue-shell-oracle-"));
  try {
    const ran = await runLines(
      hidden.map(([line]) => line),
      root,
    );
    expect(ran.map((each) => bypass(judge, each))).toEqual(hidden.map(([, what]) => what));
    const [plain] = await runLines(["ls -l | ls"], root);
    expect(plain?.programs).toHaveLength(2);
    expect(bypass(judge, plain)).toBeUndefined();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
