import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ProjectGate } from "../project/gate.ts";
import { FolderTrust } from "../project/trust.ts";
import { openSqlite, type SqliteStore } from "../store/sqlite/store.ts";
import { surveyProject } from "../workspace/survey.ts";
import type { Terminal } from "./terminal.ts";
import { settleTrust } from "./trust-question.ts";

let root: string;
let folder: string;
let store: SqliteStore;
let trust: FolderTrust;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-question-")));
  folder = join(root, "work");
  mkdirSync(join(folder, ".github/agents"), { recursive: true });
  store = openSqlite({ path: ":memory:" });
  trust = new FolderTrust({ documents: store.documents, warn: () => undefined });
});
afterEach(async () => {
  await store.close();
  rmSync(root, { recursive: true, force: true });
});

function agent(name: string, command = "run-docs"): void {
  const head = `description: d\nmcp-servers:\n  docs:\n    command: ${command}\n    env: { NODE_OPTIONS: "--require ./x.js" }\n`;
  writeFileSync(join(folder, `.github/agents/${name}.agent.md`), `---\n${head}---\nWork.\n`);
}

/** Opens a session at a terminal where questions are answered like this; without it nobody can be asked. */
async function openingWith(ask?: () => string | undefined): Promise<{ text: string; isAsked: boolean }> {
  const screen: string[] = [];
  const { signal } = new AbortController();
  const terminal: Terminal = {
    canAsk: ask !== undefined,
    isScreen: true,
    isOutScreen: true,
    color: false,
    columns: 80,
    gone: signal,
    out: (text) => screen.push(text),
    note: (line) => screen.push(line),
    status: () => undefined,
    pinned: (work) => work(terminal),
    flush: async () => undefined,
    async ask(question) {
      screen.push(question);
      return ask?.();
    },
  };
  await settleTrust({ folder, home: join(root, "home"), trust, terminal, signal });
  return { text: screen.join("\n"), isAsked: screen.some((line) => line.includes("[y = yes")) };
}

/** Somebody types these lines; undefined is the end of input. */
async function opening(...answers: (string | undefined)[]) {
  const seen = await openingWith(() => answers.shift());
  return { ...seen, unused: answers.length };
}

async function allowed(): Promise<{ isTrusted: boolean; servers: string[] }> {
  const gate = new ProjectGate(folder, trust);
  await gate.refresh();
  const { servers } = surveyProject(gate, join(root, "home"));
  return {
    isTrusted: gate.isTrusted,
    servers: servers.filter((each) => gate.mayStart(each.identity)).map((each) => each.line),
  };
}

const LINE = 'NODE_OPTIONS="--require ./x.js" run-docs';

describe("a folder that nobody has decided about", () => {
  test("is asked about once, with everything that it brings", async () => {
    agent("helper");
    mkdirSync(join(folder, ".github/skills/deploy"), { recursive: true });
    writeFileSync(join(folder, ".github/skills/deploy/SKILL.md"), "---\ndescription: d\n---\nDeploy.\n");
    const sent = { Authorization: `Bearer \${env:TOKEN}`, "X-Key": "secret" };
    const files = { url: "https://files.example", headers: sent };
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { files } }));
    const { text } = await opening("y");
    const address = `https://files.example with the headers Authorization \${env:TOKEN}, X-Key`;
    const owners = ["MCP server docs of the agent helper:", "MCP server files of .mcp.json:"];
    for (const words of ["agents: helper", "skills: deploy", ...owners, LINE, address]) expect(text).toContain(words);
    expect(await allowed()).toEqual({ isTrusted: true, servers: [address, LINE] });
    expect((await opening("n")).isAsked).toBe(false);
  });

  test.each([["n"], ["no"], [undefined]])(
    "stays untrusted for this session after %s, and is asked about again",
    async (answer) => {
      agent("helper");
      expect((await opening(answer)).isAsked).toBe(true);
      expect(await allowed()).toEqual({ isTrusted: false, servers: [] });
      expect((await opening("y")).isAsked).toBe(true);
    },
  );

  test("is not asked about again after d, and a line still says what is left out", async () => {
    agent("helper");
    await opening("d");
    const { isAsked, text } = await opening("y");
    expect(isAsked).toBe(false);
    expect(text).toContain("is not trusted, so this was left out of it");
    expect(await allowed()).toEqual({ isTrusted: false, servers: [] });
  });

  test("is asked about again after an answer that says nothing; Enter alone is none", async () => {
    agent("helper");
    const { text, unused } = await opening("", "perhaps", "yes");
    expect(text.match(/Please answer y, n or d\./g)).toHaveLength(2);
    expect(unused).toBe(0);
    expect((await allowed()).isTrusted).toBe(true);
  });

  test("is not asked about when it brings nothing, or only what this version does not use", async () => {
    writeFileSync(join(folder, ".mcp.json"), "{}");
    writeFileSync(join(folder, "AGENTS.md"), "Be kind.");
    expect(await opening("y")).toMatchObject({ isAsked: false, text: "" });
  });
});

describe("a trusted folder", () => {
  test("is asked about a server that has changed, and only about that one", async () => {
    agent("helper");
    agent("other", "run-other");
    await opening("y");
    agent("helper", "run-evil");
    const { text, isAsked } = await opening("n");
    expect(isAsked).toBe(true);
    expect(text).toContain("run-evil");
    expect(text).not.toContain("run-other");
    expect((await allowed()).servers).toEqual([LINE.replace("docs", "other")]);
    await opening("y");
    expect((await allowed()).servers).toHaveLength(2);
    expect((await opening("y")).isAsked).toBe(false);
  });

  test("does not allow a server that took the place of the one that was shown", async () => {
    agent("helper");
    const { text } = await openingWith(() => {
      agent("helper", "run-evil"); // While the person reads.
      return "y";
    });
    expect(text).toContain(LINE);
    expect(await allowed()).toEqual({ isTrusted: true, servers: [] });
  });
});

test("where nobody can be asked, nothing is trusted, and one line says what is left out", async () => {
  agent("helper");
  const { text, isAsked } = await openingWith();
  expect(isAsked).toBe(false);
  expect(text.split("\n")).toEqual([expect.stringContaining(`retinue trust add ${folder}`)]);
  expect(await allowed()).toEqual({ isTrusted: false, servers: [] });
});

test("a command line that is too long to be read can never be allowed", async () => {
  agent("helper", `run-${"x".repeat(3000)}`);
  const { text } = await opening("y");
  expect(text).toContain("too long to be shown");
  expect((await trust.list()).map(({ servers }) => servers)).toEqual([[]]);
});
