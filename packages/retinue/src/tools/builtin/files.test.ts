import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SmallWorld, smallWorld } from "../small-world.ts";
import { createTool } from "./create.ts";
import { editTool } from "./edit.ts";

const create = createTool();
const edit = editTool();
let world: SmallWorld;
beforeEach(() => {
  world = smallWorld();
});
afterEach(() => world.close());
const at = (name: string) => path.join(world.folder, name);
const content = (name: string) => readFileSync(at(name), "utf8");

describe("create", () => {
  test("writes the file, announces it, and shows a diff", async () => {
    const outcome = await world.call(create, { path: "new.txt", file_text: "n1\nn2\n" });
    expect(outcome.text).toBe(`Created ${at("new.txt")} (6 characters).`);
    expect(outcome.detail).toContain("@@ -0,0 +1,2 @@\n+n1\n+n2\n");
    expect(content("new.txt")).toBe("n1\nn2\n");
    expect(world.announced).toEqual([
      { type: "session.info", data: { infoType: "file_created", message: at("new.txt") } },
    ]);
  });

  test("asks for permission with the whole content", async () => {
    expect(await world.permission(create, { path: "d/../new.txt", file_text: "x" })).toMatchObject({
      kind: "write",
      toolCallId: "call_1",
      intention: "Create file",
      fileName: at("new.txt"),
      newFileContents: "x",
      canOfferSessionApproval: true,
    });
  });

  test("what is there already is refused before anybody is asked, also a link that leads nowhere", async () => {
    world.file("old.txt", "old");
    symlinkSync("/nowhere", at("link"));
    for (const name of ["old.txt", "link", "."]) {
      await expect(world.permission(create, { path: name, file_text: "x" })).rejects.toThrow("Path already exists");
    }
    expect(content("old.txt")).toBe("old");
  });

  test("what has appeared between the permission and the call is not overwritten", async () => {
    const { run } = await create.prepare({ path: "late.txt", file_text: "mine" }, world.context);
    world.file("late.txt", "theirs");
    expect(await run()).toMatchObject({ resultType: "failure", error: "Path already exists" });
    expect(content("late.txt")).toBe("theirs");
  });

  test("a missing folder is refused, and so is a file in its place", async () => {
    world.file("plain", "");
    for (const name of ["no/such/dir/f.txt", "plain/f.txt", "plain/x/f.txt", `${"x/".repeat(5000)}f`, "nul\0/f"]) {
      expect(await world.call(create, { path: name, file_text: "x" })).toMatchObject({
        error: "Parent directory does not exist",
      });
    }
    expect(await world.call(create, { path: `${"x/".repeat(50_000)}f`, file_text: "x" })).toMatchObject({
      error: "The path is too long: 100001 characters, and at most 32768 bytes are taken.",
    });
  });

  test("missing arguments are all named", async () => {
    expect((await world.call(create, {})).text).toBe(
      'Multiple validation errors: "path": Required, "file_text": Required',
    );
  });

  test("a folder behind a link is named in the permission", async () => {
    symlinkSync("/var", at("link"));
    expect(await world.permission(create, { path: "link/retinue-test.txt", file_text: "x" })).toMatchObject({
      resolvedPath: "/var/retinue-test.txt",
    });
  });
});

