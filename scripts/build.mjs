/**
 * Bundles the executable into one file, and compiles it ahead of time: bin/retinue.js loads both, and starts in about half the time.
 * The compiled code is only a cache: another version of Node ignores it.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { outsideImports } from "./outside.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = path.join(root, "packages/retinue/dist");
const options = {
  absWorkingDir: root,
  entryPoints: ["packages/retinue/src/cli/main.ts"],
  outfile: path.join(out, "main.cjs"),
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20",
  loader: { ".md": "text" },
  // Code that was compiled ahead cannot use import(); every package outside the bundle can be required.
  supported: { "dynamic-import": false },
  minify: true,
  sourcemap: "external",
  external: [...outsideImports, "node:sqlite"],
  define: { "import.meta.url": "__bundleUrl" },
  banner: { js: 'const __bundleUrl=require("node:url").pathToFileURL(__filename).href;' },
  legalComments: "none",
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  const write = { name: "write", setup: (build) => build.onEnd(({ outputFiles = [] }) => void finish(outputFiles)) };
  const context = await esbuild.context({ ...options, write: false, plugins: [write] });
  await context.watch();
} else {
  const { outputFiles } = await esbuild.build({ ...options, write: false });
  finish(outputFiles);
}

function finish(outputFiles) {
  const bundle = outputFiles.find((file) => file.path.endsWith(".cjs"));
  const map = outputFiles.find((file) => file.path.endsWith(".map"));
  if (!bundle || !map) return; // The errors are printed already.
  // One other character would make V8 keep the whole text with two bytes for each character: a megabyte more in every process.
  if (/[^\0-\x7f]/.test(bundle.text))
    throw new Error("the bundle is not ASCII: write \\u escapes in regular expressions");
  // One function of `z.core` brings all of it, with texts in fifty languages, and every start takes a twentieth longer.
  const locale = JSON.parse(map.text).sources.find((source) => /zod\/v4\/locales\/(?!en\.|index\.)/.test(source));
  if (locale) throw new Error(`the bundle has ${path.basename(locale)}: use only the types of z.core`);
  const id = createHash("sha256").update(bundle.contents).digest("hex").slice(0, 32);

  mkdirSync(out, { recursive: true });
  writeWhole("main.cjs.map", map.contents);
  // The id ties the compiled code to this exact text: V8 itself compares only the length.
  writeWhole("main.cjs", `/*${id}*/${bundle.text}`);
  const compiled = spawnSync(process.execPath, [path.join(root, "scripts/compile-ahead.cjs"), out], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (compiled.status !== 0) console.error("retinue: the bundle works, but could not be compiled ahead");
}

/** Replaces a file in one step: a runtime that starts at this moment reads the old file or the new one, never half of it. */
function writeWhole(name, contents) {
  const temporary = path.join(out, `.${name}.${process.pid}`);
  writeFileSync(temporary, contents);
  renameSync(temporary, path.join(out, name));
}
