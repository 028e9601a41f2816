import { describe, expect, test } from "vitest";
import { agentInfo } from "./agent-info.ts";
import { agentFromConfig, agentFromFile, normaliseName } from "./definition.ts";
import { mistakesOf } from "./front-matter.ts";

const read = (text: string) => agentFromFile(text, { source: "project", path: "agents/reviewer.agent.md" });

describe("an agent file", () => {
  test("gives every field that its front matter has", () => {
    const agent = read(`---
name: reviewer
display-name: The Reviewer
description: reads changes
tools: [view, "github/*"]
model: [small, large]
model-policy: required
reasoning-effort: low
skills: lint, format
mcp-servers:
  docs: { type: http, url: "http://localhost/mcp" }
ceiling: own
nested-background: true
isolation: worktree
inherit: tail(5)
budget: { turns: 3, tool-calls: 10, seconds: 1.5 }
gates: ["npm test", { file: report.md }, { command: make lint, timeoutSeconds: 60 }]
max-gate-failures: 1
read-only: true
user-invocable: false
disable-model-invocation: true
---
You review.

Be brief.
`);
    expect(agent).toEqual({
      name: "reviewer",
      displayName: "The Reviewer",
      description: "reads changes",
      prompt: "You review.\n\nBe brief.",
      tools: ["view", "github/*"],
      toolDefinitions: [],
      models: ["small", "large"],
      modelPolicy: "required",
      modelClass: "session",
      reasoningEffort: "low",
      mcpServers: { docs: { type: "http", url: "http://localhost/mcp" } },
      skills: ["lint", "format"],
      infer: false,
      userInvocable: false,
      ceiling: "own",
      nestedBackground: true,
      inherit: { tail: 5 },
      isolation: "worktree",
      budget: { maxTurns: 3, maxToolCalls: 10, maxSeconds: 1.5 },
      gates: [{ command: "npm test" }, { file: "report.md" }, { command: "make lint", timeoutSeconds: 60 }],
      maxGateFailures: 1,
      readOnly: true,
      source: "project",
      path: "agents/reviewer.agent.md",
    });
  });

  test("takes its name from the file, and all tools, when the front matter is silent about both", () => {
    expect(read("---\ndescription: d\n---\nPrompt")).toMatchObject({
      name: "reviewer",
      displayName: "reviewer",
      tools: null,
      infer: true,
      inherit: "brief",
      ceiling: "session",
    });
  });

  test("keeps an empty list of tools apart from no list", () => {
    expect(read("---\ndescription: d\ntools: []\n---\nPrompt").tools).toEqual([]);
  });

  test("is read with Windows line ends and a byte order mark", () => {
    expect(read("\uFEFF---\r\nname: w\r\ndescription: d\r\n---\r\nPrompt\r\n")).toMatchObject({
      name: "w",
      prompt: "Prompt",
    });
  });

  test.each([
    [
      "a value of the wrong type",
      "---\nname: a\ndescription: d\ninfer: perhaps\n---\nP",
      "agents/reviewer.agent.md:4: infer",
    ],
    [
      "a wrong value deep inside",
      "---\ndescription: d\nbudget:\n  turns: -1\n---\nP",
      "agents/reviewer.agent.md:4: budget.turns",
    ],
    ["YAML that does not parse", "---\ndescription: d\ntools: [view\n---\nP", /agents\/reviewer\.agent\.md:[34]: /],
    [
      "an inherit that does not exist",
      "---\ndescription: d\ninherit: all\n---\nP",
      ":3: inherit: expected none, brief, fork or tail(n)",
    ],
    [
      "a gate that does not exist",
      "---\ndescription: d\ngates:\n  - fil: x\n---\nP",
      ":4: gates.0: expected { command, timeoutSeconds? }, { file }, { schema } or { hook: true }, with no other field, or a text",
    ],
    [
      "a server that is none",
      "---\ndescription: d\nmcp-servers:\n  docs: { comand: x }\n---\nP",
      ":4: mcp-servers.docs: it has neither a command nor a url",
    ],
    ["front matter without an end", "---\nname: a\n", ":1: the front matter has no closing ---"],
    ["no prompt", "---\ndescription: d\n---\n\n", ":1: the agent has no prompt"],
  ])("with %s is refused with file and line", (_, text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  // Each of these kept the parser busy for minutes, or ended the process.
  test.each([
    [
      "is longer than 8 KiB",
      Array.from({ length: 2000 }, (_, i) => `k${i}: 1`).join("\n"),
      "longer than 8192 characters",
    ],
    ["has hundreds of brackets", `x: ${"[".repeat(4000)}`, "nested too deeply"],
    ["hides closing brackets in quotes", `x: ${'["]",'.repeat(1000)}`, "nested too deeply"],
    ["has lists in lists in one line", "- ".repeat(2000), "nested too deeply"],
    ["has maps in maps in one line", "a: ".repeat(2000), "nested too deeply"],
    ["has explicit keys", `${"? ".repeat(40)}\n`, "a question mark before it"],
    ["has explicit keys in a flow", `x: {${" ? {".repeat(40)}`, "a question mark before it"],
  ])("is refused when its head %s", (_, head, message) => {
    expect(() => read(`---\n${head}\n---\nP`)).toThrow(message);
  });

  test("may ask something in its description, and use lists, maps and brackets", () => {
    const head = "description: What now ? Use it - or not.\ntools: [view, grep]\nskills:\n  - a\n  - b";
    expect(read(`---\n${head}\n---\nP`)).toMatchObject({ tools: ["view", "grep"], skills: ["a", "b"] });
    expect(() => read("---\ndescription: d\ndescription: e\n---\nP")).toThrow(":3: Map keys must be unique");
  });

  test("cannot grow without bound through YAML aliases", () => {
    const levels = Array.from({ length: 12 }, (_, i) => `x${i + 1}: &x${i + 1} [${Array(9).fill(`*x${i}`).join(",")}]`);
    expect(() => read(`---\ndescription: d\nx0: &x0 [a]\n${levels.join("\n")}\n---\nP`)).toThrow();
  });
});

describe("an agent of the host", () => {
  test("has all tools when it names none, and is shown without the fields of files", () => {
    const agent = agentFromConfig({
      name: "editor",
      displayName: "Editor Agent",
      description: "edits",
      prompt: "p",
      model: "m",
    });
    expect(agent).toMatchObject({ tools: null, models: ["m"], source: "sdk", infer: true });
    expect(agentInfo(agent)).toEqual({
      name: "editor",
      id: "editor",
      displayName: "Editor Agent",
      description: "edits",
      model: "m",
    });
  });

  test("is shown with its prompt only when that is asked for", () => {
    const agent = agentFromConfig({ name: "a", prompt: "secret sauce" });
    expect(agentInfo(agent)).not.toHaveProperty("prompt");
    expect(agentInfo(agent, { includePrompt: true }).prompt).toBe("secret sauce");
  });
});

test("a name is the same in any case and with spaces, underscores or dashes", () => {
  expect(new Set(["General Purpose", "general-purpose", " GENERAL_PURPOSE "].map(normaliseName)).size).toBe(1);
});

describe("tools of other programs in a file", () => {
  const toolsOf = (tools: string, warnings: string[] = []) =>
    agentFromFile(`---\ndescription: d\ntools: ${tools}\n---\nP`, {
      source: "project",
      path: "a.md",
      warn: (message) => warnings.push(message),
    }).tools;

  test.each([
    ["Read, Write, Edit, MultiEdit, Bash", ["view", "create", "edit", "bash"]],
    ["Grep, Glob, WebFetch, Task, LS", ["grep", "glob", "web_fetch", "task", "view"]],
    [
      "[execute, search, read, edit, agent, web, todo]",
      ["bash", "grep", "glob", "view", "edit", "task", "web_fetch", "sql"],
    ],
    ["[mcp__docs__find, mcp__github, 'docs/*', 'mcp__*']", ["docs/find", "github/*", "docs/*", "mcp:*"]],
    ["[deploy, 'custom:search', '*']", ["deploy", "custom:search", "*"]],
  ])("%s are ours", (given, ours) => {
    expect(toolsOf(given)).toEqual(ours);
  });

  test("with a condition do not count, since without it they would allow more, and none left is none", () => {
    const warnings: string[] = [];
    expect(toolsOf("['Bash(git status)']", warnings)).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("a.md:3: tools cannot hold a condition, so 'Bash(git status)'")]);
  });
});

