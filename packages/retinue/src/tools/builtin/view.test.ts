import { mkdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SmallWorld, smallWorld } from "../small-world.ts";
import { viewTool } from "./view.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let world: SmallWorld;
const view = viewTool();

beforeEach(() => {
  world = smallWorld();
});
afterEach(() => world.close());

describe("a text file", () => {
  test("comes back as it is, and its detail has line numbers", async () => {
    world.file("a.txt", "alpha\nbeta\ngamma\nbeta\n");
    const outcome = await world.call(view, { path: "a.txt" });
    expect(outcome.resultType).toBe("success");
    expect(outcome.text).toBe("alpha\nbeta\ngamma\nbeta\n");
    expect(outcome.detail).toContain("@@ -1,4 +1,4 @@\n alpha\n");
  });

  test("is read in part with view_range, also to the end and past it", async () => {
    world.file("a.txt", "1\n2\n3\n4\n");
    const text = async (view_range: number[]) => (await world.call(view, { path: "a.txt", view_range })).text;
    expect(await text([2, 3])).toBe("2\n3");
    expect(await text([3, -1])).toBe("3\n4");
    expect(await text([3, 99])).toBe("3\n4");
  });

  test.each([[[20, 30]], [[0, 1]], [[3, 2]], [[-2, -1]]])("is not read for the range %j", async (view_range) => {
    world.file("a.txt", "1\n2\n3\n4\n");
    const outcome = await world.call(view, { path: "a.txt", view_range });
    expect(outcome).toMatchObject({ resultType: "failure", error: "view_range out of bounds" });
  });

  test("an empty file is an empty text, also for a range from its first line", async () => {
    world.file("empty", "");
    expect((await world.call(view, { path: "empty" })).text).toBe("");
    expect((await world.call(view, { path: "empty", view_range: [1, -1] })).text).toBe("");
  });

  test("too large to read at once, it says its size; a part and force still read it", async () => {
    world.file("big.txt", "0123456789\n".repeat(12_000));
    const refused = await world.call(view, { path: "big.txt" });
    expect(refused.resultType).toBe("success");
    expect(refused.text).toContain("File too large to read at once (128.9 KB).");
    expect((await world.call(view, { path: "big.txt", view_range: [1, 2] })).text).toBe("0123456789\n0123456789");
    expect((await world.call(view, { path: "big.txt", view_range: [1, -1] })).text).toContain("too large");
    const forced = await world.call(view, { path: "big.txt", forceReadLargeFiles: true });
    expect(forced.text).toHaveLength(132_000);
  });

  test("a range deep in a file of 5 MB is read", async () => {
    world.file("huge.txt", "0123456789\n".repeat(500_000));
    expect((await world.call(view, { path: "huge.txt", view_range: [499_999, 500_000] })).text).toBe(
      "0123456789\n0123456789",
    );
  });

  test("unicode is read as it is", async () => {
    world.file("ü 漢.txt", "🎉 ünïcode\r\n");
    expect((await world.call(view, { path: "ü 漢.txt" })).text).toBe("🎉 ünïcode\r\n");
  });
});

describe("other things", () => {
  test("a folder is the names in it, sorted", async () => {
    world.file("b.txt", "");
    world.file("dir/c.txt", "");
    world.file(".hidden", "");
    expect((await world.call(view, { path: "." })).text).toBe(".hidden\nb.txt\ndir");
  });

  test("an empty folder says so", async () => {
    expect((await world.call(view, { path: world.folder })).text).toBe("The folder is empty.");
  });

  test("an image comes as a binary result, whatever its name", async () => {
    world.file("px.dat", Buffer.from(PIXEL, "base64"));
    const outcome = await world.call(view, { path: "px.dat" });
    expect(outcome.binary).toMatchObject([{ type: "image", mimeType: "image/png", data: PIXEL }]);
  });

  test("a binary file is refused with its size", async () => {
    world.file("x.bin", Buffer.from([1, 0, 2]));
    expect(await world.call(view, { path: "x.bin" })).toMatchObject({
      resultType: "failure",
      text: expect.stringContaining("binary"),
    });
  });

  test("a missing path fails after the permission, which it asks for as any other", async () => {
    expect(await world.permission(view, { path: "nope" })).toMatchObject({
      kind: "read",
      path: path.join(world.folder, "nope"),
    });
    expect(await world.call(view, { path: "nope" })).toMatchObject({
      resultType: "failure",
      error: "Path does not exist",
    });
  });

  test.each(["a.txt/below", "x".repeat(5000), "nul\0"])(
    "a path that cannot be does not exist: %j",
    async (impossible) => {
      world.file("a.txt", "");
      expect(await world.call(view, { path: impossible })).toMatchObject({ error: "Path does not exist" });
    },
  );

  test("a device is not read", async () => {
    expect((await world.call(view, { path: "/dev/zero" })).resultType).toBe("failure");
  });

  test("no path at all is an error about the argument", async () => {
    expect(await world.call(view, {})).toMatchObject({ resultType: "failure", text: '"path": Required' });
  });
});

describe("permission", () => {
  test("names the absolute path, with .. and ~ resolved", async () => {
    mkdirSync(path.join(world.folder, "dir"));
    expect(await world.permission(view, { path: "dir/../../x" })).toMatchObject({
      path: path.join(world.folder, "..", "x"),
    });
    expect(await world.permission(view, { path: "~/x" })).toMatchObject({ path: path.join(homedir(), "x") });
    expect(await world.permission(view, { path: "dir" })).toEqual({
      kind: "read",
      toolCallId: "call_1",
      path: path.join(world.folder, "dir"),
      resolvedPath: undefined,
      intention: `List directory: ${path.join(world.folder, "dir")}`,
    });
  });

  test("names where a link leads, also for a file that is not there yet", async () => {
    symlinkSync("/etc", path.join(world.folder, "link"));
    expect(await world.permission(view, { path: "link/hostname" })).toMatchObject({
      path: path.join(world.folder, "link/hostname"),
      resolvedPath: "/etc/hostname",
    });
    expect(await world.permission(view, { path: "link/not/there" })).toMatchObject({ resolvedPath: "/etc/not/there" });
  });
});
