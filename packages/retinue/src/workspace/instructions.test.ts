import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { matchesGlob } from "./glob-match.ts";
import { readInstructions } from "./instructions.ts";

let root: string;
let repo: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-instructions-")));
  repo = join(root, "repo");
  mkdirSync(join(repo, ".git"), { recursive: true });
  mkdirSync(join(repo, "sub"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const discovered = (denied: readonly string[] = []) => {
  const found = readInstructions({ enableConfigDiscovery: true }, join(repo, "sub"), repo);
  return { text: found.text(denied), warnings: found.warnings };
};

function put(name: string, text: string): string {
  const file = join(repo, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

test("come from all files of the repository down to the working folder, and a copy for another program counts once", () => {
  put("AGENTS.md", "of the repository");
  put(".github/copilot-instructions.md", "of GitHub");
  symlinkSync("AGENTS.md", join(repo, "CLAUDE.md"));
  put("a/CLAUDE.md", "between");
  put("a/b/AGENTS.md", "at work");
  put("a/b/c/AGENTS.md", "deeper");
  const { text, warnings } = readInstructions({ enableConfigDiscovery: true }, join(repo, "a/b"), repo);
  const paths = [...(text([]) ?? "").matchAll(/<instructions path="([^"]+)">\n(.+)\n/g)].map(([, path = "", words]) => [
    relative(repo, path),
    words,
  ]);
  expect(paths).toEqual([
    ["AGENTS.md", "of the repository"],
    [".github/copilot-instructions.md", "of GitHub"],
    ["a/CLAUDE.md", "between"],
    ["a/b/AGENTS.md", "at work"],
  ]);
  expect(warnings).toEqual([]);
});

test("for certain files are named in the prompt, and given with such a file; those of deeper folders as well", () => {
  const ts = put(
    ".github/instructions/ts.instructions.md",
    "---\napplyTo: '**/*.ts, **/*.tsx'\ndescription: style\n---\nUse tabs.",
  );
  put(".github/instructions/all.instructions.md", "---\napplyTo: '**'\n---\nBe kind.");
  put(".github/instructions/bare.instructions.md", "Be quick.");
  const deep = put("sub/deep/AGENTS.md", "Deep here.");
  const { text, forFile } = readInstructions({ enableConfigDiscovery: true }, join(repo, "sub"), repo);
  expect(text([])).toContain("Be kind.");
  expect(text([])).toContain("Be quick.");
  expect(text([])).toContain(`- **/*.ts, **/*.tsx: ${ts} (style)`);
  expect(text([])).not.toMatch(/Use tabs|Deep here/);
  const given = (file: string, unreadable: string[] = []) => [...forFile(file, unreadable).keys()];
  expect(given("x.ts")).toEqual([ts]);
  expect(given("x.md")).toEqual([]);
  expect(given("deep/below/x.tsx")).toEqual([ts, deep]);
  expect(given("deep/below/x.tsx", [join(repo, "sub/deep")])).toEqual([ts]);
  expect(given(join(root, "elsewhere/x.ts"))).toEqual([]);
  expect(given("../../elsewhere/x.ts")).toEqual([]);
  expect(forFile("x.ts", []).get(ts)).toContain("Use tabs.");
});

test.each([
  ["'**/*.{ts,tsx},docs/**'", ["**/*.{ts,tsx}", "docs/**"]],
  ["**/*.{ts,tsx}", ["**/*.{ts,tsx}"]],
  ["*.ts, src/**/*.tsx # with a comment", ["*.ts", "src/**/*.tsx"]],
  ["src/**/*.{js,{ts,tsx}}, *.md", ["src/**/*.{js,{ts,tsx}}", "*.md"]],
])("for the files of %s have the globs that were meant, with or without quotes", (written, meant) => {
  const file = put(".github/instructions/web.instructions.md", `---\napplyTo: ${written}\n---\nUse tabs.`);
  const { sources, forFile, warnings } = readInstructions({ enableConfigDiscovery: true }, repo, repo);
  expect(warnings).toEqual([]);
  expect(sources()).toMatchObject([{ applyTo: meant }]);
  expect([...forFile(join(repo, "src/a.tsx"), []).keys()]).toEqual([file]);
  expect([...forFile(join(repo, "src/a.py"), []).keys()]).toEqual([]);
});

test("without quotes for everything count for everything", () => {
  put(".github/instructions/all.instructions.md", "---\napplyTo: **\n---\nBe kind.");
  const { text, warnings } = readInstructions({ enableConfigDiscovery: true }, repo, repo);
  expect(warnings).toEqual([]);
  expect(text([])).toContain("Be kind.");
});

test("that are for certain files and cannot be read are reported with their line", () => {
  put(".github/instructions/bad.instructions.md", "---\napplyTo: 7\n---\nX");
  mkdirSync(join(root, "secret"));
  writeFileSync(join(root, "secret/s.instructions.md"), "the secret");
  symlinkSync(join(root, "secret/s.instructions.md"), join(repo, ".github/instructions/s.instructions.md"));
  const { text, warnings } = discovered();
  expect(text).toBeUndefined();
  expect(warnings).toEqual([
    expect.stringContaining("bad.instructions.md:2: applyTo"),
    expect.stringContaining("leads out of the project"),
  ]);
});

test.each(["applyto", "apply_to", "apply-to"])(
  "with %s instead of applyTo count for everything, and that is said",
  (key) => {
    const file = put(".github/instructions/ts.instructions.md", `---\nexcludeAgent: x\n${key}: '**/*.ts'\n---\nTabs.`);
    const { text, warnings } = discovered();
    expect(text).toContain("Tabs.");
    expect(warnings).toEqual([`${file}:3: there is no field '${key}', so it has no effect. Did you mean applyTo?`]);
  },
);

test("are shown as the protocol has them", () => {
  put("AGENTS.md", "root");
  put("sub/CLAUDE.md", "sub");
  put(".github/instructions/ts.instructions.md", "---\napplyTo: ['**/*.ts']\n---\nTabs.");
  put("sub/deep/AGENTS.md", "deep");
  const { sources, forFile } = readInstructions({ enableConfigDiscovery: true }, join(repo, "sub"), repo);
  forFile("deep/x.md", []);
  expect(
    sources().map(({ sourcePath, content, type, location, applyTo }) => [sourcePath, content, type, location, applyTo]),
  ).toEqual([
    ["AGENTS.md", "root", "repo", "repository", undefined],
    [".github/instructions/ts.instructions.md", "Tabs.", "vscode", "repository", ["**/*.ts"]],
    ["sub/CLAUDE.md", "sub", "nested-agents", "working-directory", undefined],
    ["sub/deep/AGENTS.md", "deep", "child-instructions", "working-directory", undefined],
  ]);
  expect(new Set(sources().map(({ id }) => id)).size).toBe(4);
});

test.each([
  ["**/*.ts", "a/b.ts", true],
  ["**/*.ts", "b.ts", true],
  ["*.ts", "a/b.ts", true],
  ["src/**", "src/a/b.ts", true],
  ["src/**/*.{ts,tsx}", "src/a.tsx", true],
  ["src/*.ts", "src/a/b.ts", false],
  ["**/test?.js", "x/test1.js", true],
  ["**/test?.js", "x/test.js", false],
  ["/docs/", "docs/a.md", true],
  ["{{a,b}/{c,d}", "a/c", false],
  [`${"**/".repeat(60)}*a*a*a*a*a*b`, `${"a/".repeat(60)}${"a".repeat(200)}`, false],
])("the glob %j of %j is %s", (pattern, path, matches) => {
  expect(matchesGlob(pattern, path)).toBe(matches);
});

test("are not read through a link out of the repository, from a device or from a pipe, and the other files count", () => {
  writeFileSync(join(root, "secret.md"), "the secret");
  symlinkSync(join(root, "secret.md"), join(repo, "AGENTS.md"));
  symlinkSync("/dev/zero", join(repo, "sub/AGENTS.md"));
  mkdirSync(join(repo, ".github"));
  execFileSync("mkfifo", [join(repo, ".github/copilot-instructions.md")]);
  writeFileSync(join(repo, "CLAUDE.md"), "harmless");
  const { text, warnings } = discovered();
  expect(text).toContain("harmless");
  expect(text).not.toContain("the secret");
  expect(warnings).toEqual([
    expect.stringContaining("AGENTS.md was not read: it is a link that leads out of the project"),
    expect.stringContaining("copilot-instructions.md was not read: it is a named pipe"),
    expect.stringContaining("sub/AGENTS.md was not read: it is a link that leads out of the project"),
  ]);
});

test("are cut after 30,000 characters, however large the file is, and that is said", () => {
  writeFileSync(join(repo, "AGENTS.md"), "");
  truncateSync(join(repo, "AGENTS.md"), 3 * 1024 * 1024 * 1024);
  const { text = "", warnings } = discovered();
  expect(text.length).toBeLessThan(30_500);
  expect(warnings).toEqual([expect.stringContaining("only its first 30000 characters count")]);
});

test("of a folder that the host names may be a link, but no pipe", () => {
  mkdirSync(join(root, "host"));
  writeFileSync(join(root, "shared.md"), "shared");
  symlinkSync(join(root, "shared.md"), join(root, "host/CLAUDE.md"));
  execFileSync("mkfifo", [join(root, "host/AGENTS.md")]);
  const { text, warnings } = readInstructions({ instructionDirectories: [join(root, "host")] }, repo, repo);
  expect(text([])).toContain("shared");
  expect(warnings).toEqual([expect.stringContaining("a named pipe")]);
});

test("are left out when a rule denies to read them, by their name or by where they lead", () => {
  mkdirSync(join(repo, "docs"));
  writeFileSync(join(repo, "docs/agents.md"), "be brief");
  symlinkSync("docs/agents.md", join(repo, "AGENTS.md"));
  expect(discovered([join(repo, "docs")]).text).toBeUndefined();
  expect(discovered([join(repo, "agents.md")]).text).toBeUndefined();
  expect(discovered([join(repo, "src")]).text).toContain("be brief");
});
