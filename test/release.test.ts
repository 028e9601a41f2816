/** What we publish: packed, installed into an empty folder, and used with plain Node, as a user would. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-release-test-")));
const tarballs = path.join(folder, "tarballs");
const MEGABYTE = 1_000_000;
const QUIETLY = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
const REPOSITORY = "git+https://example.com/retinue.git";
const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));

beforeAll(async () => {
  const { stdout } = await run(
    process.execPath,
    ["scripts/release.mjs", "--out", tarballs, "--repository", REPOSITORY],
    root,
  );
  process.stdout.write(stdout);
  await Promise.all([
    install("host", ["@retinue/protocol", "@retinue/sdk"]),
    install("app", ["@retinue/protocol", "@retinue/sdk", "retinue"]),
    installAlone(),
  ]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("every entry of every exports map can be imported", async () => {
  const specifiers = ["@retinue/protocol", "@retinue/sdk", "retinue"].flatMap((name) => {
    const { exports } = manifestOf("app", name);
    return Object.keys(exports).map((entry) => path.posix.join(name, entry));
  });
  expect(specifiers).toContain("retinue/testing");
  const counts = await program<Record<string, number>>(
    "app",
    `const names = async (specifier) => [specifier, Object.keys(await import(specifier)).length];
     console.log(JSON.stringify(Object.fromEntries(await Promise.all(${JSON.stringify(specifiers)}.map(names)))));`,
  );
  expect(Object.keys(counts)).toEqual(specifiers);
  expect(Object.values(counts)).not.toContain(0);
});

test("the one tarball of the runtime, installed globally into an empty place, is the whole command", async () => {
  const at = path.join(folder, "alone");
  expect(existsSync(path.join(at, "lib/node_modules/retinue/node_modules/@retinue"))).toBe(false);
  expect(readdirSync(path.join(at, "lib/node_modules"))).toEqual(["retinue"]);
  const retinue = async (...args: string[]) =>
    (await run(path.join(at, "bin/retinue"), [...args, "--home", path.join(at, "home")], path.join(folder, "app/work")))
      .stdout;
  expect((await run(path.join(at, "bin/retinue"), ["--version"], at)).stdout.trim()).toBe(version);
  expect(await retinue("-p", "Which files contain needle?", "--quiet")).toContain("hay.txt");
  const checks: { name: string; status: string }[] = JSON.parse(await retinue("doctor", "--json"));
  expect(checks.filter(({ status }) => status === "problem")).toEqual([]);
});

test("a release has the notes of its version, a bill of materials for each package, and checksums of all of it", () => {
  const read = (file: string) => readFileSync(path.join(tarballs, file), "utf8");
  expect(read("RELEASE-NOTES.md")).toMatch(new RegExp(`^# Retinue ${version}\n\n### Added\n`));

  const names = ["retinue-protocol", "retinue-sdk", "retinue"];
  const files = names.flatMap((name) => [`${name}-${version}.cdx.json`, `${name}-${version}.tgz`]);
  expect(readdirSync(tarballs).sort()).toEqual([...files, "RELEASE-NOTES.md", "SHA256SUMS"].sort());
  for (const [, sum, file = ""] of read("SHA256SUMS").matchAll(/^(\w+) {2}(.+)$/gm))
    expect(
      createHash("sha256")
        .update(readFileSync(path.join(tarballs, file)))
        .digest("hex"),
      file,
    ).toBe(sum);
  expect(read("SHA256SUMS").trim().split("\n")).toHaveLength(files.length + 1);
});

test("the bill of materials names what is installed and what is inside the bundle, and no tool of ours", () => {
  const bill = JSON.parse(readFileSync(path.join(tarballs, `retinue-${version}.cdx.json`), "utf8"));
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "retinue", version } } });
  const components: { name: string; version: string; properties?: { name: string }[] }[] = bill.components;
  const named = new Set(components.map(({ name, version }) => `${name}@${version}`));

  const installed = readdirSync(path.join(folder, "app/node_modules"), { withFileTypes: true })
    .flatMap(({ name }) =>
      name.startsWith("@")
        ? readdirSync(path.join(folder, "app/node_modules", name)).map((rest) => `${name}/${rest}`)
        : name,
    )
    .filter((name) => !name.startsWith(".") && name !== "retinue");
  expect(installed.filter((name) => !named.has(`${name}@${manifestOf("app", name).version}`))).toEqual([]);

  const notices = readFileSync(path.join(folder, "app/node_modules/retinue/THIRD-PARTY-NOTICES.md"), "utf8");
  const inside = [...notices.matchAll(/^## (\S+) (\S+) \(/gm)].map(([, name, version]) => `${name}@${version}`);
  const marked = components.filter(({ properties }) => properties?.some(({ name }) => name === "retinue:bundled"));
  expect(marked.map(({ name, version }) => `${name}@${version}`).sort()).toEqual(inside.sort());
  expect([...named].filter((name) => /^(vitest|typescript|esbuild|@biomejs\/biome)@/.test(name))).toEqual([]);
});

test("packages are published openly and with provenance, from the repository that the release names", () => {
  for (const name of ["@retinue/protocol", "@retinue/sdk", "retinue"]) {
    expect(manifestOf("app", name)).toMatchObject({
      publishConfig: { access: "public", provenance: true },
      repository: { type: "git", url: REPOSITORY, directory: `packages/${path.basename(name)}` },
    });
  }
});

test("a first session runs on the installed executable, with the installed SDK and no key", async () => {
  const result = await program<{ answer: string; version: string }>(
    "app",
    `import { approveAll, RetinueClient } from "@retinue/sdk";
     const client = new RetinueClient({ baseDirectory: "home" });
     const session = await client.createSession({ onPermissionRequest: approveAll, workingDirectory: process.cwd() });
     const { data } = await session.sendAndWait("List the files here");
     const { version } = await client.getStatus();
     const problems = await client.stop();
     console.log(JSON.stringify({ answer: data.content, version, problems: problems.length }));`,
  );
  expect(result).toMatchObject({ version: manifestOf("app", "retinue").version, problems: 0 });
  expect(result.answer).toContain("package.json");
});

test("tools that need a package outside the bundle find it: searching, and the session's database", async () => {
  const results = await program<string[]>(
    "app",
    `import { approveAll, RetinueClient } from "@retinue/sdk";
     import { call, say, startScriptedModel } from "@retinue/sdk/testing";
     const calls = [call("grep", { pattern: "needle" }), call("sql", { query: "SELECT 6 * 7 AS n" }), say("done")];
     const model = await startScriptedModel(calls);
     const client = new RetinueClient({ baseDirectory: "home" });
     const session = await client.createSession({ provider: model.provider, model: "m", onPermissionRequest: approveAll, workingDirectory: process.cwd() + "/work" });
     await session.sendAndWait("look");
     console.log(JSON.stringify(model.requests.at(-1).results));
     await client.stop();
     await model[Symbol.asyncDispose]();`,
  );
  expect(results).toEqual([expect.stringContaining("hay.txt"), expect.stringContaining("| 42 |")]);
});

test("command lines are read by the installed parser, in the executable and in the library", async () => {
  const offered = await program<boolean[]>(
    "app",
    `import { approveAll, RetinueClient } from "@retinue/sdk";
     import { call, say, startScriptedModel } from "@retinue/sdk/testing";
     import * as kit from "retinue/testing";
     const offered = [];
     const onPermissionRequest = (request) => {
       offered.push(request.canOfferSessionApproval);
       return { kind: "approve-once" };
     };
     const model = await startScriptedModel([call("bash", { command: "true && echo hi" }), say("done")]);
     const client = new RetinueClient({ baseDirectory: "home" });
     const session = await client.createSession({ provider: model.provider, model: "m", onPermissionRequest });
     await session.sendAndWait("run");
     await client.stop();
     await model[Symbol.asyncDispose]();
     const provider = kit.scripted([[kit.call("bash", { command: "true && echo hi" })], [kit.say("done")]]);
     const app = await kit.startInMemory({ provider });
     await (await app.client.createSession({ onPermissionRequest })).sendAndWait("run");
     await app[Symbol.asyncDispose]();
     console.log(JSON.stringify(offered));`,
  );
  expect(offered).toEqual([true, true]); // A line that cannot be read offers nothing.
});

test("every package that the bundle leaves outside is installed with it", async () => {
  const bundle = path.join(folder, "app/node_modules/retinue/dist/main.cjs");
  const required = [...readFileSync(bundle, "utf8").matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name = ""]) => name);
  const names = [...new Set(required)].filter((name) => !isBuiltin(name));
  expect(names).toEqual(expect.arrayContaining(["htmlparser2", "ipaddr.js", "linkedom", "@mozilla/readability"]));
  const sizes = await program<number[]>(
    "app",
    `import { createRequire } from "node:module";
     const require = createRequire(${JSON.stringify(bundle)});
     console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => Object.keys(require(name)).length)));`,
  );
  expect(sizes).not.toContain(0);
});

test("the test kit runs a runtime in memory", async () => {
  const result = await program<{ answer: string; query: string }>(
    "app",
    `import { call, say, scripted, startInMemory } from "retinue/testing";
     const provider = scripted([[call("sql", { query: "SELECT 6 * 7 AS n" })], [say("done")]]);
     const app = await startInMemory({ provider });
     const session = await app.client.createSession();
     const { data } = await session.sendAndWait("count");
     await app[Symbol.asyncDispose]();
     console.log(JSON.stringify({ answer: data.content, query: provider.requests[1].messages.at(-1).text }));`,
  );
  expect(result).toEqual({ answer: "done", query: expect.stringContaining("| 42 |") });
});

test("the types of every package resolve, ours and those that they name", async () => {
  const source = `
    import { AppError, type SessionEvent } from "@retinue/protocol";
    import { Peer } from "@retinue/protocol/peer";
    import { ERRORS } from "@retinue/protocol/errors";
    import { streamTransport } from "@retinue/protocol/stream";
    import { defineTool, RetinueClient, type Session } from "@retinue/sdk";
    import { startScriptedModel } from "@retinue/sdk/testing";
    import { Runtime, runtimeConfig } from "retinue";
    import { scripted, startInMemory } from "retinue/testing";
    import * as z from "zod";

    const tool = defineTool("t", { description: "d", parameters: z.object({ n: z.number() }), handler: ({ n }) => n.toFixed() });
    await using app = await startInMemory({ provider: scripted([]) });
    const client: RetinueClient = app.client;
    const session: Session = await client.createSession({ tools: [tool] });
    session.on("assistant.message", ({ data }) => data.content.trim());
    // @ts-expect-error -- there is no such event, so the list of events was found
    session.on("no.such_event", () => {});
    export const used: unknown[] = [AppError, Peer, ERRORS, streamTransport, startScriptedModel, Runtime, runtimeConfig];
    export const kinds = (event: SessionEvent): string => event.type;
  `;
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    strict: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [path.join(root, "node_modules/@types")],
  };
  writeFileSync(path.join(folder, "app/check.ts"), source);
  writeFileSync(path.join(folder, "app/tsconfig.json"), JSON.stringify({ compilerOptions, files: ["check.ts"] }));
  const { stdout } = await run(path.join(root, "node_modules/.bin/tsc"), ["-p", "."], path.join(folder, "app"));
  expect(stdout).toBe("");
});

test("the SDK with all that it needs is under 10 MB, and its part that starts processes is apart", () => {
  const bytes = sizeOf(path.join(folder, "host/node_modules"));
  process.stdout.write(`@retinue/sdk installs as ${(bytes / MEGABYTE).toFixed(1)} MB\n`);
  expect(bytes).toBeLessThan(10 * MEGABYTE);
  const core = loadedWith(path.join(folder, "host/node_modules/@retinue/sdk/dist/index.js"));
  expect(core).not.toMatch(/from "node:/);
  expect(core).toMatch(/import\("\.\/(chunks\/)?spawn-\w+\.js"\)/);
});

test("packages carry their licence and a page, and neither sources nor tests nor maps", () => {
  for (const name of ["@retinue/protocol", "@retinue/sdk", "retinue"]) {
    const at = path.join(folder, "app/node_modules", name);
    for (const file of ["LICENSE", "README.md"]) expect(existsSync(path.join(at, file)), `${name}/${file}`).toBe(true);
    const files = readdirSync(at, { recursive: true, encoding: "utf8" });
    expect(files.filter((file) => /\.test\.|^src\b|(?<!\.d)\.ts$|\.map$/.test(file))).toEqual([]);
  }
});

/** The text of a module together with everything of its own package that it imports statically. */
function loadedWith(file: string): string {
  const text = readFileSync(file, "utf8");
  const imports = [...text.matchAll(/(?:from|^import) "(\.[^"]+)"/gm)].map(([, specifier = ""]) => specifier);
  return [text, ...imports.map((specifier) => loadedWith(path.join(path.dirname(file), specifier)))].join("\n");
}

