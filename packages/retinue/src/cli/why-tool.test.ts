import { expect, test } from "vitest";
import { UsageError } from "./usage-error.ts";
import { knownTools, requestFor, toolNamed } from "./why-tool.ts";

const at = (limits: { hostTools?: string[]; mcpServers?: string[] }, servers: string[] = []) => ({
  limits,
  servers,
  events: [],
});

test("a tool of a server that was not called yet goes by the server's name, dashes included", () => {
  const sources = at({ mcpServers: ["my", "my-docs"] }, ["of-an-agent"]);
  expect(toolNamed("my-docs-read", sources)).toEqual({
    name: "my-docs-read",
    source: "mcp",
    mcp: { server: "my-docs", tool: "read" },
  });
  expect(toolNamed("of-an-agent-run", sources).mcp?.server).toBe("of-an-agent");
  expect(() => toolNamed("other-read", sources)).toThrow(UsageError);
});

test("a session of an earlier version does not say which servers it had, so none is refused", () => {
  expect(toolNamed("other-read", at({})).mcp).toEqual({ server: "other", tool: "read" });
});

test("a host tool in place of a built-in one is listed once, as the host's", () => {
  const tools = knownTools(at({ hostTools: ["view", "lookup"] })).filter(({ name }) => name === "view");
  expect(tools).toEqual([{ name: "view", source: "host" }]);
  expect(toolNamed("lookup", at({ hostTools: ["lookup"] })).source).toBe("host");
});

test("what is typed into a shell needs the permission of a shell, as it does in a run", async () => {
  const tool = toolNamed("write_bash", at({}));
  const input = JSON.stringify({ shellId: "dev", input: "rm -rf x{enter}" });
  expect(await requestFor(tool, input, "/")).toMatchObject({ kind: "shell", fullCommandText: "rm -rf x\n" });
  expect(await requestFor(tool, undefined, "/")).toMatchObject({ kind: "shell", canOfferSessionApproval: false });
});
