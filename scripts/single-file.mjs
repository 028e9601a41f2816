/**
 * One executable for this platform, with Node inside: a copy of the Node that runs this script, with our launcher, the bundle, the
 * packages that the bundle leaves outside, and their native parts.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import * as esbuild from "esbuild";
import { inject } from "postject";
import { noticesOf } from "./shipped.mjs";
import unpacking from "./unpack.cjs";

const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
/** They load files that lie beside them, so they are carried as they are. */
const AS_THEY_ARE = ["@photostructure/sqlite", "@vscode/ripgrep"];

export async function buildExecutable({ root, staging, out }) {
  const work = path.join(staging, "exe");
  mkdirSync(work);
  const dist = path.join(root, "packages/retinue/dist");
  const bundle = readFileSync(path.join(dist, "main.cjs"), "utf8");
  const carriedPackages = await packages(root, bundle);
  const files = [
    file("package.json", Buffer.from('{"type":"commonjs"}\n')),
    file("dist/main.cjs", Buffer.from(bundle)),
    // Compiled by this very Node, unless somebody has built with another one: then it is ignored.
    ...(existsSync(path.join(dist, "main.cache"))
      ? [file("dist/main.cache", readFileSync(path.join(dist, "main.cache")))]
      : []),
    file("grammars/bash.wasm", readFileSync(path.join(root, "packages/retinue/grammars/bash.wasm"))),
    ...carriedPackages.flatMap(({ files }) => files),
    ...natives(root),
  ];
  writeFileSync(path.join(work, "files"), unpacking.pack(files));

  const launcher = {
    entryPoints: [path.join(root, "scripts/single-file-main.cjs")],
    outfile: path.join(work, "launcher.cjs"),
  };
  await esbuild.build({
    ...launcher,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    logLevel: "warning",
  });
  const config = {
    main: "launcher.cjs",
    output: "blob",
    disableExperimentalSEAWarning: true,
    assets: { files: "files" },
  };
  writeFileSync(path.join(work, "sea.json"), JSON.stringify(config));
  run(process.execPath, ["--experimental-sea-config", "sea.json"], work);

  const name = `retinue-${process.platform}-${process.arch}${process.platform === "win32" ? ".exe" : ""}`;
  const target = path.join(out, name);
  copyFileSync(process.execPath, target);
  chmodSync(target, 0o755);
  if (process.platform === "darwin") run("codesign", ["--remove-signature", target], work);
  await inject(target, "NODE_SEA_BLOB", readFileSync(path.join(work, "blob")), {
    sentinelFuse: FUSE,
    machoSegmentName: "NODE_SEA",
  });
  if (process.platform === "darwin") run("codesign", ["--sign", "-", target], work);
  writeFileSync(path.join(out, `${name}.NOTICES.md`), notices({ root, dist, carriedPackages }));
  return `${name}  ${Math.round(statSync(target).size / 1e6)} MB, with Node ${process.versions.node}`;
}

/** Node's own licence is long and with its sources; those of all packages are given whole. */
function notices({ root, dist, carriedPackages }) {
  const { sources } = JSON.parse(readFileSync(path.join(dist, "main.cjs.map"), "utf8"));
  const inside = sources.map((source) => path.resolve(dist, source));
  const asTheyAre = natives(root).map(({ name }) => path.join(root, name));
  const { text } = noticesOf([...inside, ...carriedPackages.flatMap(({ inputs }) => inputs), ...asTheyAre]);
  const node = `Node.js ${process.versions.node}: https://github.com/nodejs/node/blob/v${process.versions.node}/LICENSE`;
  return `${text}\n## Node.js\n\n${node}\n`;
}

const file = (name, contents, isProgram = false) => ({ name, contents, isProgram });

/** Each package that the bundle requires, as one file; its entries share that file, so that a class is the same in all of them. */
async function packages(root, bundle) {
  const required = [...bundle.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, specifier]) => specifier);
  const foreign = [...new Set(required)].filter((name) => !isBuiltin(name)).sort();
  const byPackage = Map.groupBy
    ? Map.groupBy(foreign, packageOf)
    : foreign.reduce((map, name) => map.set(packageOf(name), [...(map.get(packageOf(name)) ?? []), name]), new Map());
  const made = await Promise.all(
    [...byPackage]
      .filter(([name]) => !AS_THEY_ARE.includes(name))
      .map(([name, entries]) => onePackage(root, name, entries)),
  );
  return made;
}

async function onePackage(root, name, entries) {
  const getters = entries.map(
    (entry) => `get ${JSON.stringify(entry)}() { return require(${JSON.stringify(entry)}); }`,
  );
  const { outputFiles, metafile } = await esbuild.build({
    metafile: true,
    absWorkingDir: root,
    stdin: { contents: `module.exports = { ${getters.join(", ")} };`, resolveDir: path.join(root, "packages/retinue") },
    bundle: true,
    minify: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    define: { "import.meta.url": "__fileUrl" },
    banner: { js: 'const __fileUrl=require("node:url").pathToFileURL(__filename).href;' },
    external: ["canvas"], // Optional for linkedom, and not installed.
    logLevel: "error",
    write: false,
  });
  const at = `node_modules/${name}`;
  const doors = entries.map((entry) => {
    const rest = entry.slice(name.length + 1);
    const here = rest === "" ? "./all.js" : `./${"../".repeat(rest.split("/").length - 1)}all.js`;
    const text = `module.exports = require(${JSON.stringify(here)})[${JSON.stringify(entry)}];\n`;
    return file(`${at}/${rest === "" ? "index" : rest}.js`, Buffer.from(text));
  });
  const beside = wasmOf(root, name).map((wasm) => file(`${at}/${path.basename(wasm)}`, readFileSync(wasm)));
  const inputs = Object.keys(metafile.inputs).map((input) => path.join(root, input));
  return { files: [file(`${at}/all.js`, Buffer.from(outputFiles[0].contents)), ...doors, ...beside], inputs };
}

function packageOf(specifier) {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** The parser loads its own machine code from beside its file. */
function wasmOf(root, name) {
  if (name !== "web-tree-sitter") return [];
  return [path.join(root, "node_modules/web-tree-sitter/web-tree-sitter.wasm")];
}

function natives(root) {
  const modules = path.join(root, "node_modules");
  const platform = `${process.platform}-${process.arch}`;
  const ripgrep = `@vscode/ripgrep-${platform}`;
  const isOfPlatform = (name) => name.startsWith(`prebuilds/${platform}/`);
  return [
    ...carried(
      modules,
      "@photostructure/sqlite",
      (name) => /^(package\.json|dist\/index\.cjs)$/.test(name) || isOfPlatform(name),
    ),
    ...carried(modules, "node-gyp-build", (name) => /^(package\.json|[\w-]+\.js)$/.test(name)),
    ...carried(modules, "@vscode/ripgrep", (name) => /^(package\.json|lib\/.*\.js)$/.test(name)),
    ...carried(modules, ripgrep, (name) => /^(package\.json|bin\/rg(\.exe)?)$/.test(name)),
  ];
}

function carried(modules, name, isNeeded) {
  const folder = path.join(modules, name);
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((inside) => inside.split(path.sep).join("/"))
    .filter((inside) => isNeeded(inside) && statSync(path.join(folder, inside)).isFile())
    .map((inside) =>
      file(`node_modules/${name}/${inside}`, readFileSync(path.join(folder, inside)), /(^|\/)bin\//.test(inside)),
    );
}

function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
}
