import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ancestorsOfChild,
  decideTool,
  effectiveTools,
  isListed,
  type NodeLimits,
  unknownTools,
} from "./effective-tools.ts";
import { matchesPattern, type ToolRef } from "./tool-patterns.ts";

const TOOLS: readonly ToolRef[] = [
  ...["view", "edit", "create", "bash", "grep", "task", "skill", "sql"].map((name) => ({
    name,
    source: "builtin" as const,
  })),
  { name: "db-query", source: "mcp", mcp: { server: "db", tool: "query" } },
  { name: "db-write", source: "mcp", mcp: { server: "db", tool: "write" } },
  { name: "docs-find", source: "mcp", mcp: { server: "docs", tool: "find" } },
  { name: "host_a", source: "host" },
  { name: "host_b", source: "host" },
];

const MAIN: NodeLimits = {
  sessionFilters: {},
  defaultAgentExcludedTools: [],
  isMainAgent: true,
  ancestors: [],
  denyRules: [],
  planMode: false,
};
const CHILD: NodeLimits = { ...MAIN, isMainAgent: false };

const names = (node: NodeLimits) => effectiveTools(TOOLS, node).allowed.map((tool) => tool.name);
const agent = (tools: readonly string[] | null, more: { ceiling?: "own" | "session" } = {}) => ({
  name: "worker",
  tools,
  ceiling: more.ceiling ?? ("session" as const),
});

describe("an agent's own list", () => {
  test.each([
    [null, TOOLS.map((tool) => tool.name)],
    [["*"], TOOLS.map((tool) => tool.name)],
    [[], []],
    [
      ["view", "host_a"],
      ["view", "host_a"],
    ],
    [["db/*"], ["db-query", "db-write"]],
    [["db/query"], ["db-query"]],
    [["mcp:db-query"], ["db-query"]],
    [["mcp:*"], ["db-query", "db-write", "docs-find"]],
    [["custom:*"], ["host_a", "host_b"]],
    [["builtin:host_a"], []],
    [["docs-*"], ["docs-find"]],
  ])("%j gives exactly the tools that it names", (tools, expected) => {
    expect(names({ ...CHILD, definition: agent(tools) })).toEqual(expected);
  });

  test("of the main agent keeps sql beside it", () => {
    expect(names({ ...MAIN, definition: agent(["view"]) })).toEqual(["view", "sql"]);
    expect(names({ ...CHILD, definition: agent(["view"]) })).toEqual(["view"]);
  });
});

describe("the deciding rule is named", () => {
  const worker = { ...CHILD, definition: agent(["view", "edit", "host_a"]) };
  test.each<[string, NodeLimits, string]>([
    ["availableTools", { ...worker, sessionFilters: { availableTools: ["view"] } }, "edit"],
    ["excludedTools", { ...worker, sessionFilters: { excludedTools: ["edit"] } }, "edit"],
    ["deny-rule", { ...worker, denyRules: [{ name: "no-writes", pattern: "edit" }] }, "edit"],
    ["plan-mode", { ...worker, planMode: true }, "edit"],
    ["ancestor-ceiling", { ...worker, ancestors: [{ name: "lead", ceiling: "own", tools: ["task"] }] }, "edit"],
    ["agent-tools", worker, "bash"],
    ["defaultAgent.excludedTools", { ...MAIN, defaultAgentExcludedTools: ["edit"] }, "edit"],
    ["allowed", worker, "edit"],
  ])("%s", (rule, node, name) => {
    const tool = TOOLS.find((each) => each.name === name);
    expect(tool && decideTool(tool, node)).toMatchObject({ rule, allowed: rule === "allowed" });
  });

  test("every tool is either allowed or excluded with a reason", () => {
    const { allowed, excluded } = effectiveTools(TOOLS, worker);
    expect(allowed.length + excluded.length).toBe(TOOLS.length);
    expect(excluded.every(({ decision }) => decision.reason !== "")).toBe(true);
  });
});

