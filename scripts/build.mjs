/** Bundles the executable: one small entry that starts fast, and chunks that load when they are first used. */
import { rmSync } from "node:fs";
import * as esbuild from "esbuild";

const out = new URL("../packages/retinue/dist", import.meta.url).pathname;
const options = {
  absWorkingDir: new URL("..", import.meta.url).pathname,
  entryPoints: { main: "packages/retinue/src/cli/main.ts" },
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  loader: { ".md": "text" },
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: true,
  external: ["@photostructure/sqlite", "@vscode/ripgrep", "node:sqlite"],
  banner: { js: 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);' },
  chunkNames: "chunk/[name]-[hash]",
  legalComments: "none",
};

if (process.argv.includes("--watch")) {
  const context = await esbuild.context({ ...options, logLevel: "info" });
  await context.watch();
} else {
  rmSync(out, { recursive: true, force: true });
  await esbuild.build({ ...options, logLevel: "warning" });
}
