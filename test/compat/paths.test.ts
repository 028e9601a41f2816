/** Files: each path of a call counts, a link counts as what it leads to, and what was allowed is what is opened. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import type { PermissionRequest } from "@github/copilot-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

let world: World;
let outside: string;
beforeAll(async () => {
  world = await startClient();
  outside = path.join(path.dirname(world.folder), "outside");
});
afterAll(() => world[Symbol.asyncDispose]());

const at = (name: string) => path.join(world.folder, name);

beforeEach(async () => {
  for (const folder of [outside, world.folder]) await rm(folder, { recursive: true, force: true });
  for (const folder of [at("src"), at("private/keys"), outside]) await mkdir(folder, { recursive: true });
  await writeFile(at("src/a.txt"), "needle in a\n");
  await writeFile(at("src/b.txt"), "needle in b\n");
  await writeFile(at("private/keys/id.txt"), "needle of a fake key\n");
  await writeFile(path.join(outside, "far.txt"), "needle far away\n");
  await symlink(outside, at("way-out"));
  await symlink(path.join(outside, "far.txt"), at("far-link"));
});

type Denied = { kind: string; argument: string | null }[];

interface Scene {
  denied?: Denied;
  /** Happens while the permission is asked for; the answer is yes. */
  meanwhile?: (request: PermissionRequest) => Promise<void>;
}

/** One call in a session that may read its working folder and nothing else without asking. */
async function callOf(name: string, args: object, { denied = [], meanwhile }: Scene = {}) {
  const asked: PermissionRequest[] = [];
  await using talk = await openTalk(world, {
    onPermissionRequest: async (request) => {
      asked.push(request);
      if (!meanwhile) return { kind: "reject", feedback: "only looking" };
      await meanwhile(request);
      return { kind: "approve-once" };
    },
  });
  await talk.session.rpc.permissions.configure({
    approveAllReadPermissionRequests: meanwhile === undefined,
    rules: { approved: [], denied: denied as never },
    paths: { includeTempDirectory: false },
  });
  talk.model.script(call(name, args, "call-1"), say("done"));
  await talk.ask("try");
  const end = talk.record.one("tool.execution_complete").data;
  const text = String(talk.model.lastRequest.lastText);
  return { asked, end, text };
}

describe.runIf(ours)("a search over several paths", () => {
  test.each([
    ["grep", { pattern: "needle", paths: ["src", "far-link"] }],
    ["grep", { pattern: "needle", paths: ["src", "way-out"] }],
    ["glob", { pattern: "*.txt", paths: ["src", "way-out"] }],
  ])("asks when one of them leads out of the folder: %s %j", async (name, args) => {
    const { asked, text } = await callOf(name, args);
    const paths = at(args.paths.at(-1) ?? "");
    expect(asked).toMatchObject([
      {
        kind: "read",
        path: world.folder,
        paths: [{ path: at("src") }, { path: paths, resolvedPath: expect.stringContaining(outside) }],
        intention: expect.stringContaining(paths),
      },
    ]);
    expect(text).not.toContain("far");
  });

  test("does not ask when all of them are in the folder", async () => {
    const { asked, text } = await callOf("grep", { pattern: "needle", paths: ["src/a.txt", "private"] });
    expect(asked).toEqual([]);
    expect(text).toContain("id.txt");
  });

  test("opens the path that was checked, in which a link before two dots counts for nothing", async () => {
    const { asked, text } = await callOf("grep", { pattern: "needle", paths: ["src", "way-out/../outside"] });
    expect(asked).toEqual([]);
    expect(text).toContain("src/a.txt");
    expect(text).not.toContain("far.txt");
  });

  test("does not follow a link below the folder", async () => {
    const { asked, text } = await callOf("grep", { pattern: "needle", output_mode: "content" });
    expect(asked).toEqual([]);
    expect(text).toContain("needle in a");
    expect(text).not.toContain("far away");
  });
});

