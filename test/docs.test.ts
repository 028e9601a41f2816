/**
 * The pages say what is true: links lead somewhere, names of variables, scripts and commands exist, no path of a machine is left. The
 * README stays short and has its parts; the page of the laws shows the matrix that is tested.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { CELLS } from "./laws/cell.ts";
import { Matrix, withMatrix } from "./laws/matrix.ts";
import { files, root } from "./support/sources.ts";

const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

const pages = files.filter((file) => file.endsWith(".md") && !file.startsWith("packages/"));
const sources = files.filter((file) => /\.(ts|tsx|js|mjs|md)$/.test(file) && !pages.includes(file));

describe("links", () => {
  test.each(pages)("every link of %s leads somewhere", (page) => {
    const dead = linksOf(read(page)).filter((link) => !leads(page, link));
    expect(dead).toEqual([]);
  });
});

describe("the README", () => {
  const readme = read("README.md");

  test("has at most 900 words", () => {
    const seen = readme.replaceAll(/<!--.*?-->/gs, "");
    expect(seen.trim().split(/\s+/).length).toBeLessThanOrEqual(900);
  });

  test("has one picture, its limits, the two commands, a first program, the official SDK and where to read on, in this order", () => {
    expect([...readme.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual([
      "Two commands",
      "A first program",
      "The official Copilot SDK",
      "What you can rely on",
      "Where to read on",
      "Status and limits",
    ]);
    expect(readme.match(/!\[[^\]]*\]\(/g)).toHaveLength(1);
    expect(readme).toMatch(/^npm run demo .*\nnpm test /m);
    expect(readme.indexOf("no sandbox")).toBeLessThan(readme.indexOf("## Two commands"));
  });

  test("leads to every page", () => {
    const linked = new Set(linksOf(readme));
    expect(pages.filter((page) => /^docs\/[\w-]+\.md$/.test(page) && !linked.has(page))).toEqual([]);
  });
});

test("docs/laws.md shows every cell that test/laws checks", () => {
  const matrix = new Matrix();
  for (const cell of CELLS) matrix.record(cell, []);
  const page = read("docs/laws.md");
  expect(page).toBe(withMatrix(page, matrix));
});

test("the layout in CONTRIBUTING.md names every folder of the runtime", () => {
  const folders = new Set(files.flatMap((file) => /^packages\/retinue\/(src\/[\w-]+)\//.exec(file)?.[1] ?? []));
  const layout =
    read("CONTRIBUTING.md")
      .split("```")
      .find((part) => part.includes("packages/retinue ")) ?? "";
  expect([...folders].filter((folder) => !new RegExp(`\\b${folder}\\b`).test(layout))).toEqual([]);
});

describe("names", () => {
  const isTest = (file: string) => /\.test\.ts$|^(test|bench|examples|scripts)\//.test(file);
  const variablesIn = (list: readonly string[]) =>
    new Set(list.flatMap((file) => read(file).match(/\bRETINUE_[A-Z][A-Z_]*\b/g) ?? []));

  test("every RETINUE_ variable that the source reads is in a page", () => {
    const documented = variablesIn(pages);
    const used = variablesIn(sources.filter((file) => file.startsWith("packages/") && !isTest(file)));
    expect([...used].filter((name) => !documented.has(name)).sort()).toEqual([]);
  });

  test("no page names a RETINUE_ variable that nothing reads", () => {
    const known = variablesIn(sources.filter((file) => file !== "test/docs.test.ts"));
    expect([...variablesIn(pages)].filter((name) => !known.has(name)).sort()).toEqual([]);
  });

  test("every source file that a page names exists", () => {
    const now = pages.filter((page) => !page.startsWith("docs/decisions/"));
    const stale = now.flatMap((page) =>
      [...read(page).matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|mjs|cjs))`/g)]
        .map(([, name = ""]) => name)
        .filter((name) => !name.startsWith("src/") && !files.some((file) => `/${file}`.endsWith(`/${name}`)))
        .map((name) => `${page}: ${name}`),
    );
    expect(stale).toEqual([]);
  });

  test("every npm script that a page names exists", () => {
    const { scripts } = JSON.parse(read("package.json"));
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/\bnpm run ([a-z:-]+)/g)].map(([, name = ""]) => name),
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  test("every command that a page names is in `retinue --help`", () => {
    const known = commands();
    const unknown = pages.flatMap((page) =>
      commandsIn(read(page))
        .filter((name) => !known.has(name))
        .map((name) => `${page}: retinue ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

test("neither the pages nor what the program prints speak in riddles", () => {
  const riddles = /\banswerers?\b(?!:)|nobody is here|not put as it must/;
  const printed = files.filter(
    (file) => /^packages\/[\w-]+\/src\/.*\.(ts|md)$/.test(file) && !file.endsWith(".test.ts"),
  );
  const now = pages.filter((page) => !page.startsWith("docs/decisions/"));
  const inQuotes = (text: string) => text.match(/"[^"\n]*"|`[^`]*`/g)?.join("\n") ?? "";
  const found = [...now, ...printed].filter((file) =>
    riddles.test(file.endsWith(".md") ? read(file) : inQuotes(read(file))),
  );
  expect(found).toEqual([]);
});

describe("machines", () => {
  const texts = files.filter((file) => /\.(ts|tsx|js|mjs|json|md|yaml|yml|svg|sh)$|^\.ci\//.test(file));

  test("no file names a folder of the machine that it was written on", () => {
    const folders = [root.replace(/\/$/, ""), homedir()].filter((folder) => folder.split(path.sep).length > 2);
    expect(texts.filter((file) => folders.some((folder) => read(file).includes(folder)))).toEqual([]);
  });

  test("package-lock.json names no registry", () => {
    expect(read("package-lock.json")).not.toMatch(/"resolved": "http/);
  });
});

function linksOf(text: string): string[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "").replace(/`[^`\n]*`/g, "");
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)];
  const html = [...prose.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)];
  return [...inline, ...html].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/i.test(link));
}

function leads(page: string, link: string): boolean {
  const [target = "", anchor] = link.split("#");
  const file = target === "" ? page : path.posix.join(path.posix.dirname(page), decodeURI(target));
  const full = path.join(root, file);
  if (!existsSync(full)) return false;
  if (anchor === undefined) return true;
  return statSync(full).isFile() && anchorsOf(read(file)).has(anchor);
}

/** Anchors as code hosts make them: lower case, no punctuation, dashes for spaces, a number for a repeated heading. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
  const anchors = [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-");
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
  const own = [...prose.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id);
  return new Set([...anchors, ...own]);
}

/** The words under `Commands:`, one to a line. */
function commands(): Set<string> {
  const run = spawnSync(process.execPath, ["bin/retinue.js", "--help"], { cwd: root, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`retinue --help failed: ${run.stderr}`);
  const [, section = ""] = run.stdout.split(/^Commands:$/m);
  const [list = ""] = section.trimStart().split(/\n\n/);
  return new Set([...list.matchAll(/^ *([a-z][a-z-]+)(?=[|\s])/gm)].map(([, name = ""]) => name));
}

/** `retinue word` in code, inline or in a block; `retinue -p` and paths such as `bin/retinue.js` are not commands. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/(?:^|`|\$ |npx )(?:node bin\/)?retinue(?:\.js)? ([a-z][a-z-]*)/gm)].flatMap(
    ([whole, name = ""]) => (whole.startsWith("`") || isInBlock(text, whole) ? [name] : []),
  );
}

function isInBlock(text: string, line: string): boolean {
  return [...text.matchAll(/^(```|~~~)[\s\S]*?^\1/gm)].some(([block]) => block.includes(line));
}
