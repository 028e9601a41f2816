import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readTextFile, readWholeTextFile } from "./text-file.ts";

let root: string;
let project: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-files-")));
  project = join(root, "project");
  mkdirSync(project);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (path: string, text: string): string => {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
};
const read = (name: string) => readTextFile(join(project, name), { maxBytes: 100, within: project })?.text;

describe("a file of a project", () => {
  test("is read, also by a link to another file of the same kind in it", () => {
    put(join(project, "docs/AGENTS.md"), "hello");
    symlinkSync("docs/AGENTS.md", join(project, "CLAUDE.md"));
    expect(read("docs/AGENTS.md")).toBe("hello");
    expect(read("CLAUDE.md")).toBe("hello");
    expect(read("missing.md")).toBeUndefined();
    expect(read("docs/AGENTS.md/below.md")).toBeUndefined();
  });

  test.each([
    [
      "a link out of the project",
      (file: string) => symlinkSync(put(join(root, "out.md"), "x"), file),
      "leads out of the project",
    ],
    [
      "a link to a folder whose name begins like the project's",
      (file: string) => symlinkSync(put(join(root, "project-2/out.md"), "x"), file),
      "leads out",
    ],
    ["a link to a device", (file: string) => symlinkSync("/dev/zero", file), "leads out of the project"],
    ["a link into .git", (file: string) => symlinkSync(put(join(project, ".git/x.md"), "x"), file), "into .git"],
    [
      "a link to a file of another kind",
      (file: string) => symlinkSync(put(join(project, ".env"), "x"), file),
      "another kind",
    ],
    ["a link to itself", (file: string) => symlinkSync(file, file), "ELOOP"],
    ["a link that leads nowhere", (file: string) => symlinkSync("gone.md", file), "leads nowhere"],
    ["a named pipe", (file: string) => execFileSync("mkfifo", [file]), "a named pipe"],
    ["a folder", (file: string) => mkdirSync(file), "a folder"],
  ])("is refused when it is %s", (_, make, why) => {
    make(join(project, "AGENTS.md"));
    expect(() => read("AGENTS.md")).toThrow(why);
  });

  test("is refused when a folder above it is a link out of the project", () => {
    put(join(root, "out/AGENTS.md"), "x");
    symlinkSync(join(root, "out"), join(project, "docs"));
    expect(() => read("docs/AGENTS.md")).toThrow("leads out of the project");
  });

  test("is refused when it is a socket", async () => {
    const server = createServer().listen(join(project, "s.md"));
    await new Promise((resolve) => server.once("listening", resolve));
    expect(() => read("s.md")).toThrow("a socket");
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("a file that is too large", () => {
  test("is read up to the limit, however large it is", () => {
    truncateSync(put(join(project, "huge.md"), ""), 5 * 1024 * 1024 * 1024);
    expect(readTextFile(join(project, "huge.md"), { maxBytes: 100 })).toEqual({ text: "\0".repeat(100), isCut: true });
    expect(() => readWholeTextFile(join(project, "huge.md"), { maxBytes: 100 })).toThrow("larger than 100 bytes");
  });

  test("is one that has a byte more than the limit", () => {
    expect(readTextFile(put(join(project, "a.md"), "a".repeat(100)), { maxBytes: 100 })?.isCut).toBe(false);
    expect(readTextFile(put(join(project, "b.md"), "a".repeat(101)), { maxBytes: 100 })?.isCut).toBe(true);
  });
});

test("a file that the host names may be a link, but never a device", () => {
  symlinkSync(put(join(root, "out.md"), "x"), join(project, "in.md"));
  symlinkSync("/dev/zero", join(project, "zero.md"));
  expect(readTextFile(join(project, "in.md"), { maxBytes: 100 })?.text).toBe("x");
  expect(() => readTextFile(join(project, "zero.md"), { maxBytes: 100 })).toThrow("a device");
});
