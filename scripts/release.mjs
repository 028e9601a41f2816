/**
 * Packs the workspaces into tarballs that npm can install: compiled JavaScript, its types, and a manifest that points at them.
 * The sources stay as they are: there the manifests point at TypeScript. Beside them go the release notes, the bill of materials of
 * each package, and the checksums; with `--exe` also one executable for this platform. Publishes nothing.
 *
 * Needs the bundle of scripts/build.mjs. `--out <folder>` names another place than ./release, `--repository <address>` where the sources
 * are when git has no origin.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { OUTSIDE } from "./outside.mjs";
import { billOfMaterials, checkContents, noticesOf, releaseNotes, writeChecksums } from "./shipped.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = path.resolve(option("--out") ?? path.join(root, "release"));
const repository = option("--repository") ?? originOfGit();
const workspace = readJson(path.join(root, "package.json"));
const SPECIFIER = /((?:from|import) "|import\(")(\.[^"]+)\.ts"/g;

const PACKAGES = { protocol: {}, sdk: {}, retinue: { add: addExecutable } };
/** Their code is inside the executable. Only programs that import the runtime as a library need them, and those have the SDK: one copy of it. */
const PEERS = ["@retinue/protocol", "@retinue/sdk"];
/** The manifests of the packages that are packed already. */
const ours = [];

run("npx", ["tsc", "-b", "packages/retinue"]);
const staging = mkdtempSync(path.join(tmpdir(), "retinue-release-"));
try {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const [name, options] of Object.entries(PACKAGES)) console.log(await release(name, options));
  if (process.argv.includes("--exe")) {
    const { buildExecutable } = await import("./single-file.mjs");
    console.log(await buildExecutable({ root, staging, out }));
  }
  writeFileSync(path.join(out, "RELEASE-NOTES.md"), releaseNotes(root, workspace.version));
  writeChecksums(out);
  if (!repository)
    console.log("No repository is known: npm will publish with provenance only after --repository <address>.");
} finally {
  rmSync(staging, { recursive: true, force: true });
}

async function release(name, { add = () => ({ sideEffects: false }) }) {
  const source = path.join(root, "packages", name);
  const target = path.join(staging, name);
  const manifest = readJson(path.join(source, "package.json"));
  const entries = Object.entries(manifest.exports).map(([entry, { default: file }]) => ({ entry, file }));
  mkdirSync(target);
  const code = await compile(source, target, entries);
  const types = copyTypes(source, target, entries);
  cpSync(path.join(root, "LICENSE"), path.join(target, "LICENSE"));
  cpSync(path.join(source, "README.md"), path.join(target, "README.md"));
  const { executable, inside = {}, ...fields } = add(target);
  const needed = dependencies(manifest, { code: code + types, executable });
  const released = {
    ...manifest,
    ...fields,
    ...(repository && { repository: { type: "git", url: repository, directory: `packages/${name}` } }),
    engines: workspace.engines,
    exports: Object.fromEntries(entries.map(({ entry, file }) => [entry, built(file)])),
    ...(executable ? withPeers(needed) : { dependencies: needed }),
    publishConfig: { access: "public", provenance: true },
  };
  writeJson(path.join(target, "package.json"), released);
  const line = pack(target);
  writeJson(path.join(out, `${fileName(manifest)}.cdx.json`), billOfMaterials(released, { inside, staging, ours }));
  ours.push(released);
  return line;
}

/** What npm must not look for in a registry where these names may not be ours: a program that needs them has installed them. */
function withPeers(needed) {
  const isPeer = ([name]) => PEERS.includes(name);
  const entries = Object.entries(needed);
  return {
    dependencies: Object.fromEntries(entries.filter((entry) => !isPeer(entry))),
    peerDependencies: Object.fromEntries(entries.filter(isPeer)),
    peerDependenciesMeta: Object.fromEntries(entries.filter(isPeer).map(([name]) => [name, { optional: true }])),
  };
}

