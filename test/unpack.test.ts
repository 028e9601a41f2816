/** What the single executable does with the files that it carries, without building one. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pack, unpack } from "../scripts/unpack.cjs";

const archive = pack([
  { name: "dist/main.cjs", contents: Buffer.from("the bundle") },
  { name: "node_modules/rg/bin/rg", contents: Buffer.from("a program"), isProgram: true },
]);
let folder = "";
let cache = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "retinue-unpack-"));
  cache = path.join(folder, "cache/retinue");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (file: string) => statSync(file).mode & 0o777;

test("files come out as they went in, for their owner alone, and only programs can be run", () => {
  const at = unpack(archive, cache);
  expect(readFileSync(path.join(at, "dist/main.cjs"), "utf8")).toBe("the bundle");
  expect(modeOf(path.join(at, "dist/main.cjs"))).toBe(0o600);
  expect(modeOf(path.join(at, "node_modules/rg/bin/rg"))).toBe(0o700);
  for (const inside of [cache, at, path.join(at, "node_modules/rg")]) expect(modeOf(inside)).toBe(0o700);
});

test("a second start writes nothing", () => {
  const file = path.join(unpack(archive, cache), "dist/main.cjs");
  const { ino } = lstatSync(file);
  unpack(archive, cache);
  expect(lstatSync(file).ino).toBe(ino);
  expect(readdirSync(cache)).toHaveLength(1);
});

test.each([
  ["changed, with the same length", (file: string) => writeFileSync(file, "the-bundle")],
  ["removed", (file: string) => rmSync(file)],
  [
    "a link to somewhere else",
    (file: string) => {
      rmSync(file);
      writeFileSync(path.join(folder, "bundle"), "the bundle");
      symlinkSync(path.join(folder, "bundle"), file);
    },
  ],
])("a file that was %s is put back, and nothing is left beside it", (_, damage) => {
  const at = unpack(archive, cache);
  damage(path.join(at, "dist/main.cjs"));
  expect(unpack(archive, cache)).toBe(at);
  expect(lstatSync(path.join(at, "dist/main.cjs")).isFile()).toBe(true);
  expect(readFileSync(path.join(at, "dist/main.cjs"), "utf8")).toBe("the bundle");
  expect(readdirSync(cache)).toEqual([path.basename(at)]);
});

test("a folder that is a link, or that others can enter, is not trusted", () => {
  mkdirSync(path.dirname(cache), { recursive: true });
  symlinkSync(folder, cache);
  expect(() => unpack(archive, cache)).toThrow("nobody else can enter");
  rmSync(cache);
  mkdirSync(cache);
  chmodSync(cache, 0o755);
  expect(() => unpack(archive, cache)).toThrow("nobody else can enter");
});

test("another version has a folder of its own", () => {
  const other = pack([{ name: "dist/main.cjs", contents: Buffer.from("a newer bundle") }]);
  expect(unpack(other, cache)).not.toBe(unpack(archive, cache));
});
