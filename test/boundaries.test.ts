/** The arrows of docs/architecture.md, checked: every import of the source follows one, and there are no cycles. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf, packages, root, type Source, shipped } from "./support/sources.ts";

/** In reading order: a module imports only from lines above its own. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  sdk: ["protocol"],
  world: [],
  prepared: [],
  "real-path": [],
  remembered: [],
  nearest: [],
  secrets: [],
  store: ["protocol", "remembered"],
  processes: ["store"],
  models: ["protocol", "remembered", "nearest", "secrets"],
  session: ["protocol", "world", "real-path", "secrets", "store", "models"],
  asks: ["protocol", "session"],
  "shell-language": ["protocol"],
  permissions: ["protocol", "real-path", "nearest", "store", "session", "shell-language"],
  recovery: ["protocol", "store", "session", "asks"],
  project: ["protocol", "real-path", "store"],
  tools: ["protocol", "prepared", "real-path", "secrets", "store", "processes", "models", "shell-language"],
  hooks: ["protocol", "nearest", "secrets", "processes", "session", "project", "tools"],
  agents: ["protocol", "prepared", "nearest", "project", "tools"],
  skills: ["protocol", "project", "tools", "agents"],
  mcp: ["protocol", "nearest", "secrets", "store", "processes", "project", "tools"],
  plugins: ["protocol", "real-path", "secrets", "store", "project", "hooks", "agents", "skills", "mcp"],
  loop: ["protocol", "world", "remembered", "models", "session", "hooks", "asks", "permissions", "recovery", "tools"],
  tree: [
    "protocol",
    "store",
    "processes",
    "models",
    "session",
    "hooks",
    "asks",
    "permissions",
    "project",
    "tools",
    "agents",
    "skills",
    "mcp",
    "plugins",
    "loop",
  ],
  tasks: [
    "protocol",
    "world",
    "store",
    "processes",
    "session",
    "asks",
    "recovery",
    "tools",
    "agents",
    "skills",
    "mcp",
    "loop",
    "tree",
  ],
  workspace: [
    "protocol",
    "real-path",
    "secrets",
    "store",
    "processes",
    "session",
    "project",
    "hooks",
    "agents",
    "skills",
    "mcp",
  ],
  "continuity/records": ["protocol", "world", "secrets", "store"],
  "continuity/recall": ["protocol", "secrets", "store", "continuity/records"],
  "continuity/ingest": ["protocol", "store", "continuity/records", "continuity/recall"],
  "continuity/connectors": ["protocol", "secrets", "store", "continuity/recall", "continuity/ingest"],
  "continuity/serve": [
    "protocol",
    "world",
    "secrets",
    "store",
    "processes",
    "tools",
    "continuity/records",
    "continuity/recall",
    "continuity/ingest",
    "continuity/connectors",
  ],
  host: [
    "protocol",
    "world",
    "secrets",
    "store",
    "processes",
    "models",
    "session",
    "hooks",
    "asks",
    "permissions",
    "recovery",
    "project",
    "tools",
    "agents",
    "skills",
    "plugins",
    "loop",
    "tree",
    "tasks",
    "workspace",
    "continuity/records",
    "continuity/recall",
    "continuity/ingest",
    "continuity/serve",
  ],
  modes: [
    "protocol",
    "nearest",
    "models",
    "session",
    "asks",
    "tools",
    "agents",
    "skills",
    "mcp",
    "plugins",
    "loop",
    "tree",
    "workspace",
    "host",
  ],
  server: [
    "protocol",
    "world",
    "secrets",
    "store",
    "processes",
    "models",
    "session",
    "asks",
    "tools",
    "agents",
    "mcp",
    "plugins",
    "loop",
    "tree",
    "tasks",
    "workspace",
    "host",
    "modes",
  ],
  cli: [
    "protocol",
    "sdk",
    "real-path",
    "nearest",
    "secrets",
    "store",
    "processes",
    "models",
    "session",
    "permissions",
    "recovery",
    "project",
    "tools",
    "hooks",
    "agents",
    "skills",
    "mcp",
    "plugins",
    "tasks",
    "workspace",
    "continuity/connectors",
    "continuity/serve",
    "host",
    "server",
  ],
  index: ["models", "host", "server"],
  testing: ["protocol", "sdk", "models", "host", "server"],
};

/** Where Node may be used in packages that also run in a browser. */
const NEEDS_NODE = /^packages\/sdk\/src\/(spawn\.ts|testing\/)/;

interface Import {
  file: string;
  from: string;
  spec: string;
}

