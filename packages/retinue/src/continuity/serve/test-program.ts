/** The commands of continuity as a program that tests can start: bundled once, beside node_modules, so that the native module is found. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "../../../../..");

export interface TestProgram {
  /** The words that start it. */
  program: string[];
  remove(): void;
}

export async function bundleProgram(): Promise<TestProgram> {
  const folder = join(root, "node_modules/.cache", `retinue-continuity-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, "retinue.mjs");
  await build({
    stdin: {
      contents: `import { runContinuity } from "./program.ts";
        process.exitCode = await runContinuity(process.argv.slice(2), { program: [process.execPath, process.argv[1]], env: process.env, out: process.stdout });`,
      resolveDir: import.meta.dirname,
      loader: "ts",
    },
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["@photostructure/sqlite"],
    loader: { ".md": "text" },
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  return { program: [process.execPath, outfile], remove: () => rmSync(folder, { recursive: true, force: true }) };
}
