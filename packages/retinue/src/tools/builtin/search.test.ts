import { chmodSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SmallWorld, smallWorld } from "../small-world.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";

const grep = grepTool();
const glob = globTool();
let world: SmallWorld;

beforeEach(() => {
  world = smallWorld();
  world.file("a.txt", "alpha\nbeta\ngamma\nbeta\n");
  world.file("dir/b.js", "const beta = 1;\n");
  world.file("dir/deep/c.ts", "export const c = 1;\n");
  world.file(".hidden", "beta\n");
  world.file(".gitignore", "ignored/\n*.log\n");
  world.file("ignored/d.js", "const beta = 2;\n");
  world.file("x.log", "beta\n");
  world.file(".git/config", "beta\n");
});
afterEach(() => world.close());

const found = async (args: object) => (await world.call(grep, args)).text;
const files = async (args: object) => (await world.call(glob, args)).text.split("\n");

describe("grep", () => {
  test("gives the files with a match, sorted, hidden ones too, ignored ones not", async () => {
    expect(await found({ pattern: "beta" })).toBe("./.hidden\n./a.txt\n./dir/b.js");
  });

  test("gives lines and counts", async () => {
    expect(await found({ pattern: "beta", output_mode: "content", paths: "a.txt" })).toBe("a.txt:2:beta\na.txt:4:beta");
    expect(await found({ pattern: "beta", output_mode: "content", "-n": false, paths: "a.txt" })).toBe(
      "a.txt:beta\na.txt:beta",
    );
    expect(await found({ pattern: "beta", output_mode: "count", glob: "*.txt" })).toBe("./a.txt:2");
  });

  test("adds lines around a match", async () => {
    const lines = (more: object) => found({ pattern: "gamma", output_mode: "content", paths: ["a.txt"], ...more });
    expect(await lines({ "-A": 1 })).toBe("a.txt:3:gamma\na.txt-4-beta");
    expect(await lines({ "-B": 1 })).toBe("a.txt-2-beta\na.txt:3:gamma");
    expect(await lines({ "-C": 1 })).toBe("a.txt-2-beta\na.txt:3:gamma\na.txt-4-beta");
  });

  test("ignores case only when asked", async () => {
    expect(await found({ pattern: "ALPHA" })).toBe("No matches found.");
    expect(await found({ pattern: "ALPHA", "-i": true })).toBe("./a.txt");
  });

  test("matches over lines only when asked", async () => {
    expect(await found({ pattern: "alpha.beta" })).toBe("No matches found.");
    expect(await found({ pattern: "alpha.beta", multiline: true })).toBe("./a.txt");
  });

  test("stops after head_limit lines and says so", async () => {
    expect(await found({ pattern: "beta", output_mode: "content", head_limit: 2 })).toBe(
      "./.hidden:1:beta\n./a.txt:2:beta\n[only the first 2 lines are shown]",
    );
    expect(await found({ pattern: "alpha", head_limit: 1 })).toBe("./a.txt");
  });

  test.each([
    ["*.js", "./dir/b.js"],
    ["dir/**", "./dir/b.js\n./dir/deep/c.ts"],
    ["**/*.{js,ts}", "./dir/b.js\n./dir/deep/c.ts"],
    ["!*.ts", "./dir/b.js"],
    ["**/*", "./dir/b.js\n./dir/deep/c.ts"],
    ["./dir/*.js", "./dir/b.js"],
  ])("searches only what the glob %s names, and never what is ignored", async (pattern, expected) => {
    expect(await found({ pattern: "const", glob: pattern })).toBe(expected);
    expect(readdirSync(world.context.tempFolder)).toEqual([]);
  });

  test("searches by type, and an unknown type is an error", async () => {
    expect(await found({ pattern: "const", type: "ts" })).toBe("./dir/deep/c.ts");
    expect(await world.call(grep, { pattern: "x", type: "nonsense" })).toMatchObject({
      resultType: "failure",
      text: expect.stringContaining("nonsense"),
    });
  });

  test("a pattern that is no regular expression is ripgrep's own error", async () => {
    const outcome = await world.call(grep, { pattern: "(" });
    expect(outcome.resultType).toBe("failure");
    expect(outcome.text).toContain("unclosed group");
  });

  test("a pattern that looks like an option is a pattern", async () => {
    world.file("opt.txt", "--files\n");
    expect(await found({ pattern: "--files" })).toBe("./opt.txt");
  });

  test("a path that is not there is an error, and does not hide what the others have", async () => {
    expect((await world.call(grep, { pattern: "x", paths: "nope" })).resultType).toBe("failure");
    const both = await found({ pattern: "alpha", paths: ["nope", "a.txt"] });
    expect(both).toContain("a.txt");
    expect(both).toContain("nope");
  });

  test("absolute paths stay absolute, and the older name of the argument works", async () => {
    expect(await found({ pattern: "alpha", path: world.folder })).toBe(path.join(world.folder, "a.txt"));
  });

  test("binary files are no trouble, nor is a line of a million characters", async () => {
    world.file("bin", Buffer.concat([Buffer.from([0, 1, 2]), Buffer.from("needle")]));
    world.file("min.js", `needle${"x".repeat(1_000_000)}\n`);
    const text = await found({ pattern: "needle", output_mode: "content" });
    expect(text).toContain("min.js:1:needle");
    expect(text.length).toBeLessThan(5000);
  });

  test("unicode in names and text", async () => {
    world.file("ü/漢字.txt", "grün 🎉\n");
    expect(await found({ pattern: "gr.n 🎉", output_mode: "content" })).toBe("./ü/漢字.txt:1:grün 🎉");
  });

  test("too much output is kept in a file", async () => {
    world.file("many.txt", "needle in a line\n".repeat(20_000));
    expect(await found({ pattern: "needle", output_mode: "content" })).toContain("Saved to: ");
  });

  test("the permission names the folder, and the common one of several", async () => {
    expect(await world.permission(grep, { pattern: "x" })).toEqual({
      kind: "read",
      toolCallId: "call_1",
      path: world.folder,
      resolvedPath: undefined,
      intention: `Search in directory: ${world.folder}`,
    });
    expect(await world.permission(grep, { pattern: "x", paths: ["dir/deep", "dir/b.js"] })).toMatchObject({
      path: path.join(world.folder, "dir"),
    });
    expect(await world.permission(grep, { pattern: "x", paths: ["dir", "/etc"] })).toMatchObject({ path: "/" });
    expect(await world.permission(grep, { pattern: "x", paths: "../.." })).toMatchObject({
      path: path.join(world.folder, "../.."),
    });
  });

  test("an aborted call ends", async () => {
    world.abort();
    await expect(world.call(grep, { pattern: "x" })).rejects.toThrow(/abort/i);
  });
});