describe("the front matter of other programs", () => {
  test.each([
    ["You find bugs. You are brief.", "You find bugs."],
    ["# Bugs\n\nYou find bugs in\ntwo lines! And more.", "You find bugs in two lines!"],
    ["no end of a sentence", "no end of a sentence"],
  ])("may lack a description, which is then the first sentence of the text: %j", (body, description) => {
    expect(read(`---\nname: a\n---\n${body}`).description).toBe(description);
    expect(read(body).description).toBe(description);
  });

  test("may have github, which is kept", () => {
    expect(read("---\ngithub: { permissions: { contents: read } }\n---\nP").github).toEqual({
      permissions: { contents: "read" },
    });
  });

  test.each([
    ["sonnet", [], "session"],
    ["inherit", [], "session"],
    ["haiku", [], "fast"],
    ["gpt-4.1", ["gpt-4.1"], "session"],
  ])("may name a size instead of a model: %s", (model, models, modelClass) => {
    expect(read(`---\nmodel: ${model}\n---\nP`)).toMatchObject({ models, modelClass });
  });

  test("that is no YAML is one mistake, where it begins, and not one for each line that follows", () => {
    let mistakes: readonly string[] = [];
    try {
      read("---\nname: a\ntools: [view] [edit]\nmodel: m\ninfer: true\n---\nP");
    } catch (error) {
      mistakes = mistakesOf(error);
    }
    expect(mistakes).toEqual([expect.stringContaining("reviewer.agent.md:3: ")]);
  });

  test.each([
    [
      "tools: { view: true }",
      "agents/reviewer.agent.md:2: tools: expected names, as a list or with commas between them",
    ],
    ["model: 4.1", "agents/reviewer.agent.md:2: model: expected names, as a list or with commas between them"],
    ["- a\n- b", "agents/reviewer.agent.md:1: front matter: Invalid input: expected object, received array"],
  ])("with a value of another form is told what is expected: %s", (head, words) => {
    const warnings: string[] = [];
    const read = () =>
      agentFromFile(`---\n${head}\n---\nP`, {
        source: "user",
        path: "agents/reviewer.agent.md",
        warn: (message) => warnings.push(message),
      });
    expect(read).toThrow(words);
    expect(warnings).toEqual([]);
  });

  test("is reported with every mistake and its line", () => {
    expect.assertions(1);
    try {
      read("---\ninfer: perhaps\ntool: view\nbudget:\n  turns: 0\n  turn: 3\n---\nP");
    } catch (error) {
      expect(mistakesOf(error)).toEqual([
        expect.stringContaining("reviewer.agent.md:2: infer"),
        expect.stringContaining("reviewer.agent.md:5: budget.turns"),
        expect.stringContaining("reviewer.agent.md:3: there is no field 'tool'"),
        expect.stringContaining("reviewer.agent.md:6: there is no field 'turn'"),
      ]);
    }
  });
});

