/** Every example is a program that can fail: it runs on the built runtime, with no key and no network, and must end well. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const examples = readdirSync(path.join(root, "examples")).filter((name) => name.endsWith(".ts"));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const markdown = new URL("../examples/support/markdown.mjs", import.meta.url).href;

test.each(examples)("examples/%s does what it says", { timeout: 60_000 }, async (name) => {
  const { code, output } = await run(path.join(root, "examples", name));
  expect(output).not.toContain("AssertionError");
  expect(code, output).toBe(0);
});

test("the first program of the README runs as it stands, on the offline model", { timeout: 60_000 }, async () => {
  const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync(path.join(root, "README.md"), "utf8")) ?? [];
  const folder = mkdtempSync(path.join(tmpdir(), "retinue-readme-"));
  try {
    symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
    writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(path.join(folder, "first.ts"), program);
    const { code, output } = await run(path.join(folder, "first.ts"), { RETINUE_HOME: path.join(folder, "home") });
    expect(code, output).toBe(0);
    expect(output.match(/^→ /gm)).toHaveLength(2);
    expect(output).toContain("2 sub-agents looked into it");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function run(file: string, env: Record<string, string> = {}): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ["--import", tsx, "--import", markdown, file], {
    cwd: root,
    env: { ...withoutModels(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

/** Whoever runs the tests may have a model configured; the examples must not use it. */
function withoutModels(): NodeJS.ProcessEnv {
  const isOfModels = /^(RETINUE_|COPILOT_|OPENAI_|ANTHROPIC_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfModels.test(name)));
}
