/**
 * Proves delivery in the real harnesses: installs each from npm, connects it as a user would, lets it delegate, and looks at what its model
 * was asked. Apart from `npm test`: it needs the npm registry and some minutes.
 *
 *   npm run test:harness [-- claude-code codex] [--packages folder]
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as claudeCode from "./claude-code.ts";
import * as codex from "./codex.ts";
import { type Judgement, judge } from "./judge.ts";
import * as openclaw from "./openclaw.ts";
import * as opencode from "./opencode.ts";
import { openSandbox } from "./sandbox.ts";

const HARNESSES = { "claude-code": claudeCode, opencode, codex, openclaw };

const { values, positionals } = parseArgs({ options: { packages: { type: "string" } }, allowPositionals: true });
const packages = values.packages ?? mkdtempSync(join(tmpdir(), "retinue-packages-"));
mkdirSync(packages, { recursive: true });
const program = [process.execPath, fileURLToPath(new URL("../../bin/retinue.js", import.meta.url))];
const results: Judgement[] = [];
try {
  for (const [name, harness] of Object.entries(HARNESSES)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    process.stdout.write(`${name} ${harness.VERSION} …\n`);
    results.push(await prove(name, harness));
  }
} finally {
  if (values.packages === undefined) rmSync(packages, { recursive: true, force: true });
}
for (const { harness, checks } of results) {
  process.stdout.write(`\n${harness}\n`);
  for (const { what, ok, detail } of checks)
    process.stdout.write(`  ${ok ? "✓" : "✗"} ${what}${ok ? "" : `\n${detail}`}\n`);
}
process.exitCode = results.every(({ checks }) => checks.every(({ ok }) => ok)) ? 0 : 1;

async function prove(name: string, harness: (typeof HARNESSES)[keyof typeof HARNESSES]): Promise<Judgement> {
  const sandbox = openSandbox(program);
  try {
    const { model, ran } = await harness.run(sandbox, packages);
    try {
      return await judge({ harness: `${name} ${harness.VERSION}`, name, model, ran, sandbox });
    } finally {
      await model.close();
    }
  } catch (error) {
    return { harness: name, checks: [{ what: "ran", ok: false, detail: String(error) }] };
  } finally {
    await sandbox.remove();
  }
}
