import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSqlite, type SqliteStore } from "../store/sqlite/store.ts";
import { ProjectGate } from "./gate.ts";
import { FolderTrust } from "./trust.ts";

let root: string;
let store: SqliteStore;
let trust: FolderTrust;
let warnings: string[];
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-trust-")));
  store = openSqlite({ path: ":memory:" });
  warnings = [];
  trust = new FolderTrust({ documents: store.documents, warn: (message) => warnings.push(message) });
});
afterEach(async () => {
  await store.close();
  rmSync(root, { recursive: true, force: true });
});

const NONE = new Map<string, string>();
const isTrusted = async (folder: string) => (await trust.decisionOn(folder)).decision === "trusted";

function folder(name: string): string {
  mkdirSync(join(root, name), { recursive: true });
  return join(root, name);
}

function repository(name: string): string {
  mkdirSync(join(folder(name), ".git"));
  return join(root, name);
}

describe("trust", () => {
  test("is for the whole repository, wherever in it somebody works", async () => {
    const repo = repository("repo");
    expect(await trust.trust(folder("repo/src/deep"), NONE)).toBe(repo);
    expect(await isTrusted(folder("repo/test"))).toBe(true);
    expect(await isTrusted(root)).toBe(false);
  });

  test("does not cover a repository, a worktree or a submodule inside the trusted one", async () => {
    await trust.trust(repository("repo"), NONE);
    repository("repo/vendor/other");
    writeFileSync(join(folder("repo/worktree"), ".git"), "gitdir: ../.git/worktrees/w\n");
    expect(await isTrusted(join(root, "repo/vendor/other"))).toBe(false);
    expect(await isTrusted(join(root, "repo/worktree"))).toBe(false);
  });

  test("in a folder without a repository is for that folder alone", async () => {
    await trust.trust(folder("plain"), NONE);
    expect(await isTrusted(join(root, "plain"))).toBe(true);
    expect(await isTrusted(folder("plain/below"))).toBe(false);
    expect(await isTrusted(folder("plainer"))).toBe(false);
  });

  test("follows links: a link in a trusted repository does not lend its trust to where it leads", async () => {
    await trust.trust(repository("repo"), NONE);
    symlinkSync(folder("elsewhere"), join(root, "repo/link"));
    expect(await isTrusted(join(root, "repo/link"))).toBe(false);
    symlinkSync(join(root, "repo"), join(root, "alias"));
    expect(await isTrusted(join(root, "alias"))).toBe(true);
  });

  test.each([
    ["the root of the file system", () => "/"],
    ["the home folder", () => homedir()],
    ["what is above the home folder", () => dirname(homedir())],
    ["the folder for temporary files", () => tmpdir()],
  ])("is refused for %s", async (_, wide) => {
    await expect(trust.trust(wide(), NONE)).rejects.toThrow("Name the folder of the project");
    expect(await isTrusted(wide())).toBe(false);
  });

  test("can be taken away, also from a folder that is gone", async () => {
    const plain = folder("plain");
    await trust.trust(plain, NONE);
    rmSync(plain, { recursive: true });
    expect(await trust.forget(plain)).toBe(plain);
    expect(await isTrusted(folder("plain"))).toBe(false);
    expect(await trust.forget(plain)).toBeUndefined();
  });

  test("that cannot be read is none, and that is reported", async () => {
    const plain = folder("plain");
    await store.documents.write([
      { put: { kind: "trusted-folder", key: plain, version: 2, json: '{"decision":"yes"}' } },
    ]);
    expect(await isTrusted(plain)).toBe(false);
    expect(await trust.list()).toEqual([]);
    expect(warnings).toEqual([
      expect.stringContaining(`So ${plain} is not trusted`),
      expect.stringContaining("cannot be read"),
    ]);
  });

  test("that an earlier version has stored counts, without consent to any server", async () => {
    const plain = folder("plain");
    await store.documents.write([{ put: { kind: "trusted-folder", key: plain, version: 1, json: "{}" } }]);
    expect(await trust.decisionOn(plain)).toEqual({ decision: "trusted", servers: new Set() });
  });
});

describe("the gate of a session", () => {
  test("lets a server start only in a trusted folder and only if exactly it was allowed there", async () => {
    const [plain, other] = [folder("plain"), folder("other")];
    await trust.trust(plain, new Map([["docs:1", "docs: run docs"]]));
    await trust.trust(other, NONE);
    const gate = new ProjectGate(plain, trust);
    expect(gate.mayStart("docs:1")).toBe(false);
    await gate.refresh();
    expect([gate.mayStart("docs:1"), gate.mayStart("docs:2")]).toEqual([true, false]);
    const elsewhere = new ProjectGate(other, trust);
    await elsewhere.refresh();
    expect(elsewhere.mayStart("docs:1")).toBe(false);
  });

  test("keeps earlier consent when more is given, and loses all of it with trust", async () => {
    const plain = folder("plain");
    const gate = new ProjectGate(plain, trust);
    await trust.trust(plain, new Map([["a", "a"]]));
    await trust.trust(plain, new Map([["b", "b"]]));
    await gate.refresh();
    expect([gate.mayStart("a"), gate.mayStart("b")]).toEqual([true, true]);
    const { version } = gate;
    await gate.refresh();
    expect(gate.version).toBe(version);
    await trust.forget(plain);
    await trust.trust(plain, NONE);
    await gate.refresh();
    expect(gate.version).not.toBe(version);
    expect([gate.isTrusted, gate.mayStart("a")]).toEqual([true, false]);
  });

  test("is closed where somebody has declined", async () => {
    const plain = folder("plain");
    await trust.trust(plain, new Map([["a", "a"]]));
    await trust.decline(plain);
    const gate = new ProjectGate(plain, trust);
    await gate.refresh();
    expect([gate.isTrusted, gate.mayStart("a")]).toEqual([false, false]);
    expect(await trust.list()).toEqual([{ folder: plain, decision: "declined", servers: [] }]);
  });
});
