import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noteOldNode } from "./old-node.ts";

const base = mkdtempSync(join(tmpdir(), "retinue-node-"));
process.once("exit", () => rmSync(base, { recursive: true, force: true }));

function noticesAt(
  home: string | undefined,
  options: { version?: string; day?: number; isScreen?: boolean } = {},
): number {
  const { version = "v20.19.0", day = 17, isScreen = true } = options;
  const lines: string[] = [];
  const terminal = { isScreen, note: (line: string) => void lines.push(line) };
  noteOldNode(terminal, { home, version, now: new Date(Date.UTC(2026, 10, day)) });
  return lines.length;
}

test("the notice about Node 20 comes once a day, on a screen, and only with Node 20", () => {
  const home = join(base, "new-home");
  expect(noticesAt(home, { version: "v22.12.0" })).toBe(0);
  expect(noticesAt(home, { isScreen: false })).toBe(0);
  expect([noticesAt(home), noticesAt(home), noticesAt(home)]).toEqual([1, 0, 0]);
  expect([noticesAt(home, { day: 18 }), noticesAt(home, { day: 18 })]).toEqual([1, 0]);
  expect(statSync(join(home, "node-notice")).mode & 0o777).toBe(0o600);
});

test("without a home, or with one that cannot be written to, the notice comes each time", () => {
  const file = join(base, "file");
  writeFileSync(file, "");
  expect([noticesAt(undefined), noticesAt(undefined), noticesAt(file), noticesAt(file)]).toEqual([1, 1, 1, 1]);
});
