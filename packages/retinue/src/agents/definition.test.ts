import { describe, expect, test } from "vitest";
import { agentInfo } from "./agent-info.ts";
import { agentFromConfig, agentFromFile, normaliseName } from "./definition.ts";

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
inherit: tail(5)
budget: { turns: 3, tool-calls: 10, seconds: 1.5 }
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
      budget: { maxTurns: 3, maxToolCalls: 10, maxSeconds: 1.5 },
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
    ["no description", "---\nname: a\n---\nP", "agents/reviewer.agent.md:1: description"],
    [
      "an inherit that does not exist",
      "---\ndescription: d\ninherit: all\n---\nP",
      ":3: inherit: expected none, brief, fork or tail(n)",
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
