import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  addCheckpoint,
  createFolder,
  cutCheckpoints,
  fileInside,
  listCheckpoints,
  listFiles,
  planPath,
  readCheckpoint,
  readPlan,
  removeFolder,
  sessionFolder,
} from "./folder.ts";

const home = mkdtempSync(join(tmpdir(), "retinue-folder-"));
afterAll(() => rmSync(home, { recursive: true }));

function newFolder(id: string): string {
  const folder = sessionFolder(home, id);
  createFolder(folder);
  return folder;
}

test.each(["../secret", "..", "/etc/passwd", "a/../../secret", ""])("the path %j leads out and is refused", (path) => {
  expect(() => fileInside("/home/session", path)).toThrow(/outside the session's files/);
});

test.each(["a.md", "a/b.md", "..hidden", "a/../b.md"])("the path %j stays inside", (path) => {
  expect(fileInside("/home/session", path)).toBe(join("/home/session/files", path));
});

test("a link that leads out is refused, also as a folder on the way and when nothing is there yet", () => {
  const folder = newFolder("links");
  symlinkSync(home, join(folder, "files", "out"));
  symlinkSync(join(home, "not-there"), join(folder, "files", "dangling"));
  symlinkSync("b.md", join(folder, "files", "a.md"));
  for (const path of ["out", "out/x.md", "dangling"]) {
    expect(() => fileInside(folder, path)).toThrow(/outside the session's files/);
  }
  expect(fileInside(folder, "a.md")).toBe(join(folder, "files", "a.md"));
});

test("files are listed from every depth, sorted, and folders are not", () => {
  const folder = newFolder("files");
  createFolder(join(folder, "files", "deep"));
  writeFileSync(join(folder, "files", "z.md"), "");
  writeFileSync(join(folder, "files", "deep", "a.md"), "");
  expect(listFiles(folder)).toEqual([join("deep", "a.md"), "z.md"]);
  expect(listFiles(join(home, "nowhere"))).toEqual([]);
});

test("checkpoints are numbered in order, and each is read back by its number", () => {
  const folder = newFolder("checkpoints");
  expect(listCheckpoints(folder)).toEqual([]);
  const first = addCheckpoint(folder, { title: "Fix the | lock\nfile", content: "one" });
  const second = addCheckpoint(folder, { title: "¿?", content: "two" });
  expect([first.filename, second.filename]).toEqual(["001-fix-the-lock-file.md", "002-session.md"]);
  expect(listCheckpoints(folder)).toEqual([
    { number: 1, title: "Fix the / lock file", filename: first.filename },
    { number: 2, title: "¿?", filename: second.filename },
  ]);
  expect(readCheckpoint(folder, 2)).toBe("two");
  expect(readCheckpoint(folder, 3)).toBeUndefined();
});

test("a long title makes a file name of limited length", () => {
  const { path } = addCheckpoint(newFolder("long"), { title: "word ".repeat(500), content: "x" });
  expect(existsSync(path)).toBe(true);
});

test("cutting keeps the first checkpoints, deletes the files of the rest, and numbering goes on from there", () => {
  const folder = newFolder("cut");
  cutCheckpoints(folder, 0);
  const all = ["one", "two", "three"].map((title) => addCheckpoint(folder, { title, content: title }));
  cutCheckpoints(folder, 1);
  expect(all.map(({ path }) => existsSync(path))).toEqual([true, false, false]);
  expect(listCheckpoints(folder)).toHaveLength(1);
  expect(addCheckpoint(folder, { title: "new", content: "new" }).number).toBe(2);
});

test("a plan is read when there is one, and deleting the folder deletes it", () => {
  const folder = newFolder("plan");
  expect(readPlan(folder)).toBeUndefined();
  writeFileSync(planPath(folder), "# Plan");
  expect(readPlan(folder)).toBe("# Plan");
  removeFolder(folder);
  expect(existsSync(folder)).toBe(false);
});