describe("what a rule denies to read", () => {
  const secret = async (name: string, args: object = {}) => {
    world.file(`${name}/s.txt`, "beta of the secret\n");
    world.rules.unreadable = [path.join(world.folder, name)];
    return [
      await found({ pattern: "beta", output_mode: "content", ...args }),
      ...(await files({ pattern: "*.txt", ...args })),
    ];
  };

  test.each(["dir/secret", "a[1]{x}*?", "!not", "with space", "\u00fcbung", "back\\slash", "new\nline"])(
    "is left out whatever its name is: %j",
    async (name) => {
      const all = (await secret(name)).join("\n");
      expect(all).toContain("a.txt:2:beta");
      expect(all).not.toContain("of the secret");
      expect(all).not.toContain("/s.txt");
    },
  );

  test.each([
    ["the folder by its whole path", () => world.folder],
    ["a folder above the working folder", () => ".."],
    ["the folder through a link", () => "self"],
  ])("is left out of a search in %s", async (_, where) => {
    symlinkSync(world.folder, path.join(world.folder, "self"));
    const all = (await secret("secret", { paths: where() })).join("\n");
    expect(all).toContain("a.txt");
    expect(all).not.toMatch(/of the secret|\/s\.txt/);
  });

  test("is left out in another case and another Unicode form of its name", async () => {
    world.file("\u00dcbung/s.txt", "beta of the secret\n");
    world.rules.unreadable = [path.join(world.folder, "u\u0308bung")];
    expect(await found({ pattern: "beta", output_mode: "content" })).not.toContain("of the secret");
    expect((await files({ pattern: "*.txt" })).join()).not.toContain("/s.txt");
  });

  test("is named when nothing else was found, and not when it is elsewhere", async () => {
    world.rules.unreadable = [path.join(world.folder, "dir")];
    expect(await found({ pattern: "export const c" })).toContain("No matches found.\n[left out, because a rule denies");
    expect(await found({ pattern: "beta", paths: "a.txt" })).toBe("a.txt");
  });
});

describe("glob", () => {
  test.each([
    ["**/*", ["./.gitignore", "./.hidden", "./a.txt", "./dir/b.js", "./dir/deep/c.ts"]],
    ["*.js", ["./dir/b.js"]],
    ["dir/*.ts", ["No file matches the pattern."]],
    ["dir/**/*.ts", ["./dir/deep/c.ts"]],
    ["**/*.{js,ts}", ["./dir/b.js", "./dir/deep/c.ts"]],
    ["?.txt", ["./a.txt"]],
    ["*.zzz", ["No file matches the pattern."]],
    ["x.log", ["No file matches the pattern."]],
  ])("%s", async (pattern, expected) => {
    expect(await files({ pattern })).toEqual(expected);
  });

  test("searches below the given folders, and names files as these were given", async () => {
    expect(await files({ pattern: "*.ts", paths: "dir" })).toEqual(["dir/deep/c.ts"]);
    expect(await files({ pattern: "deep/*.ts", paths: ["dir", path.join(world.folder, "dir")] })).toEqual([
      path.join(world.folder, "dir/deep/c.ts"),
      "dir/deep/c.ts",
    ]);
  });

  test("a pattern that is absolute or goes up starts where it says, and asks for that folder", async () => {
    expect(await files({ pattern: `${world.folder}/dir/**/*.ts` })).toEqual([path.join(world.folder, "dir/deep/c.ts")]);
    expect(await files({ pattern: "../*.ts", paths: "dir/deep" })).toEqual(["No file matches the pattern."]);
    expect(await files({ pattern: "../*.js", paths: "dir/deep" })).toEqual(["dir/b.js"]);
    expect(await world.permission(glob, { pattern: "/etc/**/*.conf" })).toMatchObject({ kind: "read", path: "/etc" });
    expect(await world.permission(glob, { pattern: "../*.js" })).toMatchObject({ path: path.dirname(world.folder) });
  });

  test("a folder that is not there is an error", async () => {
    expect(await world.call(glob, { pattern: "*", paths: "nope" })).toMatchObject({ resultType: "failure" });
  });

  test("a link to a folder is not followed into", async () => {
    symlinkSync(path.join(world.folder, "dir"), path.join(world.folder, "link"));
    expect(await files({ pattern: "*.ts" })).toEqual(["./dir/deep/c.ts"]);
  });

  test("a folder that may not be read does not hide the others", async () => {
    world.file("closed/e.ts", "");
    chmodSync(path.join(world.folder, "closed"), 0o000);
    expect(await files({ pattern: "*.ts" })).toContain("./dir/deep/c.ts");
    chmodSync(path.join(world.folder, "closed"), 0o755);
  });
});