function namedImports(source: Source): Import[] {
  const { file } = source;
  return importsOf(source).map((spec) => ({ file, from: moduleOf(file), spec }));
}

/** `packages/retinue/src/loop/drive.ts` is in `loop`, `packages/sdk/src/client.ts` in `sdk`; continuity's rooms count each for itself. */
function moduleOf(file: string): string {
  const [, pkg = "", , part = "", room = ""] = file.split("/");
  if (pkg !== "retinue") return pkg;
  return part === "continuity" ? `${part}/${room}` : part.replace(/(\.d)?\.ts$/, "");
}

function targetOf({ file, spec }: Import): string | undefined {
  if (spec.startsWith(".")) return moduleOf(path.posix.join(path.posix.dirname(file), spec));
  if (spec === "retinue") return "index";
  if (spec === "retinue/testing") return "testing";
  return spec.startsWith("@retinue/") ? spec.split("/")[1] : undefined;
}

/** Tests may import anything, and so may what only tests use. */
const all = shipped.flatMap(namedImports);

describe("boundaries", () => {
  test("every import follows an arrow", () => {
    const astray = all.flatMap((each) => {
      const to = targetOf(each);
      const isFine = to === undefined || to === each.from || MAY_IMPORT[each.from]?.includes(to);
      return isFine ? [] : [`${each.file}: ${each.from} may not import ${to}`];
    });
    expect(astray).toEqual([]);
  });

  test("a module imports only from lines above its own, so there is no cycle", () => {
    const order = Object.keys(MAY_IMPORT);
    const upward = order.flatMap((from, line) =>
      (MAY_IMPORT[from] ?? []).filter((to) => !order.slice(0, line).includes(to)).map((to) => `${from} → ${to}`),
    );
    expect(upward).toEqual([]);
  });

  test("no file imports itself in the end, types included", () => {
    expect(inCycles()).toEqual([]);
  });

  test("every folder of the source has its line, and no line is left over", () => {
    const found = new Set(shipped.map(({ file }) => moduleOf(file)));
    expect([...found].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  test("docs/architecture.md shows the same arrows", () => {
    const page = readFileSync(path.join(root, "docs/architecture.md"), "utf8");
    const section = page.split(/^## /m).find((part) => part.startsWith("Arrows")) ?? "";
    const rows = section.matchAll(/^\| `([\w/-]+)` \| ([^|]*) \|/gm);
    const shown = [...rows].map(([, name = "", cell = ""]) => [
      name,
      [...cell.matchAll(/`([\w/-]+)`/g)].map(([, to]) => to),
    ]);
    expect(shown).toEqual(Object.entries(MAY_IMPORT));
  });

  test("protocol and sdk use nothing of Node, but where a process is started or a test served", () => {
    const node = all.filter(({ file, spec }) => /^packages\/(protocol|sdk)\//.test(file) && spec.startsWith("node:"));
    expect(node.filter(({ file }) => !NEEDS_NODE.test(file)).map(({ file, spec }) => `${file}: ${spec}`)).toEqual([]);
  });

  test("every package declares what it imports", () => {
    const declared = new Map<string, ReadonlySet<string>>();
    for (const name of packages) {
      const manifest = JSON.parse(readFileSync(path.join(root, "packages", name, "package.json"), "utf8"));
      declared.set(name, new Set(Object.keys(manifest.dependencies ?? {})));
    }
    const missing = all.flatMap(({ file, spec }) => {
      if (spec.startsWith(".") || spec.startsWith("node:")) return [];
      const wanted = packageOf(spec);
      return declared.get(file.split("/")[1] ?? "")?.has(wanted) ? [] : [`${file}: ${wanted}`];
    });
    expect(missing).toEqual([]);
  });
});

/** `@scope/name/entry` is an entry of `@scope/name`. */
function packageOf(spec: string): string {
  return spec
    .split("/")
    .slice(0, spec.startsWith("@") ? 2 : 1)
    .join("/");
}

/** Every file that can be reached from itself. */
function inCycles(): string[] {
  const next = new Map<string, string[]>(shipped.map(({ file }) => [file, []]));
  for (const { file, spec } of all) {
    const to = path.posix.join(path.posix.dirname(file), spec);
    if (spec.startsWith(".") && next.has(to)) next.get(file)?.push(to);
  }
  return [...next.keys()].filter((file) => reach(file, next).has(file)).sort();
}

function reach(from: string, next: ReadonlyMap<string, readonly string[]>): Set<string> {
  const seen = new Set<string>();
  const left = [...(next.get(from) ?? [])];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    left.push(...(next.get(file) ?? []));
  }
  return seen;
}
