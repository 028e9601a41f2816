/** Every command and every program in the pages works as it stands there, or says why it is not run. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CodeBlock, codeBlocks, commandsOf } from "./support/code-blocks.ts";
import { type CommandWorld, commandWorld, LISTENS, type Ran, SESSIONS } from "./support/command-world.ts";
import { files, root } from "./support/sources.ts";

const SHELLS = ["sh", "bash"];
const PROGRAMS = ["ts", "js"];

const pages = files.filter((file) => file === "README.md" || /^docs\/[\w-]+\.md$/.test(file));
const blocks = pages.flatMap((page) => codeBlocks(page, readFileSync(path.join(root, page), "utf8")));
const run = blocks.filter(({ reason }) => reason === undefined);
const inShell = run.filter(({ language }) => SHELLS.includes(language));
const programs = run.filter(({ language }) => PROGRAMS.includes(language));
const examples = files
  .filter((file) => file.startsWith("examples/"))
  .map((file) => readFileSync(path.join(root, file), "utf8"));

/** Commands that end with another code than 0 in this world, as the page says that they do. */
const OTHER_CODES: Readonly<Record<string, number>> = {
  "retinue --resume 3f2a": 2, // That session has nothing left to do.
  "retinue doctor --provider anthropic": 1, // There is no key.
  "retinue why 3f2a explore edit --allow-tool write": 1, // It may not.
  "retinue init": 2, // Nobody can be asked here.
  "retinue init --provider openai --api-key-env OPENAI_API_KEY --yes": 1, // There is no key.
  "retinue config get model": 1, // It is not set.
  "retinue connect claude-code": 2, // Nobody can be asked here.
  "retinue permissions forget": 1, // No answers are kept.
  "retinue permissions forget --addresses": 1,
  "retinue mcp remove files": 1, // There is none, because the examples that add one are not run.
  "retinue mcp test": 1,
  "retinue mcp test files": 2,
  "retinue mcp test files --json": 2,
  "retinue mcp login tracker": 2, // There is no such server here.
  "retinue mcp logout tracker": 2,
  "retinue plugins remove another-plugin": 1, // There is none of that name.
  "retinue trust remove": 1, // Nothing was decided about it.
  "retinue trust remove ~/src/project": 1,
};
/** Examples of the generated part, which has no place for a comment, and why they are not run. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "retinue update --check": "it asks the registry of npm",
  "retinue mcp add files -- npx -y @modelcontextprotocol/server-filesystem .":
    "every other example would start that server",
  "retinue mcp add docs --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${env:DOCS_TOKEN}'":
    "every other example would look for that server",
};
const isServer = (command: string) => /^retinue (serve (?!--stdio)|daemon run)/.test(command);

let world: CommandWorld;
beforeAll(async () => {
  world = await commandWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

test.each([...new Set(inShell.map(({ page }) => page))])("every command in %s works", async (page) => {
  const wrong: string[] = [];
  const open = inShell.filter((block) => block.page === page);
  const work = async () => {
    for (let block = open.shift(); block; block = open.shift()) wrong.push(...(await failuresOf(block)));
  };
  await Promise.all([work(), work(), work()]);
  expect(wrong).toEqual([]);
});

test.concurrent.each(programs.map((block) => [`${block.page}:${block.line}`, block] as const))(
  "the program at %s runs",
  async (_, block) => {
    if (examples.includes(block.text)) return; // test/examples.test.ts runs it.
    const { code, output } = await world.program(whole(block.text));
    expect(code, output).toBe(0);
    expect(output).not.toMatch(/\bError\b/);
  },
);

test.each(
  run.filter(({ language }) => language === "json").map((block) => [`${block.page}:${block.line}`, block] as const),
)("the JSON at %s can be read, and the command line takes what is a config file", async (_, { text }) => {
  const value: object = JSON.parse(text);
  if (!("providers" in value)) return;
  const home = path.join(world.folder, "configured");
  const [made] = await world.type([`mkdir -p '${home}' && chmod 700 '${home}'`], () => false);
  expect(made?.code).toBe(0);
  writeFileSync(path.join(home, "config.json"), text);
  const [ran] = await world.type([`retinue doctor --json --home '${home}'; true`], () => false);
  expect(ran?.output).toMatch(/"config"[^}]*"ok"|"ok"[^}]*"config"/);
});

test("a block that is not run has a reason that can be read, and the reasons are these", () => {
  const reasons = [...blocks.flatMap(({ reason }) => reason ?? []), ...Object.values(NOT_RUN)];
  process.stdout.write(
    `Not run, of ${blocks.length} blocks: ${reasons.length}\n${reasons.map((reason) => `- ${reason}\n`).join("")}`,
  );
  expect(reasons.filter((reason) => reason.split(" ").length < 3)).toEqual([]);
  expect(reasons.length).toBeLessThan(run.length / 2);
});

async function failuresOf(block: CodeBlock): Promise<string[]> {
  const ran = await world.type(
    commandsOf(block).filter((command) => !(command in NOT_RUN)),
    isServer,
  );
  return ran
    .filter((each) => !isAsExpected(each))
    .map(
      ({ command, code, output }) => `${block.page}:${block.line} ${command} ended with ${code}: ${output.slice(-600)}`,
    );
}

/** What a program says about itself when it is broken, and never to a person who uses it. */
const BROKEN = /Cannot read propert|is not a function|is not defined|TypeError|ReferenceError|^ {4}at .*:\d+:\d+/m;

function isAsExpected({ command, code, output }: Ran): boolean {
  if (BROKEN.test(output)) return false;
  if (isServer(command)) return LISTENS.test(output);
  return code === (OTHER_CODES[command] ?? 0);
}

/** A part of a program, with what the text around it has said already. */
function whole(text: string): string {
  const isMissing = (name: string) =>
    new RegExp(`\\b${name}\\b`).test(text) &&
    !new RegExp(`(const|using|function) ${name}\\b|import [^;]*\\b${name}\\b`).test(text);
  const before = [
    ['import { approveAll } from "@retinue/sdk";', isMissing("approveAll")],
    ['import { defineTool } from "@retinue/sdk";', isMissing("defineTool") || isMissing("lookUpOrder")],
    [
      'import { RetinueClient } from "@retinue/sdk";',
      isMissing("RetinueClient") || isMissing("client") || isMissing("session"),
    ],
    ['import * as z from "zod";', isMissing("z") || isMissing("lookUpOrder")],
    [
      "await using client = new RetinueClient();",
      isMissing("client") || (isMissing("session") && !/\bclient =/.test(text)),
    ],
    ["await using session = await client.createSession();", isMissing("session")],
    ['import { renderTree } from "@retinue/sdk";', isMissing("renderTree")],
    [`const id = "${SESSIONS[0]}";`, /\(id\b/.test(text) && isMissing("id")],
    ["const tools = [];", /^ *tools,$/m.test(text) && isMissing("tools")],
    ["const isAllowed = async (...call: unknown[]) => call.length > 0;", isMissing("isAllowed")],
    [
      'const lookUpOrder = defineTool("look_up_order", { description: "d", parameters: z.object({ number: z.string() }), handler: () => "shipped" });',
      isMissing("lookUpOrder"),
    ],
  ] as const;
  return [...before.flatMap(([line, isNeeded]) => (isNeeded ? [line] : [])), text].join("\n");
}
