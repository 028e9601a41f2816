/** The arrows of docs/architecture.md, checked: every import of the source follows one, and none leads back. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** In the order of the story: a module imports only from lines above its own. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  sdk: ["protocol"],
  world: [],
  prepared: [],
  store: ["protocol"],
  models: ["protocol"],
  session: ["protocol", "world", "store", "models"],
  hooks: ["protocol", "session"],
  permissions: ["protocol", "store"],
  tools: ["protocol", "prepared", "store", "models"],
  agents: ["protocol", "prepared", "tools"],
  skills: ["protocol", "tools", "agents"],
  mcp: ["protocol", "tools"],
  loop: ["protocol", "world", "models", "session", "hooks", "permissions", "tools"],
  tasks: ["protocol", "world", "store", "session", "tools", "agents", "loop"],
  workspace: ["protocol", "session"],
  recovery: ["protocol", "session", "permissions", "store"],
  continuity: ["protocol", "world", "store", "tools"],
  host: [
    "protocol",
    "world",
    "store",
    "models",
    "session",
    "hooks",
    "permissions",
    "tools",
    "agents",
    "skills",
    "mcp",
    "loop",
    "tasks",
    "workspace",
    "recovery",
    "continuity",
  ],
  modes: ["protocol", "models", "session", "tools", "skills", "loop", "workspace", "host"],
  server: [
    "protocol",
    "world",
    "store",
    "models",
    "session",
    "permissions",
    "tools",
    "agents",
    "mcp",
    "loop",
    "tasks",
    "workspace",
    "host",
    "modes",
  ],
  cli: [
    "protocol",
    "sdk",
    "store",
    "models",
    "permissions",
    "tools",
    "agents",
    "tasks",
    "recovery",
    "continuity",
    "host",
    "server",
  ],
  index: ["models", "host", "server"],
  testing: ["protocol", "sdk", "models", "host", "server"],
};

/** Where Node may be used in packages that also run in a browser. */
const NEEDS_NODE = /^packages\/sdk\/src\/(spawn\.ts|testing\/)/;

/** Tests may import anything, and so may what only tests use. */
const FOR_TESTS = /(\.test|\.fixture|\.contract)\.ts$|\/(test-[^/]*\.ts|fixtures\/)/;

interface Import {
  file: string;
  from: string;
  spec: string;
}

const IMPORT = /^(?:import|export)\s[^"';]*?\bfrom "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;

function importsOf(file: string): Import[] {
  const text = readFileSync(path.join(root, file), "utf8");
  return [...text.matchAll(IMPORT)].map(([, ...specs]) => ({
    file,
    from: moduleOf(file),
    spec: specs.find((spec) => spec !== undefined) ?? "",
  }));
}

/** `packages/retinue/src/loop/drive.ts` is in `loop`, `packages/sdk/src/client.ts` in `sdk`. */
function moduleOf(file: string): string {
  const [, pkg = "", , part = ""] = file.split("/");
  return pkg === "retinue" ? part.replace(/(\.d)?\.ts$/, "") : pkg;
}

function targetOf({ file, spec }: Import): string | undefined {
  if (spec.startsWith(".")) return moduleOf(path.posix.join(path.posix.dirname(file), spec));
  if (spec === "retinue") return "index";
  if (spec === "retinue/testing") return "testing";
  return spec.startsWith("@retinue/") ? spec.split("/")[1] : undefined;
}

function sources(): string[] {
  const packages = readdirSync(path.join(root, "packages"));
  const files = packages.flatMap((name) => {
    const folder = path.join(root, "packages", name, "src");
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts"))
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, "/"));
  });
  return files.filter((file) => !FOR_TESTS.test(file));
}

const all = sources().flatMap(importsOf);

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

  test("every folder of the source has its line, and no line is left over", () => {
    const found = new Set(sources().map(moduleOf));
    expect([...found].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  test("docs/architecture.md shows the same arrows", () => {
    const page = readFileSync(path.join(root, "docs/architecture.md"), "utf8");
    const section = page.split(/^## /m).find((part) => part.startsWith("Arrows")) ?? "";
    const rows = section.matchAll(/^\| `(\w+)` \| ([^|]*) \|/gm);
    const shown = [...rows].map(([, name = "", cell = ""]) => [
      name,
      [...cell.matchAll(/`(\w+)`/g)].map(([, to]) => to),
    ]);
    expect(shown).toEqual(Object.entries(MAY_IMPORT));
  });

  test("protocol and sdk use nothing of Node, but where a process is started or a test served", () => {
    const node = all.filter(({ file, spec }) => /^packages\/(protocol|sdk)\//.test(file) && spec.startsWith("node:"));
    expect(node.filter(({ file }) => !NEEDS_NODE.test(file)).map(({ file, spec }) => `${file}: ${spec}`)).toEqual([]);
  });

  test("every package declares what it imports", () => {
    const declared = new Map<string, ReadonlySet<string>>();
    for (const name of readdirSync(path.join(root, "packages"))) {
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
