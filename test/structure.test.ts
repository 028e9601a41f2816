/** The size and shape of files, functions and classes: the rules of CONTRIBUTING.md that can be counted. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { commentsOf, files, linesOf, root, type Source, shipped, sources, visit } from "./support/sources.ts";

interface Rule {
  title: string;
  /** The most that a file may have. */
  limit: number;
  figure(source: Source): number;
  /** Where it holds; everywhere when absent. */
  within?: RegExp;
}

const RULES: readonly Rule[] = [
  {
    title: "a source file has at most 350 lines",
    limit: 350,
    figure: ({ text }) => text.split("\n").length - 1,
  },
  {
    title: "a function has at most 80 lines",
    limit: 80,
    figure: longestFunction,
  },
  {
    title: "a function of tasks, session, loop or store has at most three positional parameters",
    limit: 3,
    figure: mostParameters,
    within: /^packages\/retinue\/src\/(tasks|session|loop|store)\//,
  },
  {
    title: "a class or a port has at most twelve public members",
    limit: 12,
    figure: mostMembers,
  },
  {
    title: "what JSON.parse gives is checked by a schema and not cast",
    limit: 0,
    figure: parsedCasts,
  },
  { title: "no catch is empty", limit: 0, figure: emptyCatches },
  {
    title: "no file is called utils, helpers, types, manager or service",
    limit: 0,
    figure: ({ file }) => (/(^|[-/])(utils?|helpers?|types|managers?|services?)\.tsx?$/.test(file) ? 1 : 0),
  },
];

/** Wide on purpose: the published client keeps the names of the official SDK, and the others are records with a few methods. */
const WIDE: ReadonlySet<string> = new Set([
  "packages/sdk/src/client.ts",
  "packages/sdk/src/session.ts",
  "packages/sdk/src/testing/fake-runtime.ts",
  "packages/retinue/src/session/state.ts",
  "packages/retinue/src/tools/shell/shell.ts",
]);

test.each(RULES)("$title", ({ limit, figure, within = /./ }) => {
  const figures = shipped.filter(({ file }) => within.test(file)).map((each) => [each.file, figure(each)] as const);
  expect(figures.filter(([, found]) => found > limit)).toEqual([]);
});

test("half of the source files have fewer than 130 lines", () => {
  const lengths = shipped.map(({ text }) => text.split("\n").length - 1).sort((a, b) => a - b);
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThan(130);
});

test("a folder of tools or models with more than twenty sources has subfolders", () => {
  const counts = new Map<string, number>();
  for (const { file } of shipped) counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
  const full = [...counts].filter(([folder, count]) => /\/src\/(tools|models)(\/|$)/.test(folder) && count > 20);
  expect(full).toEqual([]);
});

test("a comment names only files that exist", () => {
  const code = files.filter((file) => /\.(ts|mjs|cjs|js)$/.test(file) && !file.includes("/fixtures/"));
  const stale = code.flatMap((file) =>
    commentsOf({ file, text: readFileSync(path.join(root, file), "utf8") })
      .flatMap((comment) => comment.match(/[\w./-]*\w\.(?:ts|mjs|cjs)\b/g) ?? [])
      .filter((name) => !files.some((known) => `/${known}`.endsWith(`/${name.replace(/^[./]+/, "")}`)))
      .map((name) => `${file}: ${name}`),
  );
  expect(stale).toEqual([]);
});

test("no test title begins with 'should'", () => {
  const vague = tests().flatMap((source) => titlesOf(source).filter((title) => /^should\b/i.test(title)));
  expect(vague).toEqual([]);
});