describe.runIf(ours)("a rule that denies reading", () => {
  const denied = [{ kind: "read", argument: "private" }];

  test.each([
    ["view", { path: "private/keys/id.txt" }],
    ["view", { path: "src/../private/keys/id.txt" }],
    ["grep", { pattern: "needle", paths: ["src", "private/keys"] }],
    ["glob", { pattern: "*", paths: "private" }],
    ["edit", { path: "private/keys/id.txt", old_str: "needle", new_str: "x" }],
  ])("refuses %s of it", async (name, args) => {
    const full = "path" in args && args.path ? { ...args, path: at(args.path) } : args;
    const { asked, end, text } = await callOf(name, full, { denied });
    expect(asked).toEqual([]);
    expect(end).toMatchObject({ success: false, error: { code: "denied" } });
    expect(text).not.toContain("fake key");
  });

  test("refuses it through a link that leads there, and when the rule names a link to it", async () => {
    await symlink(at("private/keys"), at("side-door"));
    expect((await callOf("view", { path: at("side-door/id.txt") }, { denied })).end.success).toBe(false);
    const byLink = [{ kind: "read", argument: "side-door" }];
    expect((await callOf("view", { path: at("private/keys/id.txt") }, { denied: byLink })).end.success).toBe(false);
  });

  test.each([
    ["grep", { pattern: "needle", output_mode: "content" }],
    ["grep", { pattern: "needle" }],
    ["grep", { pattern: "needle", output_mode: "count", glob: "**/*.txt" }],
    ["glob", { pattern: "**/*.txt" }],
    ["glob", { pattern: "private/**" }],
  ])("keeps it out of a search over the folder above, which says so: %s %j", async (name, args) => {
    const { end, text } = await callOf(name, args, { denied });
    expect(end.success).toBe(true);
    expect(text).toContain(`left out, because a rule denies reading it: ${at("private")}`);
    expect(text).not.toMatch(/id\.txt|fake key/);
  });

  test("keeps its name out of a list of the folder", async () => {
    const { text } = await callOf("view", { path: world.folder }, { denied });
    expect(text.split("\n")).toContain("src");
    expect(text.split("\n")).not.toContain("private");
  });

  test("holds for attachments", async () => {
    await writeFile(at("private/dot.png"), Buffer.from(PNG, "base64"));
    await using talk = await openTalk(world, { modelCapabilities: { supports: { vision: true } } });
    await talk.session.rpc.permissions.configure({ rules: { approved: [], denied: denied as never } });
    talk.model.script(say("done"));
    await talk.ask({
      prompt: "look",
      attachments: [
        { type: "file", path: at("private/dot.png") },
        { type: "directory", path: at("private") },
        { type: "selection", filePath: at("private/keys/id.txt"), displayName: "id.txt", text: "a fake key" },
      ],
    });
    const sent = JSON.stringify(talk.model.lastRequest.last);
    expect(sent).not.toMatch(/image_url|fake key/);
    expect(sent.match(/a rule denies reading it/g)).toHaveLength(3);
  });
});

describe.runIf(ours)("a path that changes while somebody is asked", () => {
  /** Puts a link in the place of a file or folder. */
  const swap = (name: string, target: string) => async () => {
    await rename(at(name), at("moved-away"));
    await symlink(target, at(name));
  };

  test.each([
    ["view", { path: "src/a.txt" }, "src/a.txt", "far.txt"],
    ["view", { path: "src/far.txt" }, "src", "."],
    ["view", { path: "src" }, "src", "."],
    ["grep", { pattern: "needle", paths: "src" }, "src", "."],
    ["glob", { pattern: "*.txt", paths: "src" }, "src", "."],
  ])("is not read: %s %j", async (name, args, replaced, target) => {
    await writeFile(at("src/far.txt"), "near\n");
    const full = "path" in args ? { ...args, path: at(args.path) } : args;
    const { asked, end, text } = await callOf(name, full, { meanwhile: swap(replaced, path.join(outside, target)) });
    expect(asked).toHaveLength(1);
    expect(end).toMatchObject({ success: false, error: { code: "denied" } });
    expect(text).toContain("no longer leads to");
    expect(text).not.toContain("far away");
  });

  test("is not edited", async () => {
    await writeFile(path.join(outside, "a.txt"), "needle in a\n");
    const edit = { path: at("src/a.txt"), old_str: "needle", new_str: "changed" };
    for (const [name, target] of [
      ["src/a.txt", path.join(outside, "a.txt")],
      ["src", outside],
    ] as const) {
      const { end } = await callOf("edit", edit, { meanwhile: swap(name, target) });
      expect(end).toMatchObject({ success: false, error: { code: "denied" } });
      expect(await readFile(path.join(outside, "a.txt"), "utf8")).toBe("needle in a\n");
      await rm(at(name));
      await rename(at("moved-away"), at(name));
    }
  });

  test("is not created elsewhere", async () => {
    const create = { path: at("src/new.txt"), file_text: "new" };
    const { end } = await callOf("create", create, { meanwhile: swap("src", outside) });
    expect(end.success).toBe(false);
    expect(existsSync(path.join(outside, "new.txt"))).toBe(false);
    const linked = await callOf(
      "create",
      { path: at("fresh.txt"), file_text: "new" },
      { meanwhile: () => symlink(path.join(outside, "new.txt"), at("fresh.txt")) },
    );
    expect(linked.end.success).toBe(false);
    expect(existsSync(path.join(outside, "new.txt"))).toBe(false);
  });

  test("is read, edited and created when nothing changed, also through a link that was there before", async () => {
    const meanwhile = async () => undefined;
    expect((await callOf("view", { path: at("far-link") }, { meanwhile })).text).toContain("far away");
    const edit = { path: at("far-link"), old_str: "far", new_str: "very far" };
    expect((await callOf("edit", edit, { meanwhile })).end.success).toBe(true);
    expect(await readFile(path.join(outside, "far.txt"), "utf8")).toBe("needle very far away\n");
    const create = { path: at("way-out/new.txt"), file_text: "new" };
    expect((await callOf("create", create, { meanwhile })).asked).toMatchObject([
      { kind: "write", resolvedPath: path.join(outside, "new.txt") },
    ]);
    expect(await readFile(path.join(outside, "new.txt"), "utf8")).toBe("new");
    expect((await callOf("grep", { pattern: "needle", paths: "way-out" }, { meanwhile })).text).toContain("far.txt");
  });
});
