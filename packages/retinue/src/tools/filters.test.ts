import { describe, expect, test } from "vitest";
import { decideOffer, isOffered, matchesEntry } from "./filters.ts";

const view = { name: "view", source: "builtin" } as const;
const echo = { name: "probe-echo_text", source: "mcp" } as const;
const mine = { name: "my_tool", source: "host" } as const;

describe("without filters", () => {
  test("everything is offered", () => {
    for (const tool of [view, echo, mine]) expect(isOffered(tool, {})).toBe(true);
  });
});

describe("availableTools", () => {
  test("an empty list removes built-in and MCP tools and leaves host tools", () => {
    const offered = [view, echo, mine].map((tool) => isOffered(tool, { availableTools: [] }));
    expect(offered).toEqual([false, false, true]);
  });

  test("a bare name offers the tool of that name, whoever made it", () => {
    expect(isOffered(view, { availableTools: ["view", "probe-echo_text"] })).toBe(true);
    expect(isOffered(echo, { availableTools: ["view", "probe-echo_text"] })).toBe(true);
  });

  test("custom:* offers neither built-in nor MCP tools", () => {
    expect([view, echo, mine].map((tool) => isOffered(tool, { availableTools: ["custom:*"] }))).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("a tool that no entry names is refused by the list and by no entry", () => {
    expect(decideOffer(view, { availableTools: ["bash"] })).toEqual({ offered: false, list: "availableTools" });
  });
});

describe("excludedTools", () => {
  test("removes host tools too, and names the entry", () => {
    expect(decideOffer(mine, { excludedTools: ["bash", "custom:*"] })).toEqual({
      offered: false,
      list: "excludedTools",
      entry: "custom:*",
    });
  });

  test("wins over availableTools unless the precedence says otherwise", () => {
    const both = { availableTools: ["view"], excludedTools: ["view"] };
    expect(isOffered(view, both)).toBe(false);
    expect(isOffered(view, { ...both, toolFilterPrecedence: "excluded" })).toBe(false);
    expect(isOffered(view, { ...both, toolFilterPrecedence: "available" })).toBe(true);
  });
});

describe("entries", () => {
  test.each([
    [view, "builtin:view", true],
    [view, "builtin:*", true],
    [view, "mcp:view", false],
    [echo, "mcp:probe-*", true],
    [echo, "mcp:*echo*", true],
    [echo, "probe-*_text", true],
    [echo, "probe-echo_text*x", false],
    [mine, "custom:my_tool", true],
    [mine, "builtin:*", false],
    [mine, "*", true],
    [mine, "my_tool*tool", false],
    [mine, "MY_TOOL", false],
    [mine, "", false],
  ])("%o and %s: %s", (tool, entry, expected) => {
    expect(matchesEntry(tool, entry)).toBe(expected);
  });
});
