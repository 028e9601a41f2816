import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Diagnostics, logLevel } from "./diagnostics.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retinue-diagnostics-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const logs = () => (existsSync(join(home, "logs")) ? readdirSync(join(home, "logs")) : []);
const lines = () =>
  logs().flatMap((name) =>
    readFileSync(join(home, "logs", name), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  );

test("no log file exists before something is written", () => {
  const diagnostics = new Diagnostics({ home });
  diagnostics.write("info", "nothing of note");
  new Diagnostics({ home, level: "silent" }).write("error", "unheard");
  expect(logs()).toEqual([]);
});

test("entries at or above the level are written, with their details, to one file of this process", async () => {
  const diagnostics = new Diagnostics({ home });
  diagnostics.write("debug", "small");
  diagnostics.write("warn", "odd", { sessionId: "s" });
  diagnostics.write("error", "broken");
  await expect.poll(() => lines().length === 2).toBe(true);
  expect(lines()).toMatchObject([{ msg: "odd", sessionId: "s" }, { msg: "broken" }]);
  expect(logs()).toEqual([expect.stringContaining(`-${process.pid}.log`)]);
});

test("a home that cannot be written to is not an error", async () => {
  writeFileSync(join(home, "logs"), "a file where the folder should be");
  const diagnostics = new Diagnostics({ home });
  expect(() => diagnostics.write("error", "broken")).not.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  expect(readFileSync(join(home, "logs"), "utf8")).toBe("a file where the folder should be");
});

test.each([
  ["none", "silent"],
  ["warning", "warn"],
  ["all", "debug"],
  ["info", "info"],
  ["default", "warn"],
  ["nonsense", "warn"],
  ["constructor", "warn"],
  [undefined, "warn"],
])("the flag %s means the level %s", (text, level) => {
  expect(logLevel(text)).toBe(level);
});
