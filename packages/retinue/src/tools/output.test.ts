import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { boundOutput, sizeOf } from "./output.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "output-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("what fits is passed on as it is, and no file is made", () => {
  const tempFolder = path.join(folder, "not-made");
  expect(boundOutput("short", { tempFolder, name: "grep" })).toEqual({ text: "short" });
  expect(existsSync(tempFolder)).toBe(false);
});

test("what does not fit is kept whole in a file that the text names, with head and tail shown", () => {
  const long = `begin ${"x".repeat(60_000)} end`;
  const { text, file } = boundOutput(long, { tempFolder: folder, name: "grep" });
  expect(text).toContain(`Output too large to read at once (58.6 KB). Saved to: ${file}`);
  expect(text).toContain("begin xxx");
  expect(text.endsWith("xxx end")).toBe(true);
  expect(text.length).toBeLessThan(6000);
  expect(readFileSync(String(file), "utf8")).toBe(long);
});

test("the bound counts bytes, not characters", () => {
  expect(boundOutput("漢".repeat(10), { maxBytes: 29, tempFolder: folder, name: "x" }).file).toBeDefined();
  expect(boundOutput("漢".repeat(10), { maxBytes: 30, tempFolder: folder, name: "x" }).file).toBeUndefined();
});

test("a file that has the output already is named, and nothing is written", () => {
  const saved = { file: "/logs/shell.log", bytes: 10_000_000 };
  const { text, file } = boundOutput("a part ".repeat(10_000), {
    tempFolder: path.join(folder, "no"),
    name: "bash",
    saved,
  });
  expect(file).toBe("/logs/shell.log");
  expect(text).toContain("(9.5 MB). Saved to: /logs/shell.log");
  expect(existsSync(path.join(folder, "no"))).toBe(false);
});

test("a cut never leaves half a character", () => {
  const { text } = boundOutput("🎉".repeat(20_000), { tempFolder: folder, name: "x" });
  expect(Buffer.from(text).toString()).toBe(text);
});

test("sizes are in KB below a megabyte", () => {
  expect([sizeOf(512), sizeOf(1024 * 1023), sizeOf(1024 * 1024)]).toEqual(["0.5 KB", "1023.0 KB", "1.0 MB"]);
});