/** One file per entry; what entries share, and what is loaded only when it is used, in files of their own. */
async function compile(source, target, entries) {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: source,
    entryPoints: entries.map(({ file }) => file),
    outbase: "src",
    outdir: path.join(target, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    loader: { ".md": "text" },
    packages: "external",
    chunkNames: "chunks/[name]-[hash]",
    legalComments: "none",
    logLevel: "warning",
    write: false,
  });
  for (const file of outputFiles) {
    mkdirSync(path.dirname(file.path), { recursive: true });
    writeFileSync(file.path, file.contents);
  }
  return outputFiles.map(({ text }) => text).join("\n");
}

/** The declarations that can be reached from the entries, with the extensions that every compiler resolves. */
function copyTypes(source, target, entries) {
  const open = entries.map(({ file }) => path.posix.relative("src", file.slice(2)).replace(/\.ts$/, ""));
  const seen = new Set(open);
  let types = "";
  for (const module of open) {
    const text = readFileSync(path.join(source, "types", `${module}.d.ts`), "utf8");
    for (const [, , specifier] of text.matchAll(SPECIFIER)) {
      const next = path.posix.join(path.posix.dirname(module), specifier);
      if (!seen.has(next)) open.push(next);
      seen.add(next);
    }
    types += text;
    const file = path.join(target, "types", `${module}.d.ts`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text.replaceAll(SPECIFIER, '$1$2.js"'));
  }
  return types;
}

function built(file) {
  const module = file.replace(/^\.\/src\//, "").replace(/\.ts$/, "");
  return { types: `./types/${module}.d.ts`, default: `./dist/${module}.js` };
}

/** The bundle, and the launcher that knows where it is. */
function addExecutable(target) {
  const bundle = path.join(root, "packages/retinue/dist/main.cjs");
  cpSync(bundle, path.join(target, "dist/main.cjs"));
  cpSync(path.join(root, "bin"), path.join(target, "bin"), { recursive: true });
  cpSync(path.join(root, "packages/retinue/grammars"), path.join(target, "grammars"), { recursive: true });
  const launcher = path.join(target, "bin/retinue.js");
  const text = readFileSync(launcher, "utf8").replace("../packages/retinue/dist/main.cjs", "../dist/main.cjs");
  if (!text.includes('"../dist/main.cjs"')) throw new Error("bin/retinue.js no longer says where the bundle is");
  writeFileSync(launcher, text);
  const { sources } = readJson(`${bundle}.map`);
  const inputs = sources.map((file) => path.resolve(path.dirname(bundle), file));
  const { text: notices, versions: inside } = noticesOf(inputs);
  writeFileSync(path.join(target, "THIRD-PARTY-NOTICES.md"), notices);
  return { bin: { retinue: "bin/retinue.js" }, executable: readFileSync(bundle, "utf8"), inside };
}

/** The declared dependencies that code or types import, or that stay outside the bundle. */
function dependencies(manifest, { code, executable = "" }) {
  const isIn = (text, name) => text.includes(`"${name}"`) || text.includes(`"${name}/`);
  const isNeeded = (name) => isIn(code, name) || (OUTSIDE.includes(name) && isIn(executable, name));
  return Object.fromEntries(Object.entries(manifest.dependencies).filter(([name]) => isNeeded(name)));
}

function pack(folder) {
  const { stdout } = run("npm", ["pack", "--json", "--pack-destination", out], { cwd: folder });
  const [{ filename, size, unpackedSize, files }] = JSON.parse(stdout);
  checkContents(
    filename,
    files.map((file) => file.path),
  );
  if (!statSync(path.join(out, filename)).isFile()) throw new Error(`npm packed no ${filename}`);
  return `${filename}  ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`;
}

function fileName({ name, version }) {
  return `${name.replace(/^@(.*)\//, "$1-")}-${version}`;
}

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function originOfGit() {
  const { stdout } = spawnSync("git", ["config", "--get", "remote.origin.url"], { cwd: root, encoding: "utf8" });
  const address = stdout?.trim() ?? "";
  return /^(https:|git@|ssh:)/.test(address) ? address : undefined; // A folder of this machine is nobody's business.
}

function kilobytes(bytes) {
  return `${Math.round(bytes / 1000)} kB`;
}

function run(command, args, { cwd = root } = {}) {
  const done = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${done.stdout}${done.stderr}`);
  return done;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
