/** What a prompt may carry: files, folders, selections and images. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

/** A red dot. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

let world: World;
let file: string;
let image: string;
beforeAll(async () => {
  world = await startClient();
  file = path.join(world.folder, "notes.txt");
  image = path.join(world.folder, "dot.png");
  await writeFile(file, "the content of the notes\n");
  await writeFile(image, Buffer.from(PNG, "base64"));
});
afterAll(() => world[Symbol.asyncDispose]());

const vision = { modelCapabilities: { supports: { vision: true } } };

test.each([
  ["file", () => file],
  ["directory", () => world.folder],
] as const)("a %s is named to the model after the prompt", async (type, where) => {
  await using talk = await openTalk(world);
  await talk.ask({ prompt: "look here", attachments: [{ type, path: where(), displayName: "the thing" }] });
  expect(talk.model.lastRequest.lastText).toMatch(/look here[\s\S]*<tagged_files>/);
  expect(talk.model.lastRequest.lastText).toContain(where());
  expect(talk.record.one("user.message").data.attachments).toMatchObject([{ type, displayName: "the thing" }]);
});

test("a selection is shown to the model with its text", async () => {
  await using talk = await openTalk(world);
  const selection = { start: { line: 1, character: 0 }, end: { line: 1, character: 11 } };
  await talk.ask({
    prompt: "explain",
    attachments: [{ type: "selection", filePath: file, displayName: "notes.txt", text: "the content", selection }],
  });
  expect(talk.model.lastRequest.lastText).toContain("the content");
  expect(talk.model.lastRequest.lastText).toContain("explain");
});

test("an image given as data reaches a model that can see", async () => {
  await using talk = await openTalk(world, vision);
  const blob = { type: "blob" as const, data: PNG, mimeType: "image/png", displayName: "dot" };
  await talk.ask({ prompt: "what is it?", attachments: [blob] });
  const content = talk.model.lastRequest.last?.content;
  const parts = Array.isArray(content) ? content : [];
  expect(parts.find(({ type }) => type === "image_url")?.image_url?.url).toMatch(/^data:image\/png;base64,/);
  expect(parts.map(({ text }) => text ?? "").join("\n")).toContain("what is it?");
});

test("an image file reaches a model that can see", async () => {
  await using talk = await openTalk(world, vision);
  await talk.ask({ prompt: "what is it?", attachments: [{ type: "file", path: image }] });
  expect(JSON.stringify(talk.model.lastRequest.last)).toContain("data:image/png;base64,");
});

// The other runtime sends images given as data to every model.
test.runIf(ours)("a model that cannot see is not sent the image", async () => {
  await using talk = await openTalk(world, { modelCapabilities: { supports: { vision: false } } });
  await talk.ask({ prompt: "what is it?", attachments: [{ type: "blob", data: PNG, mimeType: "image/png" }] });
  expect(JSON.stringify(talk.model.lastRequest.last)).not.toContain("data:image/png;base64,");
});

test("an image that view returns is shown to a model that can see", async () => {
  await using talk = await openTalk(world, vision);
  talk.model.script(call("view", { path: image }), say("a dot"));
  await talk.ask("look at the picture");
  expect(talk.record.one("tool.execution_complete").data.success).toBe(true);
  expect(JSON.stringify(talk.model.lastRequest.messages)).toContain("data:image/png;base64,");
});

test("a file that is not there does not stop the prompt", async () => {
  await using talk = await openTalk(world);
  const missing = path.join(world.folder, "missing.txt");
  expect(await talk.ask({ prompt: "look", attachments: [{ type: "file", path: missing }] })).toBe("ok");
});
