import { mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { type InputStream, MAX_INPUT_BYTES } from "./piped-data.ts";
import { type PromptSources, readPrompt } from "./prompt-input.ts";
import { UsageError } from "./usage-error.ts";

const cwd = realpathSync(mkdtempSync(join(tmpdir(), "retinue-input-")));
process.once("exit", () => rmSync(cwd, { recursive: true, force: true }));
mkdirSync(join(cwd, "src"));
for (const name of ["src/main.ts", "a name.md", "notes.txt", "résumé.md"]) writeFileSync(join(cwd, name), "text");

writeFileSync(join(cwd, "big.png"), Buffer.alloc(5 * 1024 * 1024 + 1));

const nothing = () => Readable.from([]);
const read = (given: string | undefined, sources: Partial<PromptSources> = {}) =>
  readPrompt({ given, attach: [], isResumed: false, stdin: nothing(), cwd, ...sources });
const pathsOf = async (words: string) =>
  ((await read(words))?.attachments ?? []).map((each) => ("path" in each ? `${each.type} ${each.path}` : each.type));

test.each([
  ["explain @src/main.ts", [`file ${join(cwd, "src/main.ts")}`]],
  ["what is in @src?", [`directory ${join(cwd, "src")}`]],
  ["compare (@notes.txt) and @./src/main.ts.", [`file ${join(cwd, "notes.txt")}`, `file ${join(cwd, "src/main.ts")}`]],
  ['read @"a name.md" and @résumé.md, please', [`file ${join(cwd, "a name.md")}`, `file ${join(cwd, "résumé.md")}`]],
  ["twice @notes.txt @notes.txt", [`file ${join(cwd, "notes.txt")}`]],
  [`absolute @${join(cwd, "notes.txt")}`, [`file ${join(cwd, "notes.txt")}`]],
  ["mail ada@notes.txt about @types/node and @Component, @, @@notes.txt @nowhere.txt", []],
])("the words %j name what is there, and nothing else", async (words, paths) => {
  expect(await pathsOf(words)).toEqual(paths);
  expect((await read(words))?.text).toBe(words);
});

test("a word names no file outside the folder, not even through a link, unless --add-dir opens the place", async () => {
  const words = `read @/etc/passwd, @../ and @link.txt`;
  symlinkSync("/etc/passwd", join(cwd, "link.txt"));
  const outside: string[] = [];
  const onOutside = (path: string) => void outside.push(path);
  expect((await read(words, { onOutside }))?.attachments).toEqual([]);
  expect(outside).toEqual(["/etc/passwd", join(cwd, ".."), join(cwd, "link.txt")]);
  expect((await read(words, { folders: ["/etc"] }))?.attachments).toHaveLength(2);
});

test("a pipe that stays open and silent is given up after a while, and its reader is told", async () => {
  let isTold = false;
  const stdin = new PassThrough();
  const onSilence = () => {
    isTold = true;
  };
  expect(await read("go", { stdin, patienceMs: 5, onSilence })).toEqual({ text: "go", attachments: [] });
  expect(isTold).toBe(true);
  expect(await read(undefined, { stdin, patienceMs: 5, isResumed: true })).toBeUndefined();
});

test("a pipe that has begun is read to its end, however long that takes", async () => {
  const stdin = new PassThrough();
  stdin.write("first\n");
  const prompt = read("go", { stdin, patienceMs: 1000, onSilence: () => expect.unreachable() });
  await new Promise(setImmediate);
  stdin.end("last\n");
  expect(await prompt).toMatchObject({ data: "first\nlast\n" });
});

test("--attach - waits for the first byte without a limit", async () => {
  const stdin = new PassThrough();
  const prompt = read("go", { stdin, patienceMs: 0, attach: ["-"] });
  setTimeout(() => stdin.end("late"), 5);
  expect(await prompt).toMatchObject({ data: "late" });
});

test.each(["/dev/null", "/dev/zero"])("%s beside -p is not read", async (device) => {
  const stdin: InputStream = Object.assign(new PassThrough(), { fd: openSync(device, "r") });
  expect(await read("go", { stdin })).toEqual({ text: "go", attachments: [] });
});

test("a stdin that was closed, or is a terminal, holds nothing beside -p", async () => {
  const closed: InputStream = Object.assign(new PassThrough(), { fd: 9999 });
  expect(await read("go", { stdin: closed })).toEqual({ text: "go", attachments: [] });
  const screen: InputStream = Object.assign(new PassThrough(), { isTTY: true });
  expect(await read("go", { stdin: screen })).toEqual({ text: "go", attachments: [] });
  expect(await read(undefined, { stdin: screen, isResumed: true })).toBeUndefined();
});

test("an image on a pipe is an image of the prompt, and other binary data is refused", async () => {
  const png = Buffer.from("\x89PNG\r\n\x1a\n\0\0", "latin1");
  const [image] = (await read("what is it?", { stdin: Readable.from([png]) }))?.attachments ?? [];
  expect(image).toMatchObject({ type: "blob", mimeType: "image/png", data: png.toString("base64") });
  await expect(read("what?", { stdin: Readable.from([Buffer.from([1, 0, 255])]) })).rejects.toThrow(
    "neither text nor an image",
  );
  await expect(read("-", { stdin: Readable.from([png]) })).rejects.toThrow("cannot be the prompt");
});

test("more than any prompt can use is refused instead of filling the memory", async () => {
  const chunk = Buffer.alloc(MAX_INPUT_BYTES / 4, "a");
  const stdin = Readable.from([chunk, chunk, chunk, chunk, chunk]);
  await expect(read("go", { stdin })).rejects.toThrow("more than 32 MB");
});

test.each([
  [["nowhere.txt"], "go", `there is no file ${join(cwd, "nowhere.txt")}`],
  [["notes.txt/below"], "go", `there is no file ${join(cwd, "notes.txt/below")}`],
  [[""], "go", "there is no file"],
  [["/dev/null"], "go", "/dev/null is neither a file nor a folder"],
  [["big.png"], "go", "big.png is a picture of 5.0 MB; models are shown at most 5.0 MB"],
  [[], "look at @big.png", "big.png is a picture of 5.0 MB"],
  [["-"], "-", "standard input is the prompt already"],
  [["notes.txt"], undefined, "the prompt is empty"],
])("--attach %j with the prompt %j is wrong usage", async (attach, given, words) => {
  const wrong = read(given, { attach, isResumed: true });
  await expect(wrong).rejects.toThrow(words);
  await expect(wrong).rejects.toBeInstanceOf(UsageError);
});