describe("the front matter that somebody wrote carelessly", () => {
  const limited = { name: "a", tools: ["view"], prompt: "P" };

  test.each([
    ["after blank lines", "\n \n---\nname: a\ntools: [view]\n---\nP"],
    ["after a mark of an editor and a blank line", "\uFEFF\n---\nname: a\ntools: [view]\n---\nP"],
    ["with the line ends of old systems", "---\rname: a\rtools: [view]\r---\rP"],
  ])("still limits the agent: %s", (_, text) => {
    expect(read(text)).toMatchObject(limited);
  });

  test("has the right lines after blank ones", () => {
    expect(() => read("\n\n---\nname: a\ninfer: 3\n---\nP")).toThrow("reviewer.agent.md:5: infer");
  });

  test.each([
    ["without a fence", "name: a\ntools: [view]\n\nP"],
    ["without its first fence", "tools: [view]\n---\nP"],
    ["with longer fences", "----\ntools: [view]\n----\nP"],
    ["with the fences of TOML", "+++\ntools = ['view']\n+++\nP"],
    ["with dashes that an editor has joined", "\u2014\ntools: [view]\n\u2014\nP"],
  ])("never becomes a part of the prompt of an agent with every tool: %s", (_, text) => {
    expect(() => read(text)).toThrow("reviewer.agent.md:1: the front matter must stand between two lines with ---");
  });

  test("may be missing, and the text may begin with a list, a title or a word with a colon", () => {
    for (const text of ["- one\n- two", "# Tools: all", "Note: you help.", "**Name**: x"])
      expect(read(text)).toMatchObject({ tools: null, prompt: text });
  });

  test("may have colons in its description, as Claude Code writes it", () => {
    const description = `Use this when: a test fails. <example>user: "why?" # or so</example>`;
    expect(read(`---\nname: a\ndescription: ${description}\ntools: Read\n---\nP`)).toMatchObject({
      ...limited,
      description,
    });
    expect(() => read("---\ndescription: a: b\ntools: [view\n---\nP")).toThrow("reviewer.agent.md:");
  });

  test("is named in the error about its aliases", () => {
    const bomb = [
      "a: &a [x, x, x]",
      ..."bcdefg".split("").map((key, at) => `${key}: &${key} [${Array(9).fill(`*${"abcdef"[at]}`)}]`),
    ];
    expect(() => read(`---\n${bomb.join("\n")}\ntools: *g\n---\nP`)).toThrow(/reviewer\.agent\.md:1: .*alias count/);
  });

  test("cannot bring a list of tools by a merge key, which nobody reads", () => {
    expect(() => read("---\ngithub: &b { tools: [view] }\n<<: *b\n---\nP")).toThrow(
      /agent\.md:\d: a key << is not read/,
    );
  });

  test("has a limit of turns in the words of Claude Code, unless it has one in ours", () => {
    expect(read("---\nmaxTurns: 5\n---\nP").budget).toEqual({ maxTurns: 5 });
    expect(read("---\nmaxTurns: 5\nbudget: { turns: 3 }\n---\nP").budget).toEqual({ maxTurns: 3 });
  });

  test("keeps the condition of a tool together, so that it is told, and reads a list in lines", () => {
    const warnings: string[] = [];
    const text = "---\ntools: Bash(git add:*, git commit:*), Read\n---\nP";
    const warn = (message: string) => warnings.push(message);
    expect(agentFromFile(text, { source: "user", path: "a.md", warn }).tools).toEqual(["view"]);
    expect(warnings).toEqual([expect.stringContaining("'Bash(git add:*, git commit:*)' does not count")]);
    expect(read("---\ntools: |\n  Read\n  Grep\n---\nP").tools).toEqual(["view", "grep"]);
  });
});