describe("ceilings", () => {
  test("a coordinator with only task can lead workers with more", () => {
    const lead = { ...CHILD, definition: agent(["task"]) };
    expect(names({ ...CHILD, ancestors: ancestorsOfChild(lead), definition: agent(["view", "bash"]) })).toEqual([
      "view",
      "bash",
    ]);
  });

  test("with ceiling own nothing below exceeds the coordinator's list", () => {
    const lead = { ...CHILD, definition: agent(["task", "view"], { ceiling: "own" }) };
    const below = { ...CHILD, ancestors: ancestorsOfChild(lead), definition: agent(["view", "bash"]) };
    expect(names(below)).toEqual(["view"]);
    expect(names({ ...below, ancestors: ancestorsOfChild(below), definition: agent(null) })).toEqual(["view", "task"]);
  });

  test("what is hidden from the default agent is there for a sub-agent and for a selected agent that names it", () => {
    const hidden = { defaultAgentExcludedTools: ["host_a"] };
    expect(names({ ...MAIN, ...hidden })).not.toContain("host_a");
    expect(names({ ...CHILD, ...hidden, definition: agent(["host_a"]) })).toEqual(["host_a"]);
    expect(names({ ...MAIN, ...hidden, definition: agent(["host_a"]) })).toContain("host_a");
  });

  test.each([[null], [["*"]], [["custom:*", "view"]], [["**"]]])(
    "what is hidden from the default agent is not brought back by the tools %j, at any depth",
    (tools) => {
      const hidden = { defaultAgentExcludedTools: ["host_a"] };
      for (const node of [MAIN, CHILD]) {
        const limits = { ...node, ...hidden, definition: agent(tools) };
        expect(names(limits)).not.toContain("host_a");
        expect(names({ ...limits, defaultAgentExcludedTools: [] })).toContain("host_a");
        const below = { ...CHILD, ...hidden, ancestors: ancestorsOfChild(limits), definition: agent(["host_*"]) };
        expect(names(below)).toContain("host_a"); // Hiding is not a ceiling.
      }
    },
  );

  test("an agent has the hidden tools that it brings itself", () => {
    const hidden = { defaultAgentExcludedTools: ["host_a", "mcp:*"] };
    const definition = { ...agent(null), toolDefinitions: [{ name: "host_a" }], mcpServers: { db: { command: "db" } } };
    expect(names({ ...CHILD, ...hidden, definition: agent(null) })).not.toContain("db-query");
    expect(names({ ...CHILD, ...hidden, definition })).toEqual(expect.arrayContaining(["host_a", "db-query"]));
  });

  test("availableTools never removes a host tool, whoever asks for it", () => {
    const sessionFilters = { availableTools: ["view"] };
    const ofAll = [MAIN, { ...CHILD, definition: agent(null) }, { ...CHILD, definition: agent(["*"]) }];
    for (const node of ofAll) expect(names({ ...node, sessionFilters })).toEqual(["view", "host_a", "host_b"]);
    const named = { ...CHILD, sessionFilters, definition: agent(["host_a", "edit"]) };
    expect(names(named)).toEqual(["host_a"]);
  });

  test("the session's excludedTools win over everything that names the tool", () => {
    const node = { ...CHILD, sessionFilters: { excludedTools: ["host_a"] }, definition: agent(["host_a", "view"]) };
    expect(names(node)).toEqual(["view"]);
  });
});

describe("a tool that does not exist", () => {
  test("is named with the valid names", () => {
    const definition = { ...agent(["view", "veiw", "mcp:db-drop"]), source: "sdk" as const, mcpServers: {} };
    expect(unknownTools([...TOOLS, ...TOOLS], definition)).toBe(unknownTools(TOOLS, definition)); // Each name once.
    expect(unknownTools(TOOLS, definition)).toMatch(
      /^Agent 'worker' names tools that do not exist: veiw, mcp:db-drop\. Valid tools are: bash, create, db-query, .*view$/,
    );
  });

  test("is none when a wildcard matches nothing, or when a built-in agent names what is switched off here", () => {
    const of = (tools: string[] | null, source: "sdk" | "builtin" | "project", mcpServers = {}) =>
      unknownTools(TOOLS, { ...agent(tools), source, mcpServers });
    expect(of(["gone/*"], "sdk")).toBeUndefined();
    expect(of(["web_fetch"], "builtin")).toBeUndefined();
    expect(of(null, "project")).toBeUndefined();
    expect(of(["wiki/find", "wiki-find"], "sdk")).toContain("wiki/find, wiki-find");
    expect(of(["wiki/find", "wiki-find"], "sdk", { wiki: { command: "wiki" } })).toBeUndefined();
  });
});

