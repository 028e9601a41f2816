import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { builtinTools, orderTools } from "./catalog.ts";
import { hostTool } from "./host-tool.ts";
import { type SmallWorld, smallWorld } from "./small-world.ts";
import { success, type Tool } from "./tool.ts";

const echo = async (args: unknown) => success(JSON.stringify(args));
const namesOf = (tools: readonly Tool[]) => tools.map((tool) => tool.name);

describe("built-in tools", () => {
  test("are these, in this order", () => {
    expect(namesOf(builtinTools())).toEqual(
      "bash read_bash write_bash stop_bash list_bash view create edit grep glob web_fetch sql report_intent".split(" "),
    );
  });

  test("ask_user and task_complete come when asked for, ask_user in one of two forms", () => {
    const parameters = (askUser: "legacy" | "elicitation") =>
      builtinTools({ askUser, autopilot: true }).find((tool) => tool.name === "ask_user")?.parameters;
    expect(namesOf(builtinTools({ askUser: "legacy", autopilot: true })).slice(-2)).toEqual([
      "ask_user",
      "task_complete",
    ]);
    expect(parameters("legacy")).toMatchObject({ required: ["question"] });
    expect(parameters("elicitation")).toMatchObject({ required: ["message", "requestedSchema"] });
  });

  test("each has words and an object schema without a $schema", () => {
    for (const tool of builtinTools({ askUser: "legacy", autopilot: true })) {
      expect(tool.description.length, tool.name).toBeGreaterThan(30);
      expect(tool.parameters, tool.name).toMatchObject({ type: "object" });
      expect(tool.parameters, tool.name).not.toHaveProperty("$schema");
    }
  });

  test("parameters have the names that models are given elsewhere", () => {
    const properties = Object.fromEntries(
      builtinTools().map((tool) => [tool.name, Object.keys(Object(tool.parameters.properties))]),
    );
    expect(properties).toMatchObject({
      bash: ["command", "description", "shellId", "mode", "detach", "initial_wait"],
      read_bash: ["shellId", "delay"],
      view: ["path", "view_range", "forceReadLargeFiles"],
      create: ["path", "file_text"],
      edit: ["path", "old_str", "new_str"],
      glob: expect.arrayContaining(["pattern", "paths"]),
      grep: expect.arrayContaining([
        "pattern",
        "paths",
        "output_mode",
        "glob",
        "type",
        "-i",
        "-A",
        "-B",
        "-C",
        "-n",
        "head_limit",
        "multiline",
      ]),
      web_fetch: ["url", "max_length", "start_index", "raw"],
      sql: ["description", "query"],
    });
  });
});

describe("a host tool", () => {
  let world: SmallWorld;
  beforeEach(() => {
    world = smallWorld();
  });
  afterEach(() => world.close());

  test("asks for a permission of its own kind, and runs at the host with its arguments unchecked", async () => {
    const tool = hostTool({ name: "my_tool", description: "mine", parameters: { type: "object" } }, echo);
    expect(await world.permission(tool, { x: 1 })).toEqual({
      kind: "custom-tool",
      toolCallId: "call_1",
      toolName: "my_tool",
      toolDescription: "mine",
      args: { x: 1 },
    });
    expect((await world.call(tool, { anything: true })).text).toBe('{"anything":true}');
  });

  test("with skipPermission needs no ask, and still names itself for rules that deny it", async () => {
    const prepare = (skipPermission: boolean) =>
      hostTool({ name: "x", skipPermission }, echo).prepare({}, world.context);
    expect(await prepare(true)).toMatchObject({ needsNoAsk: true, permission: { toolName: "x" } });
    expect(await prepare(false)).toMatchObject({ needsNoAsk: false });
  });

  test.each(["", "a b", "a.b", "ü", "a/b", "a\n"])("cannot be called %j", (name) => {
    expect(() => hostTool({ name }, echo)).toThrow("Invalid tool name");
  });
});

describe("order", () => {
  const builtin = builtinTools();
  const mcp: Tool[] = [{ ...hostTool({ name: "probe-echo" }, echo), source: "mcp" }];

  test("built-in, MCP, host", () => {
    const tools = orderTools({ builtin, mcp, host: [hostTool({ name: "mine" }, echo)] });
    expect(namesOf(tools).slice(-3)).toEqual(["report_intent", "probe-echo", "mine"]);
  });

  test("a host tool that overrides a built-in stands at the end, once", () => {
    const tools = orderTools({ builtin, mcp, host: [hostTool({ name: "grep", overridesBuiltInTool: true }, echo)] });
    expect(namesOf(tools).filter((name) => name === "grep")).toHaveLength(1);
    expect(tools.at(-1)).toMatchObject({ name: "grep", source: "host" });
  });

  test("a host tool with a built-in's name that does not say so is an error", () => {
    expect(() => orderTools({ builtin, mcp, host: [hostTool({ name: "grep" }, echo)] })).toThrow(
      'External tool "grep" conflicts with a built-in tool of the same name. Set overridesBuiltInTool: true to explicitly override it.',
    );
  });
});
