/** Every example is a program that can fail: it runs with the built runtime and a scripted model, and must end well. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const folder = new URL("../examples/", import.meta.url);
const examples = readdirSync(folder).filter((name) => name.endsWith(".ts"));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const isBuilt = existsSync(new URL("../packages/retinue/dist/main.js", import.meta.url));

test.skipIf(!isBuilt).each(examples)("examples/%s does what it says", { timeout: 60_000 }, async (name) => {
  const { code, output } = await run(fileURLToPath(new URL(name, folder)));
  expect(output).not.toContain("AssertionError");
  expect(code, output).toBe(0);
});

async function run(file: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ["--import", tsx, file], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}