describe("edit", () => {
  test("replaces the one match and shows a diff", async () => {
    world.file("a.txt", "alpha\nbeta\ngamma\n");
    const outcome = await world.call(edit, { path: "a.txt", old_str: "alpha", new_str: "ALPHA" });
    expect(outcome.text).toBe(`Edited ${at("a.txt")} (lines removed: 1, added: 1).`);
    expect(outcome.detail).toContain("-alpha\n+ALPHA\n beta\n");
    expect(content("a.txt")).toBe("ALPHA\nbeta\ngamma\n");
  });

  test("asks for permission with the diff and the new content", async () => {
    world.file("a.txt", "alpha\n");
    expect(await world.permission(edit, { path: "a.txt", old_str: "alpha", new_str: "$& $1" })).toMatchObject({
      kind: "write",
      intention: "Edit file",
      fileName: at("a.txt"),
      newFileContents: "$& $1\n",
    });
    expect(content("a.txt")).toBe("alpha\n");
  });

  test("without new_str the piece is deleted", async () => {
    world.file("a.txt", "one two three");
    await world.call(edit, { path: "a.txt", old_str: " two" });
    expect(content("a.txt")).toBe("one three");
  });

  test("a long text is replaced where it stands, and refused in words when it stands in too many places to count", async () => {
    const half = "a".repeat(50_000);
    world.file("a.txt", `${"a".repeat(150_000)}\nx${half}b${half}y`);
    await world.call(edit, { path: "a.txt", old_str: `x${half}b${half}`, new_str: "z" });
    expect(content("a.txt").slice(150_000)).toBe("\nzy");
    const outcome = await world.call(edit, { path: "a.txt", old_str: half, new_str: "z" });
    expect(outcome.text).toContain("more than 1000 times, at lines 1,");
  });

  test("no match and several matches are refused before anybody is asked", async () => {
    world.file("a.txt", "x\nbeta\ny\nbeta beta\n");
    await expect(world.permission(edit, { path: "a.txt", old_str: "zzz", new_str: "y" })).rejects.toThrow(
      "No match found",
    );
    const outcome = await world.call(edit, { path: "a.txt", old_str: "beta", new_str: "y" });
    expect(outcome).toMatchObject({ resultType: "failure", error: "Multiple matches found" });
    expect(outcome.text).toContain("3 times, at lines 2, 4, 4.");
  });

  test("matches that overlap are several", async () => {
    world.file("a.txt", "aaa");
    expect(await world.call(edit, { path: "a.txt", old_str: "aa", new_str: "b" })).toMatchObject({
      error: "Multiple matches found",
    });
  });

  test("a missing file is the system's own error", async () => {
    const outcome = await world.call(edit, { path: "nope.txt", old_str: "a", new_str: "b" });
    expect(outcome.text).toBe(`ENOENT: no such file or directory, open '${at("nope.txt")}'`);
  });

  test("an empty old_str fills an empty file and no other", async () => {
    world.file("empty", "");
    world.file("full", "x");
    await world.call(edit, { path: "empty", old_str: "", new_str: "text" });
    expect(content("empty")).toBe("text");
    expect(await world.call(edit, { path: "full", new_str: "text" })).toMatchObject({ error: "No match found" });
  });

  test("two edits that were prepared together are both in the file", async () => {
    world.file("a.txt", "one\ntwo\n");
    const first = await edit.prepare({ path: "a.txt", old_str: "one", new_str: "1" }, world.context);
    const second = await edit.prepare({ path: "a.txt", old_str: "two", new_str: "2" }, world.context);
    await Promise.all([first.run(), second.run()]);
    expect(content("a.txt")).toBe("1\n2\n");
  });

  test("a file with \\r\\n is matched by \\n and keeps its own", async () => {
    world.file("dos.txt", "one\r\ntwo\r\nthree\r\n");
    await world.call(edit, { path: "dos.txt", old_str: "one\ntwo", new_str: "1\n2" });
    expect(content("dos.txt")).toBe("1\r\n2\r\nthree\r\n");
  });

  test("unicode, the mode and a link to the file survive", async () => {
    world.file("real.sh", "echo 漢 🎉\n");
    chmodSync(at("real.sh"), 0o755);
    symlinkSync("real.sh", at("link.sh"));
    await world.call(edit, { path: "link.sh", old_str: "🎉", new_str: "ü" });
    expect(content("real.sh")).toBe("echo 漢 ü\n");
    expect(statSync(at("real.sh")).mode & 0o777).toBe(0o755);
  });

  test("a file that is not UTF-8 is left alone", async () => {
    world.file("latin1.txt", Buffer.from([0x61, 0xe9, 0x62]));
    expect((await world.call(edit, { path: "latin1.txt", old_str: "a", new_str: "b" })).text).toContain("not a UTF-8");
  });

  test("a folder is refused with the system's reason", async () => {
    mkdirSync(at("dir"));
    expect((await world.call(edit, { path: "dir", old_str: "a" })).text).toContain("EISDIR");
  });
});
