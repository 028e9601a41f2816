/** What the browser loads: the page, its style, and the SDK with the page's program, bundled. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));

export interface PageFile {
  type: string;
  content: string | Uint8Array;
}

/** By path, as the server gives them out. */
export async function bundlePage(): Promise<Map<string, PageFile>> {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ["page.ts"],
    bundle: true,
    // What needs Node is a chunk of its own, which no browser loads.
    splitting: true,
    external: ["node:*"],
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    outdir: "out",
    write: false,
  });
  await stop(); // Its process would outlive the build.
  const text = (name: string) => readFileSync(path.join(folder, name), "utf8");
  const files = new Map<string, PageFile>([
    ["/", { type: "text/html; charset=utf-8", content: text("index.html") }],
    ["/style.css", { type: "text/css; charset=utf-8", content: text("style.css") }],
  ]);
  for (const { path: file, contents: content } of outputFiles)
    files.set(`/${path.basename(file)}`, { type: "text/javascript; charset=utf-8", content });
  return files;
}
