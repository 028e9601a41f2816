import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeRepository, type TestRepository } from "./test-repository.ts";
import { WORKTREE } from "./worktree-ledger.ts";
import type { Place } from "./worktrees.ts";

let world: TestRepository;
beforeEach(() => {
  world = makeRepository();
});
afterEach(() => world.close());

const { signal } = new AbortController();
const prepare = (key = "s/one", folder = world.top): Promise<Place> =>
  world.worktrees.prepare({ key, label: key, folder }, signal);
const settle = (key = "s/one", isWanted = true) => world.worktrees.settle(key, { isWanted });
const inside = ({ confinement }: Place, path: string) => join(confinement.root, path);
const nothingLeft = { folders: [], known: [] };

describe("a worktree", () => {
  test("begins with what is in the working tree, committed or not, and leaves everything there as it was", async () => {
    world.write("a.txt", "staged\n");
    world.git("add", "a.txt");
    world.write("a.txt", "staged, then changed\n");
    world.write("new.txt", "new\n");
    world.write("noise.log", "ignored\n");
    rmSync(join(world.top, "src/b.txt"));
    const before = world.seen();
    const place = await prepare();
    expect(world.seen()).toEqual(before);
    expect(readFileSync(inside(place, "a.txt"), "utf8")).toBe("staged, then changed\n");
    expect(readFileSync(inside(place, "new.txt"), "utf8")).toBe("new\n");
    expect(existsSync(inside(place, "noise.log"))).toBe(false);
    expect(existsSync(inside(place, "src/b.txt"))).toBe(false);
    expect(await settle()).toEqual({ type: "unchanged" });
    expect(world.seen()).toEqual(before);
    expect(world.left()).toEqual(nothingLeft);
  });

  test("changes a file that was saved or copied without a change, which git takes for another until it has looked into it", async () => {
    utimesSync(join(world.top, "a.txt"), 1, 1);
    const place = await prepare();
    writeFileSync(inside(place, "a.txt"), "by the agent\n");
    utimesSync(join(world.top, "a.txt"), 2, 2);
    const index = readFileSync(join(world.top, ".git/index"));
    expect(await settle()).toEqual({ type: "merged", files: ["a.txt"] });
    expect(world.read("a.txt")).toBe("by the agent\n");
    expect(readFileSync(join(world.top, ".git/index"))).toEqual(index);
    expect(world.left()).toEqual(nothingLeft);
  });

  test("of a subfolder works in the same subfolder, also when git keeps nothing of it", async () => {
    mkdirSync(join(world.top, "empty/deep"), { recursive: true });
    const { workingDirectory, confinement } = await prepare("s/one", join(world.top, "empty/deep"));
    expect(workingDirectory).toBe(join(confinement.root, "empty/deep"));
    expect(existsSync(workingDirectory)).toBe(true);
    await settle();
  });

  test("works in a repository that has no commits", async () => {
    await world.close();
    world = makeRepository({ isEmpty: true });
    world.write("draft.txt", "draft\n");
    const place = await prepare();
    expect(readFileSync(inside(place, "draft.txt"), "utf8")).toBe("draft\n");
    writeFileSync(inside(place, "more.txt"), "more\n");
    expect(await settle()).toEqual({ type: "merged", files: ["more.txt"] });
    expect(world.read("more.txt")).toBe("more\n");
    expect(world.git("status", "--porcelain").trim().split("\n").sort()).toEqual(["?? draft.txt", "?? more.txt"]);
  });

  test("can be made from another worktree, and its work is merged there", async () => {
    const outer = await prepare("s/outer");
    writeFileSync(inside(outer, "outer.txt"), "outer\n");
    const inner = await prepare("s/inner", outer.workingDirectory);
    writeFileSync(inside(inner, "inner.txt"), "inner\n");
    expect(readFileSync(inside(inner, "outer.txt"), "utf8")).toBe("outer\n");
    expect(await settle("s/inner")).toEqual({ type: "merged", files: ["inner.txt"] });
    expect(world.read("inner.txt")).toBeUndefined();
    expect(await settle("s/outer")).toEqual({ type: "merged", files: ["inner.txt", "outer.txt"] });
    expect(world.read("inner.txt")).toBe("inner\n");
    expect(world.left()).toEqual(nothingLeft);
  });

  test("is not forgotten by git worktree prune while it is away, nor is one of the user", async () => {
    const own = join(world.home, "own");
    world.git("worktree", "add", "--quiet", own);
    rmSync(own, { recursive: true });
    const place = await prepare();
    await settle();
    expect(world.left().known).toEqual([`worktree ${own}`]);
    expect(existsSync(place.confinement.root)).toBe(false);
  });
});