test("no test replaces one of our modules", () => {
  expect(tests().filter(({ text }) => /\bvi\.(mock|doMock|spyOn)\(/.test(text))).toEqual([]);
});

test("no test sleeps", () => {
  const sleeping = everywhere().filter(({ text }) => /new Promise\(\((\w+)\) => setTimeout\(\1\b/.test(text));
  expect(sleeping.map(({ file }) => file)).toEqual([]);
});

/**
 * One is a whole run of many cases, by a script. The others compare processor time of this process, which does not pass while others work,
 * with a factor of five to spare: that a reader's time grows with the text and not with its square can be seen in no other way.
 */
const LONG = ["packages/retinue/src/secrets/linear-time.test.ts", "test/crash/tree.test.ts", "test/long-text.test.ts"];

test("every test waits with the same patience, and none looks at the clock", () => {
  const own =
    /\bvi\.wait(For|Until)\(|expect\.poll\([^;]*\btimeout:|^ *\}, [0-9_]+\);|\{ timeout: [0-9_]+ \},? *(async )?\(|cpuUsage\(|performance\.now\(/m;
  const found = everywhere().filter(({ file, text }) => file !== "test/structure.test.ts" && own.test(text));
  expect(found.map(({ file }) => file)).toEqual(LONG);
});

/** Tests of the packages, and of everything together; those of other programs need what those need. */
function everywhere(): { file: string; text: string }[] {
  const together = files.filter((file) => /^test\/(?!harness\/).*\.ts$/.test(file));
  return [...tests(), ...together.map((file) => ({ file, text: readFileSync(path.join(root, file), "utf8") }))];
}

function tests(): Source[] {
  return sources.filter(({ isForTests }) => isForTests);
}

/** Functions that are one expression are left out: a schema is data. */
function longestFunction(source: Source): number {
  let most = 0;
  const measure = (node: { start: number; end: number; body?: { type: string } | null }) => {
    if (node.body?.type === "BlockStatement") most = Math.max(most, linesOf(source, node));
  };
  visit(source, {
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
  });
  return most;
}

function mostParameters(source: Source): number {
  let most = 0;
  const count = ({ params }: { params: readonly unknown[] }) => {
    most = Math.max(most, params.length);
  };
  visit(source, {
    FunctionDeclaration: count,
    FunctionExpression: count,
    ArrowFunctionExpression: count,
    TSMethodSignature: count,
  });
  return most;
}

/** Members of the widest class; of the widest interface those that can be called, which leaves out plain data. */
function mostMembers(source: Source): number {
  let most = 0;
  if (WIDE.has(source.file)) return most;
  visit(source, {
    ClassBody: ({ body }) => {
      const names = new Set<string>();
      for (const member of body) {
        if (member.type === "StaticBlock" || member.type === "TSIndexSignature" || member.static) continue;
        const isHidden = member.key.type === "PrivateIdentifier" || member.accessibility === "private";
        const isConstructor = member.type === "MethodDefinition" && member.kind === "constructor";
        if (!isHidden && !isConstructor) names.add(source.text.slice(member.key.start, member.key.end));
      }
      most = Math.max(most, names.size);
    },
    TSInterfaceBody: ({ body }) => {
      const callable = body.filter(
        (member) =>
          member.type === "TSMethodSignature" ||
          (member.type === "TSPropertySignature" && member.typeAnnotation?.typeAnnotation.type === "TSFunctionType"),
      );
      most = Math.max(most, callable.length);
    },
  });
  return most;
}

function parsedCasts(source: Source): number {
  let found = 0;
  visit(source, {
    TSAsExpression: ({ expression }) => {
      if (expression.type !== "CallExpression") return;
      const { start, end } = expression.callee;
      if (source.text.slice(start, end) === "JSON.parse") found++;
    },
  });
  return found;
}

function emptyCatches(source: Source): number {
  let found = 0;
  visit(source, {
    CatchClause: ({ body }) => {
      if (body.body.length === 0) found++;
    },
  });
  return found;
}

function titlesOf(source: Source): string[] {
  const titles: string[] = [];
  visit(source, {
    CallExpression: ({ callee, arguments: [first] }) => {
      const name = source.text.slice(callee.start, callee.end);
      if (!/^(test|it|describe)\b/.test(name) || first?.type !== "Literal" || typeof first.value !== "string") return;
      titles.push(first.value);
    },
  });
  return titles;
}
