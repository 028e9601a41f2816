/** The core of the SDK runs in a browser: what needs Node is in one chunk that is loaded when it is used. */
import { builtinModules } from "node:module";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

async function bundle(entry: string) {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    external: ["node:*"],
    outdir: "unused",
    write: false,
    metafile: true,
  });
  return Object.values(metafile.outputs).map((output) => ({
    inputs: Object.keys(output.inputs),
    node: output.imports.filter(({ path }) => path.startsWith("node:") || builtinModules.includes(path)),
    isEntry: output.entryPoint === `src/${entry.slice(2)}`,
    lazy: output.imports.filter(({ kind }) => kind === "dynamic-import"),
  }));
}

test("only the spawn chunk imports Node, and the entry loads it lazily", async () => {
  const chunks = await bundle("./index.ts");
  const withNode = chunks.filter(({ node }) => node.length > 0);
  expect(withNode.map(({ inputs }) => inputs)).toEqual([["src/spawn.ts", "src/launch.ts"]]);
  expect(chunks.find(({ isEntry }) => isEntry)?.lazy).toHaveLength(1);
});

test("a browser loads no schemas: neither zod nor the tables of the protocol", async () => {
  const loaded = (await bundle("./index.ts")).flatMap(({ inputs }) => inputs);
  expect(loaded.filter((file) => /node_modules\/zod|protocol\/src\/(methods|events)\//.test(file))).toEqual([]);
});
