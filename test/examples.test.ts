/** Every example is a program that can fail: it runs on the built runtime, with no key and no network, and must end well. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const examples = readdirSync(path.join(root, "examples")).filter((name) => name.endsWith(".ts"));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const markdown = new URL("../examples/support/markdown.mjs", import.meta.url).href;

/** They print instead of asserting, so that the README can show them whole. */
const shown = ["first-program.ts", "official-sdk.ts"];

test.each(examples.filter((name) => !shown.includes(name)))("examples/%s does what it says", async (name) => {
  const { code, output } = await run(name);
  expect(output).not.toContain("AssertionError");
  expect(code, output).toBe(0);
});

test("the programs in the README are those in examples/", () => {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const programs = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, program]) => program);
  expect(programs).toEqual(shown.map((name) => readFileSync(path.join(root, "examples", name), "utf8")));
});

test("in the first program of the README the sub-agent runs, and calls the tool of the program", async () => {
  const { code, output } = await run("first-program.ts");
  expect(code, output).toBe(0);
  expect(output).toContain("→ clerk starts");
  expect(output).toContain('it calls look_up_order {"number":"A-17"}');
  expect(output).toContain('"status":"shipped"'); // What the tool gave came back to the main agent.
});

test("the program of the official SDK gets its answer from the runtime that COPILOT_CLI_PATH names", async () => {
  const { code, output } = await run("official-sdk.ts", { COPILOT_CLI_PATH: path.join(root, "bin/retinue.js") });
  expect(code, output).toBe(0);
  expect(output).toContain("README.md");
});

/** In the root of the repository, as the README says, and with a home folder of its own. */
async function run(name: string, env: Record<string, string> = {}): Promise<{ code: number | null; output: string }> {
  const home = mkdtempSync(path.join(tmpdir(), "retinue-examples-"));
  try {
    const program = path.join(root, "examples", name);
    const child = spawn(process.execPath, ["--import", tsx, "--import", markdown, program], {
      cwd: root,
      env: { ...withoutModels(), RETINUE_HOME: home, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code, output: out + errors };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Whoever runs the tests may have a model configured; the examples must not use it. */
function withoutModels(): NodeJS.ProcessEnv {
  const isOfModels = /^(RETINUE_|COPILOT_|OPENAI_|ANTHROPIC_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfModels.test(name)));
}