describe("companions", () => {
  const ref = (name: string, source: ToolRef["source"] = "builtin"): ToolRef => ({ name, source });
  const all = ["bash", "read_bash", "write_bash", "stop_bash", "list_bash", "edit", "create", "view"].map((name) =>
    ref(name),
  );
  const of = (tools: string[], node: NodeLimits = CHILD) =>
    effectiveTools(all, { ...node, definition: agent(tools) }).allowed.map(({ name }) => name);

  test("bash brings the tools for its shells, and edit brings create", () => {
    expect(of(["bash"])).toEqual(["bash", "read_bash", "write_bash", "stop_bash", "list_bash"]);
    expect(of(["edit", "view"])).toEqual(["edit", "create", "view"]);
    expect(of(["create", "read_bash"])).toEqual(["read_bash", "create"]);
  });

  test("are still under the limits of the session and of agents above", () => {
    const lead = { ...CHILD, definition: agent(["view", "edit"], { ceiling: "own" }) };
    expect(of(["bash", "edit"], { ...CHILD, ancestors: ancestorsOfChild(lead) })).toEqual(["edit", "create"]);
    expect(of(["bash"], { ...CHILD, sessionFilters: { excludedTools: ["*_bash"] } })).toEqual(["bash"]);
  });

  test("are tools of the runtime and never of the host", () => {
    const node = { ...CHILD, definition: agent(["edit"]) };
    expect(effectiveTools([ref("create", "host")], node).allowed).toEqual([]);
  });
});

test("authority only shrinks down any tree", () => {
  const entry = fc.constantFrom(
    "*",
    "view",
    "edit",
    "bash",
    "task",
    "db/*",
    "db/query",
    "mcp:*",
    "custom:*",
    "builtin:*",
    "host_a",
  );
  const list = fc.array(entry, { maxLength: 4 });
  const tools = fc.option(list, { nil: null });
  const definition = fc.record({
    name: fc.string(),
    tools,
    ceiling: fc.constantFrom("own" as const, "session" as const),
  });
  const session = fc.record({
    sessionFilters: fc.record({ availableTools: list, excludedTools: list }, { requiredKeys: [] }),
    denyRules: fc.array(fc.record({ name: fc.constant("rule"), pattern: entry }), { maxLength: 2 }),
    defaultAgentExcludedTools: list,
    planMode: fc.boolean(),
  });
  const root = fc.option(definition, { nil: undefined });

  fc.assert(
    fc.property(session, root, fc.array(definition, { maxLength: 6 }), (limits, selected, path) => {
      let node: NodeLimits = { ...limits, isMainAgent: true, ancestors: [], definition: selected };
      /** What a child of the node could have at most: a child whose own list forbids nothing. */
      const ceiling = (of: NodeLimits) =>
        new Set(
          names({
            ...limits,
            defaultAgentExcludedTools: [], // Hides, and is no limit for an agent that names the tool.
            isMainAgent: false,
            ancestors: ancestorsOfChild(of),
            definition: agent(null),
          }),
        );
      let above = ceiling(node);
      for (const next of path) {
        const ancestors = ancestorsOfChild(node);
        node = { ...limits, isMainAgent: false, ancestors, definition: next };
        const own = effectiveTools(TOOLS, node).allowed;
        expect(own.every((tool) => above.has(tool.name))).toBe(true);
        expect(own.every((tool) => isListed(next.tools, tool))).toBe(true);
        expect(own.every((tool) => ancestors.every((a) => a.ceiling === "session" || isListed(a.tools, tool)))).toBe(
          true,
        );
        const below = ceiling(node);
        expect([...below].every((name) => above.has(name))).toBe(true);
        above = below;
      }
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["docs/find", true],
  ["docs/*", true],
  ["docs/fi*", true],
  ["*/find", true],
  ["mcp:docs/find", true],
  ["docs/fo*", false],
  ["doc/find", false],
  ["docs/", false],
])("the pattern %s names the tool find of the server docs: %s", (pattern, isMatch) => {
  const tool = { name: "docs-find", source: "mcp", mcp: { server: "docs", tool: "find" } } as const;
  expect(matchesPattern(pattern, tool)).toBe(isMatch);
  expect(matchesPattern(pattern, { name: "find", source: "builtin" })).toBe(false);
});

test("a server whose name has a slash is matched by its whole name", () => {
  const tool = { name: "a-b-find", source: "mcp", mcp: { server: "a/b", tool: "find" } } as const;
  expect(["a/b/find", "a/b/*"].map((pattern) => matchesPattern(pattern, tool))).toEqual([true, true]);
});
