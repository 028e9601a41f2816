import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkedPath, isOpenAt, isUnreadable, linkOf, openChecked, openCheckedSync } from "./checked-path.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "checked-")));
  mkdirSync(join(root, "a"));
  mkdirSync(join(root, "b"));
  writeFileSync(join(root, "a/file"), "in a");
  writeFileSync(join(root, "b/file"), "in b");
});
afterEach(() => rmSync(root, { recursive: true }));

const at = (name: string) => join(root, name);

test("a path leads through every link on its way, also to what is not there yet", () => {
  symlinkSync("a", at("link"));
  symlinkSync("../b/new", at("a/away"));
  expect(linkOf(checkedPath(at("a/file")))).toBeUndefined();
  expect(linkOf(checkedPath(at("link/file")))).toBe(at("a/file"));
  expect(linkOf(checkedPath(at("link/none/deeper")))).toBe(at("a/none/deeper"));
  expect(linkOf(checkedPath(at("link/away")))).toBe(at("b/new"));
});

test("what is checked can be opened, through a link too", async () => {
  symlinkSync(at("a/file"), at("link"));
  await using file = await openChecked(checkedPath(at("link")));
  expect(await file.readFile("utf8")).toBe("in a");
});

test.each(["the file", "its folder"])("%s replaced by a link is not opened", async (what) => {
  const checked = checkedPath(at("a/file"));
  const replaced = what === "the file" ? "a/file" : "a";
  renameSync(at(replaced), at("kept"));
  symlinkSync(at(replaced.replace("a", "b")), at(replaced));
  await expect(openChecked(checked)).rejects.toThrow("leads elsewhere");
  expect(() => openCheckedSync(checked, constants.O_RDONLY)).toThrow("leads elsewhere");
});

test("an open file is known by where it is, not by where it was asked for", () => {
  symlinkSync(at("b"), at("c"));
  const file = openSync(at("c/file"), "r");
  try {
    expect(isOpenAt(file, at("b/file"))).toBe(true);
    expect(isOpenAt(file, at("c/file"))).toBe(false);
    expect(isOpenAt(file, at("a/file"))).toBe(false);
  } finally {
    closeSync(file);
  }
});

test("a path is unreadable when it, or where it leads, is below a denied one", () => {
  symlinkSync("a", at("link"));
  expect(isUnreadable(checkedPath(at("link/file")), [at("a")])).toBe(true);
  expect(isUnreadable(checkedPath(at("link/file")), [at("LINK")])).toBe(true);
  expect(isUnreadable(checkedPath(at("b/file")), [at("a")])).toBe(false);
});