describe("an agent cannot have one", () => {
  test.each<[string, () => string, string]>([
    ["outside git", () => world.home, "is not in a git repository"],
    [
      "in a bare repository",
      () => {
        const bare = join(world.home, "bare.git");
        world.git("clone", "--quiet", "--bare", world.top, bare);
        return bare;
      },
      "it is bare",
    ],
    [
      "where the configuration puts the working tree elsewhere",
      () => {
        world.git("config", "core.worktree", world.home);
        return world.top;
      },
      "has its working tree elsewhere",
    ],
    ["in a folder that does not exist", () => join(world.top, "missing"), "git could not be started in this folder"],
  ])("%s", async (_where, folder, words) => {
    await expect(prepare("s/one", folder())).rejects.toThrow(words);
    expect((await WORKTREE.list(world.store.documents, "")).found).toEqual([]);
  });

  test("while a merge is not resolved", async () => {
    world.git("checkout", "--quiet", "-b", "other");
    world.write("a.txt", "other\n");
    world.commit();
    world.git("checkout", "--quiet", "main");
    world.write("a.txt", "main\n");
    world.commit();
    expect(() => world.git("merge", "other")).toThrow();
    await expect(prepare()).rejects.toThrow("a merge is under way");
    expect(world.left()).toEqual(nothingLeft);
  });

  test("when it is stopped meanwhile, and then nothing is left of it", async () => {
    const stop = new AbortController();
    const preparing = world.worktrees.prepare({ key: "s/one", label: "one", folder: world.top }, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(preparing).rejects.toThrow();
    expect(world.left()).toEqual(nothingLeft);
  });
});

describe("the work of an agent", () => {
  test("is in the working tree, uncommitted and not staged, with the user's own changes untouched", async () => {
    const place = await prepare();
    writeFileSync(inside(place, "a.txt"), "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
    writeFileSync(inside(place, "made.txt"), "made\n");
    rmSync(inside(place, "src/b.txt"));
    writeFileSync(inside(place, "noise.log"), "ignored\n");
    world.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE\n");
    world.write("mine.txt", "mine\n");
    const index = world.git("ls-files", "--stage");
    expect(await settle()).toEqual({ type: "merged", files: ["a.txt", "made.txt", "src/b.txt"] });
    expect(world.read("a.txt")).toBe("ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE\n");
    expect(world.read("made.txt")).toBe("made\n");
    expect(world.read("mine.txt")).toBe("mine\n");
    expect(world.read("src/b.txt")).toBeUndefined();
    expect(world.read("noise.log")).toBeUndefined();
    expect(world.git("ls-files", "--stage")).toBe(index);
    expect(world.git("log", "--oneline").trim().split("\n")).toHaveLength(1);
    expect(world.git("for-each-ref", "refs/retinue")).toBe("");
    expect(world.left()).toEqual(nothingLeft);
  });

  test("counts whether it was committed in the worktree, staged, or neither", async () => {
    const place = await prepare();
    const git = (...args: string[]) => world.git("-C", place.confinement.root, ...args);
    writeFileSync(inside(place, "committed.txt"), "c\n");
    git("add", "committed.txt");
    git("commit", "--quiet", "-m", "in the worktree");
    writeFileSync(inside(place, "staged.txt"), "s\n");
    git("add", "staged.txt");
    writeFileSync(inside(place, "loose.txt"), "l\n");
    expect(await settle()).toEqual({ type: "merged", files: ["committed.txt", "loose.txt", "staged.txt"] });
    expect(world.git("log", "--oneline", "--all").trim().split("\n")).toHaveLength(1);
  });

  test("that conflicts changes nothing, and is kept under a name from which it can be taken", async () => {
    const place = await prepare();
    writeFileSync(inside(place, "a.txt"), "theirs\n");
    writeFileSync(inside(place, "made.txt"), "made\n");
    world.write("a.txt", "ours\n");
    const before = world.seen();
    const result = await settle();
    expect(result).toMatchObject({
      type: "conflicts",
      files: ["a.txt"],
      ref: expect.stringMatching(/^refs\/retinue\//),
    });
    expect(world.seen()).toEqual(before);
    expect(world.left()).toEqual(nothingLeft);
    const ref = result && "ref" in result ? result.ref : undefined;
    expect(world.git("show", `${ref}:a.txt`)).toBe("theirs\n");
    expect(await settle()).toEqual(result);
  });

  test("does not overwrite a file that git ignores, nor what is below or above it", async () => {
    const place = await prepare();
    writeFileSync(inside(place, ".gitignore"), "");
    writeFileSync(inside(place, "noise.log"), "theirs\n");
    writeFileSync(inside(place, "build"), "a file\n");
    world.write("noise.log", "mine\n");
    world.write("build/out", "mine\n");
    const before = world.seen();
    expect(await settle()).toMatchObject({ type: "conflicts", files: ["build", "noise.log"] });
    expect(world.seen()).toEqual(before);
  });

  test("that replaces a file by a folder, or a folder by a file, is merged", async () => {
    const place = await prepare();
    rmSync(inside(place, "a.txt"));
    mkdirSync(inside(place, "a.txt"));
    writeFileSync(inside(place, "a.txt/inner"), "inner\n");
    rmSync(inside(place, "src"), { recursive: true });
    writeFileSync(inside(place, "src"), "file\n");
    expect(await settle()).toMatchObject({ type: "merged" });
    expect(world.read("a.txt/inner")).toBe("inner\n");
    expect(world.read("src")).toBe("file\n");
  });

  test("of an agent that has not completed is kept and not merged", async () => {
    const place = await prepare();
    writeFileSync(inside(place, "half.txt"), "half\n");
    const before = world.seen();
    const result = await settle("s/one", false);
    expect(result).toMatchObject({ type: "kept", files: ["half.txt"] });
    expect(world.seen()).toEqual(before);
    expect(world.left()).toEqual(nothingLeft);
    expect(world.git("show", `${result && "ref" in result ? result.ref : ""}:half.txt`)).toBe("half\n");
  });

  test("is found although the agent has destroyed or redirected its link to the repository", async () => {
    const place = await prepare();
    writeFileSync(inside(place, ".git"), `gitdir: ${join(world.top, ".git")}\n`);
    writeFileSync(inside(place, "made.txt"), "made\n");
    const index = world.git("ls-files", "--stage");
    expect(await settle()).toEqual({ type: "merged", files: ["made.txt"] });
    expect(world.git("ls-files", "--stage")).toBe(index);
    expect(world.left()).toEqual(nothingLeft);
  });

  test("is gone with a folder that somebody has removed, and the result says so and changes nothing", async () => {
    const place = await prepare();
    writeFileSync(inside(place, "made.txt"), "made\n");
    rmSync(place.confinement.root, { recursive: true });
    const before = world.seen();
    const removed = `somebody has removed its folder, ${place.confinement.root}`;
    expect(await settle()).toEqual({ type: "failed", error: removed });
    expect(world.seen()).toEqual(before);
    expect(world.left()).toEqual(nothingLeft);
  });

  test("of twenty agents at once is merged one after the other, and every piece is there", async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `s/agent-${index}`);
    const places = await Promise.all(keys.map((key) => prepare(key)));
    for (const [index, place] of places.entries()) writeFileSync(inside(place, `made-${index}.txt`), `${index}\n`);
    // All of them want the same line, so the first wins.
    for (const place of places.slice(0, 3)) writeFileSync(inside(place, "src/b.txt"), `${place.confinement.root}\n`);
    const results = await Promise.all(keys.map((key) => settle(key)));
    expect(results.filter((result) => result?.type === "merged")).toHaveLength(18);
    expect(results.filter((result) => result?.type === "conflicts")).toHaveLength(2);
    for (const [index, result] of results.entries())
      expect(world.read(`made-${index}.txt`)).toBe(result?.type === "merged" ? `${index}\n` : undefined);
    expect(world.left()).toEqual(nothingLeft);
  });
});

describe("a worktree in which something lives", () => {
  test("is not removed until that has ended, and what it wrote meanwhile is kept", async () => {
    const place = await prepare();
    const lodger = spawn("sh", ["-c", "read line; echo late > late.txt"], { cwd: place.confinement.root });
    writeFileSync(inside(place, "made.txt"), "made\n");
    expect(await settle()).toMatchObject({ type: "merged" });
    expect(existsSync(place.confinement.root)).toBe(true);
    expect(await world.worktrees.recover(async () => false)).toEqual([]);
    expect(existsSync(place.confinement.root)).toBe(true);
    lodger.stdin.end("go\n");
    await once(lodger, "exit");
    expect(await world.worktrees.recover(async () => false)).toEqual([]);
    expect(world.left()).toEqual(nothingLeft);
    const [ref = ""] = world.git("for-each-ref", "--format=%(refname)", "refs/retinue").split("\n");
    expect(world.git("show", `${ref}:late.txt`)).toBe("late\n");
    expect((await WORKTREE.list(world.store.documents, "")).found).toEqual([]);
  });
});

test.each([
  ["core.fsmonitor", "touch PWNED; false"],
  ["core.hooksPath", "hooks"],
  ["filter.evil.clean", "touch PWNED; cat"],
  ["filter.evil.smudge", "touch PWNED; cat"],
  ["filter.e=vil.process", "touch PWNED"],
  ["merge.evil.driver", "touch PWNED; true"],
  ["diff.external", "touch PWNED"],
  ["core.alternateRefsCommand", "touch PWNED"],
])("a repository whose %s names a program does not run it", async (name, value) => {
  const mark = join(world.home, "PWNED");
  world.write(".gitattributes", "*.txt filter=evil merge=evil\nsrc/b.txt filter=e=vil merge=evil\n");
  for (const hook of ["post-checkout", "reference-transaction", "post-index-change"])
    for (const folder of [".git/hooks", "hooks"]) {
      world.write(`${folder}/${hook}`, `#!/bin/sh\ntouch ${mark}\n`);
    }
  world.commit();
  world.git("config", name, value.replace("PWNED", mark));
  const runnable = ["post-checkout", "reference-transaction", "post-index-change"];
  for (const hook of runnable)
    for (const folder of [".git/hooks", "hooks"]) chmodSync(join(world.top, folder, hook), 0o755);
  const place = await prepare();
  writeFileSync(inside(place, "made.md"), "made\n");
  writeFileSync(inside(place, "a.txt"), "ONE\n");
  world.write("src/b.txt", "mine\n");
  expect(await settle()).toMatchObject({ type: "merged", files: ["a.txt", "made.md"] });
  expect(existsSync(mark)).toBe(false);
});

test("a file that needs a merge driver is a conflict when both have changed it", async () => {
  world.write(".gitattributes", "a.txt merge=own\n");
  world.commit();
  world.git("config", "merge.own.driver", "true");
  const place = await prepare();
  writeFileSync(inside(place, "a.txt"), "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
  world.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE\n");
  expect(await settle()).toMatchObject({ type: "conflicts", files: ["a.txt"] });
});

test("a link that leads out is kept as a link, and nothing behind it is touched", async () => {
  const outside = join(world.home, "outside.txt");
  writeFileSync(outside, "outside\n");
  symlinkSync(outside, join(world.top, "link"));
  const place = await prepare();
  rmSync(inside(place, "link"));
  writeFileSync(inside(place, "link"), "a file now\n");
  expect(await settle()).toEqual({ type: "merged", files: ["link"] });
  expect(readFileSync(outside, "utf8")).toBe("outside\n");
  expect(world.read("link")).toBe("a file now\n");
});

test("a sparse checkout stays sparse, and what it leaves out is neither missing nor deleted", async () => {
  world.write("far/c.txt", "c\n");
  world.commit();
  world.git("sparse-checkout", "set", "src");
  const place = await prepare();
  writeFileSync(inside(place, "src/made.txt"), "made\n");
  expect(await settle()).toEqual({ type: "merged", files: ["src/made.txt"] });
  expect(world.git("status", "--porcelain").trim()).toBe("?? src/made.txt");
  expect(world.read("far/c.txt")).toBeUndefined();
});

test("a repository inside the repository is neither copied nor merged", async () => {
  mkdirSync(join(world.top, "nested"));
  world.git("init", "--quiet", join(world.top, "nested"));
  world.write("nested/file.txt", "nested\n");
  const place = await prepare();
  expect(existsSync(inside(place, "nested"))).toBe(false);
  writeFileSync(inside(place, "made.txt"), "made\n");
  expect(await settle()).toEqual({ type: "merged", files: ["made.txt"] });
  expect(world.read("nested/file.txt")).toBe("nested\n");
});