interface Manifest {
  version: string;
  exports: Record<string, unknown>;
}

function manifestOf(place: string, name: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, place, "node_modules", name, "package.json"), "utf8"));
}

/** Our packages from the tarballs, the others from where npm gets them. */
async function install(place: string, names: readonly string[]): Promise<void> {
  const at = path.join(folder, place);
  const files = readdirSync(tarballs);
  const tarball = (name: string) =>
    files.find((file) => new RegExp(`^${name.replace(/^@(.*)\//, "$1-")}-\\d.*\\.tgz$`).test(file));
  const dependencies = Object.fromEntries(names.map((name) => [name, `file:../tarballs/${tarball(name)}`]));
  mkdirSync(path.join(at, "work"), { recursive: true });
  writeFileSync(path.join(at, "work/hay.txt"), "a needle\n");
  writeFileSync(path.join(at, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  await run("npm", ["install", ...QUIETLY], at);
}

/** As `npm install --global` does it for somebody who was given one file. */
async function installAlone(): Promise<void> {
  const at = path.join(folder, "alone");
  mkdirSync(at);
  const tarball = path.join(tarballs, `retinue-${version}.tgz`);
  await run("npm", ["install", "--global", "--prefix", at, ...QUIETLY, tarball], at);
}

/** Runs a module in the folder and reads the JSON that it prints. */
async function program<Result>(place: string, source: string): Promise<Result> {
  const at = path.join(folder, place);
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", source], at);
  return JSON.parse(stdout);
}

/** Whoever runs the tests may have a runtime or a model configured; what is installed must not use it. */
async function run(command: string, args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  const isOurs = /^(RETINUE_|COPILOT_|OPENAI_|ANTHROPIC_|NODE_OPTIONS$|NODE_PATH$|VITEST)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs.test(name)));
  return await promisify(execFile)(command, args, { cwd, env });
}

function sizeOf(at: string): number {
  const files = readdirSync(at, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}
