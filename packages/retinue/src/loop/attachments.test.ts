import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { describeAttachments as describeWithin, withImages as imagesWithin } from "./attachments.ts";

const folder = mkdtempSync(join(tmpdir(), "retinue-attachments-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Attachments = Parameters<typeof describeWithin>[0];
const limits = (...denied: string[]) => ({
  workingDirectory: folder,
  unreadable: denied.map((name) => join(realpathSync(folder), name)),
});
const describeAttachments = (attachments: Attachments) => describeWithin(attachments, limits());
const withImages = (attachments: Attachments) => imagesWithin(attachments, limits());

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
function file(name: string, content: string | Buffer): { type: "file"; path: string } {
  writeFileSync(join(folder, name), content);
  return { type: "file", path: join(folder, name) };
}

test("files and folders are named with their size after the prompt, and a missing one with its error", async () => {
  mkdirSync(join(folder, "sub"), { recursive: true });
  const text = file("a.txt", "12345");
  const missing = { type: "file" as const, path: join(folder, "none") };
  const { before, after } = await describeAttachments([
    text,
    { type: "directory", path: join(folder, "sub") },
    missing,
    { type: "blob", mimeType: "image/png", displayName: "shot.png" },
  ]);
  expect(before).toBeUndefined();
  expect(after?.split("\n")).toEqual([
    "<tagged_files>",
    `* ${text.path} (5 bytes)`,
    `* ${join(folder, "sub")}/ (folder)`,
    expect.stringMatching(/none \(error: ENOENT/),
    "* shot.png (image/png)",
    "</tagged_files>",
  ]);
});

test("a selection comes before the prompt, with line numbers that start at 1", async () => {
  const selection = { start: { line: 2, character: 0 }, end: { line: 4, character: 1 } };
  const { before, after } = await describeAttachments([
    { type: "selection", filePath: "/x.ts", text: "code", selection },
  ]);
  expect(before).toBe("<ide_selection>\n/x.ts lines 3-5\ncode\n</ide_selection>");
  expect(after).toBeUndefined();
  expect((await describeAttachments([{ type: "selection", filePath: "/x.ts" }])).before).toContain("/x.ts\n");
});

test("attachments without text for the model add nothing, and neither does an empty list", async () => {
  const nothing = { before: undefined, after: undefined };
  expect(await describeAttachments([])).toEqual(nothing);
  expect(await describeAttachments([{ type: "extension_context", title: "t" }])).toEqual(nothing);
});

test("an image file is read with its bytes and their actual type, whatever its name says", async () => {
  const [image] = await withImages([file("shot.JPG", PNG)]);
  expect(image).toEqual({
    type: "blob",
    mimeType: "image/png",
    data: PNG.toString("base64"),
    displayName: join(folder, "shot.JPG"),
  });
});

test("a file that is no image, cannot be read or is too large stays a file", async () => {
  const files = [
    file("text.png", "no image"),
    file("notes.txt", PNG),
    file("large.png", Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)])),
    { type: "file" as const, path: join(folder, "none.png") },
    { type: "directory" as const, path: folder },
  ];
  expect(await withImages(files)).toEqual(files);
});

test("what a rule denies to read is named and not read, through a link too, whatever kind of attachment it is", async () => {
  mkdirSync(join(folder, "hidden"), { recursive: true });
  const inside = file("hidden/shot.png", PNG);
  symlinkSync(join(folder, "hidden"), join(folder, "way"));
  const linked = { type: "file" as const, path: join(folder, "way/shot.png") };
  const relative = { type: "file" as const, path: "hidden/shot.png" };
  const all = [inside, linked, relative, { type: "directory" as const, path: join(folder, "way") }];
  expect(await imagesWithin(all, limits("hidden"))).toEqual(all);
  expect((await imagesWithin(all, limits("other"))).map(({ type }) => type)).toEqual([
    "blob",
    "blob",
    "blob",
    "directory",
  ]);
  const selection = { type: "selection" as const, filePath: linked.path, text: "the secret" };
  const { before, after } = await describeWithin([...all, selection], limits("HIDDEN"));
  expect(after?.match(/not read: a rule denies reading it/g)).toHaveLength(4);
  expect(after).not.toMatch(/bytes|folder\)/);
  expect(before).toContain(`${linked.path}\n(not read`);
  expect(before).not.toContain("the secret");
});
