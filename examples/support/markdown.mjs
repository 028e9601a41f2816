/**
 * Reads Markdown files as text, as the bundle does: for programs of this repository that import the runtime from its sources.
 * The installed package needs none of this.
 */
import { register } from "node:module";

const hooks = `
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
export async function load(url, context, next) {
  if (!new URL(url).pathname.endsWith(".md")) return next(url, context);
  const text = await readFile(fileURLToPath(url), "utf8");
  return { format: "module", shortCircuit: true, source: "export default " + JSON.stringify(text) };
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
