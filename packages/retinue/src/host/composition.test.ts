/**
 * What a session tree is composed of, as the model sees it: which tools its next request offers, what changes that list, and that
 * nothing else does.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { ToolSpec } from "../models/provider.ts";
import { say } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { userTexts } from "../tasks/test-tasks.ts";

const PROBE = fileURLToPath(new URL("../mcp/fixtures/probe-server.mjs", import.meta.url));
const probe = { command: process.execPath, args: [PROBE] };
const REVIEWER = { name: "reviewer", description: "Reviews.", prompt: "You review.", tools: ["view", "grep", "shout"] };

interface Scene extends SmallWorld {
  sessionId: string;
  /** Sends session.resume for the open session: only the options it names change. */
  configure(config: object): Promise<void>;
  /** The tool list that the main agent would be offered now, as the same object. */
  list(): Promise<readonly ToolSpec[]>;
  offered(): Promise<string[]>;
  /** The names of the tools that a sub-agent of this kind is offered. */
  below(agentType: string): Promise<string[]>;
}

type Config = Parameters<SmallWorld["create"]>[0];

async function inTree(config: Config, test: (scene: Scene) => Promise<void>): Promise<void> {
  const turns = Array.from({ length: 30 }, () => [say("ok")]);
  await inSmallWorld(turns, async (world) => {
    const { client, provider, send } = world;
    const sessionId = await world.create(config);
    const list = async () => {
      await send(sessionId, "go");
      return provider.requests.at(-1)?.tools ?? [];
    };
    await test({
      ...world,
      sessionId,
      list,
      configure: async (change) => {
        await client.call("session.resume", { sessionId, requestPermission: true, ...change });
      },
      offered: async () => (await list()).map(({ name }) => name),
      below: async (agentType) => {
        const after = client.events.length;
        await client.call("session.tasks.startAgent", { sessionId, agentType, name: "dig", prompt: "do dig" });
        await client.received("session.idle", { after });
        const request = provider.requests.findLast((each) => userTexts(each)[0]?.endsWith("do dig"));
        return request?.tools.map(({ name }) => name) ?? [];
      },
    });
  });
}

const BUILTIN = [
  "bash",
  "read_bash",
  "write_bash",
  "stop_bash",
  "list_bash",
  "view",
  "create",
  "edit",
  "grep",
  "glob",
  "web_fetch",
  "sql",
  "report_intent",
  "skill",
  "task",
  "read_agent",
  "write_agent",
  "list_agents",
  "session_search",
];
/** Skills are not inherited, so a sub-agent without any has no tool for them. */
const INHERITED = BUILTIN.filter((name) => name !== "skill");
const without = (names: readonly string[], ...gone: string[]) => names.filter((name) => !gone.includes(name));
const descriptionOf = (tools: readonly ToolSpec[], name: string) =>
  tools.find((tool) => tool.name === name)?.description ?? "";

describe("the tools that the model is offered", () => {
  test("are the built-in ones in their order, then those of the host", async () => {
    await inTree({ tools: [{ name: "shout" }, { name: "call_home" }] }, async ({ offered, below }) => {
      expect(await offered()).toEqual([...BUILTIN, "shout", "call_home"]);
      expect(await below("general-purpose")).toEqual([...INHERITED, "shout", "call_home"]);
      expect((await below("explore")).sort()).toEqual(
        [
          "bash",
          "glob",
          "grep",
          "list_bash",
          "read_bash",
          "report_intent",
          "session_search",
          "stop_bash",
          "view",
          "write_bash",
        ].sort(),
      );
    });
  });

  test("are the same list, as an object, while nothing changes", async () => {
    await inTree({ tools: [{ name: "shout" }] }, async ({ list, below }) => {
      const first = await list();
      expect(await list()).toBe(first);
      await below("explore");
      expect(await list()).toBe(first);
    });
  });

  test("do not change with answers, allow rules, names, models or clients without tools", async () => {
    await inTree({}, async ({ list, client, sessionId, anotherClient, folder, configure }) => {
      const first = JSON.stringify(await list());
      const same = async (what: string) => expect(JSON.stringify(await list()), what).toBe(first);
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await same("approve all");
      const rules = { approved: [{ kind: "shell", argument: "git:*" }], denied: [] };
      await client.call("session.permissions.configure", { sessionId, rules });
      await same("allow rule");
      const denied = [{ kind: "shell", argument: "rm:*" }];
      await client.call("session.permissions.configure", { sessionId, rules: { approved: [], denied } });
      await same("a rule that denies some uses of a tool");
      await client.call("session.name.set", { sessionId, name: "Another name" });
      await same("name");
      await client.call("session.model.switchTo", { sessionId, modelId: "large" });
      await same("model");
      const other = anotherClient();
      await other.call("session.resume", { sessionId });
      await same("a client that brings nothing");
      other.close();
      await other.ended;
      await same("and leaves");
      mkdirSync(join(folder, "more"));
      await configure({ additionalDirectories: [join(folder, "more")] });
      await same("another folder");
    });
  });
});

describe("a resume changes what it names and nothing else", () => {
  test("filters of tools, for the main agent and for sub-agents", async () => {
    await inTree({}, async ({ offered, below, configure }) => {
      expect(await offered()).toEqual(BUILTIN);
      await configure({ excludedTools: ["bash", "web_fetch"] });
      expect(await offered()).toEqual(without(BUILTIN, "bash", "web_fetch"));
      expect(await below("general-purpose")).toEqual(without(INHERITED, "bash", "web_fetch"));
      await configure({ clientName: "again" });
      expect(await offered()).toEqual(without(BUILTIN, "bash", "web_fetch"));
      await configure({ availableTools: ["view", "bash"] });
      expect(await offered()).toEqual(["view"]);
      await configure({ excludedTools: [] });
      expect(await offered()).toEqual(["bash", "view"]);
    });
  });

  test("tools excluded for the default agent, which only sub-agents that name them have", async () => {
    await inTree({}, async ({ offered, below, configure }) => {
      await configure({ defaultAgent: { excludedTools: ["bash", "task"] } });
      expect(await offered()).toEqual(without(BUILTIN, "bash", "task"));
      expect(await below("general-purpose")).toEqual(without(INHERITED, "bash", "task"));
      expect(await below("explore")).toContain("bash");
    });
  });

  test("the agents that `task` offers", async () => {
    await inTree({}, async ({ list, configure }) => {
      expect(descriptionOf(await list(), "task")).toContain("- `explore` (changes nothing)");
      await configure({ customAgents: [REVIEWER], excludedBuiltinAgents: ["explore"] });
      const tools = await list();
      expect(descriptionOf(tools, "task")).toContain("- `reviewer` (custom): Reviews.");
      expect(descriptionOf(tools, "task")).not.toContain("`explore`");
      const task = tools.find(({ name }) => name === "task");
      expect(task?.parameters.properties).toMatchObject({
        agent_type: { enum: expect.arrayContaining(["reviewer", "task"]) },
      });
      await configure({ customAgents: [{ ...REVIEWER, infer: false }] });
      expect(descriptionOf(await list(), "task")).not.toContain("`reviewer`");
    });
  });

  test("skills, which are listed in the description of one tool", async () => {
    await inTree({}, async ({ list, configure, home, client, sessionId }) => {
      const folder = writeSkill(home, "tidy");
      expect(descriptionOf(await list(), "skill")).not.toContain("tidy");
      await configure({ skillDirectories: [folder] });
      const before = await list();
      expect(descriptionOf(before, "skill")).toContain("tidy");
      expect(await list()).toBe(before);
      writeSkill(home, "sort");
      expect(descriptionOf(await list(), "skill")).toContain("sort");
      await client.call("session.skills.disable", { sessionId, name: "tidy" });
      expect(descriptionOf(await list(), "skill")).not.toContain("tidy");
      await client.call("session.skills.enable", { sessionId, name: "tidy" });
      expect(descriptionOf(await list(), "skill")).toContain("tidy");
      await configure({ disabledSkills: ["sort"] });
      expect(descriptionOf(await list(), "skill")).not.toContain("sort");
    });
  });

  test("the limit on a tool's output, which is not part of the list", async () => {
    await inTree({}, async ({ list, configure }) => {
      const before = JSON.stringify(await list());
      await configure({ largeOutput: { maxSizeBytes: 1000 } });
      expect(JSON.stringify(await list())).toBe(before);
    });
  });

  test("the folders for reads and writes, which are not part of the list", async () => {
    await inTree({}, async ({ client, sessionId, configure }) => {
      const path = "/usr/share";
      const isAllowed = async () =>
        (await client.call("session.permissions.paths.isPathWithinAllowedDirectories", { sessionId, path })).allowed;
      expect(await isAllowed()).toBe(false);
      await configure({ additionalDirectories: [path] });
      expect(await isAllowed()).toBe(true);
      await configure({});
      expect(await isAllowed()).toBe(true);
    });
  });
});

describe("clients", () => {
  async function join_(scene: Scene, config: object): Promise<TestClient> {
    const client = scene.anotherClient();
    await client.call("session.resume", { sessionId: scene.sessionId, ...config });
    return client;
  }

  test("add their tools when they join and remove them when they leave", async () => {
    await inTree({ tools: [{ name: "shout", description: "one" }] }, async (scene) => {
      const { offered, below, list } = scene;
      expect(await offered()).toEqual([...BUILTIN, "shout"]);
      const other = await join_(scene, { tools: [{ name: "whisper" }, { name: "shout", description: "two" }] });
      expect(await offered()).toEqual([...BUILTIN, "shout", "whisper"]);
      expect(descriptionOf(await list(), "shout")).toBe("two"); // The client that joined last owns the name.
      expect(await below("general-purpose")).toContain("whisper");
      await other.call("session.tools.set", { sessionId: scene.sessionId, tools: [{ name: "sing" }] });
      expect(await offered()).toEqual([...BUILTIN, "shout", "sing"]);
      expect(descriptionOf(await list(), "shout")).toBe("one");
      other.close();
      await other.ended;
      expect(await offered()).toEqual([...BUILTIN, "shout"]);
    });
  });

  test("that take questions make `ask_user` available while one of them is attached", async () => {
    await inTree({}, async (scene) => {
      const { offered, list } = scene;
      expect(await offered()).not.toContain("ask_user");
      const asked = await join_(scene, { requestUserInput: true });
      expect(await offered()).toContain("ask_user");
      const simple = await list();
      const forms = await join_(scene, { requestElicitation: true, askUserVariant: "elicitation" });
      expect(descriptionOf(await list(), "ask_user")).not.toBe(descriptionOf(simple, "ask_user"));
      forms.close();
      await forms.ended;
      expect(descriptionOf(await list(), "ask_user")).toBe(descriptionOf(simple, "ask_user"));
      asked.close();
      await asked.ended;
      expect(await offered()).not.toContain("ask_user");
    });
  });

  test("may replace a built-in tool with their own if they say so", async () => {
    await inTree({}, async (scene) => {
      const { offered } = scene;
      const other = await join_(scene, { tools: [{ name: "grep", overridesBuiltInTool: true }] });
      expect(await offered()).toEqual([...without(BUILTIN, "grep"), "grep"]);
      other.close();
      await other.ended;
      expect(await offered()).toEqual(BUILTIN);
    });
  });
});

describe("the selected agent", () => {
  const withAgents = { customAgents: [REVIEWER], tools: [{ name: "shout" }, { name: "whisper" }] };

  test("has its own tools and those that a main agent always keeps, until it is deselected", async () => {
    await inTree(withAgents, async ({ offered, client, sessionId, provider }) => {
      expect(await offered()).toEqual([...BUILTIN, "shout", "whisper"]);
      await client.call("session.agent.select", { sessionId, name: "reviewer" });
      expect((await offered()).sort()).toEqual(["grep", "shout", "sql", "view"]);
      expect(provider.requests.at(-1)?.system).toContain("You review.");
      await client.call("session.agent.setPrompt", { sessionId, id: "reviewer", prompt: "You praise." });
      await offered();
      expect(provider.requests.at(-1)?.system).toContain("You praise.");
      await client.call("session.agent.deselect", { sessionId });
      expect(await offered()).toEqual([...BUILTIN, "shout", "whisper"]);
      expect(provider.requests.at(-1)?.system).not.toContain("You praise.");
    });
  });

  test("limits its sub-agents only when it sets a ceiling of its own", async () => {
    await inTree(withAgents, async ({ below, client, sessionId }) => {
      await client.call("session.agent.select", { sessionId, name: "reviewer" });
      expect(await below("general-purpose")).toContain("bash");
    });
    const capped = { ...withAgents, customAgents: [{ ...REVIEWER, ceiling: "own" as const }] };
    await inTree(capped, async ({ below, client, sessionId }) => {
      await client.call("session.agent.select", { sessionId, name: "reviewer" });
      expect((await below("general-purpose")).sort()).toEqual(["grep", "shout", "view"]);
    });
  });

  test("also limits sub-agents that were there before it was selected", async () => {
    const capped = { ...withAgents, customAgents: [{ ...REVIEWER, ceiling: "own" as const }] };
    await inTree(capped, async ({ below, client, sessionId, provider }) => {
      expect(await below("general-purpose")).toContain("bash");
      await client.call("session.agent.select", { sessionId, name: "reviewer" });
      const { tasks } = await client.call("session.tasks.list", { sessionId });
      const after = client.events.length;
      await client.call("session.tasks.sendMessage", { sessionId, id: tasks[0]?.id ?? "", message: "do more" });
      await client.received("session.idle", { after });
      const request = provider.requests.findLast((each) => userTexts(each).at(-1)?.includes("do more"));
      expect(request?.tools.map(({ name }) => name).sort()).toEqual(["grep", "shout", "view"]);
    });
  });

  test("from a file is known with the next prompt", async () => {
    await inTree({}, async ({ list, client, sessionId, runtime }) => {
      expect(descriptionOf(await list(), "task")).not.toContain("smith");
      const folder = join(runtime.config.home, "agents");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "smith.agent.md"), "---\nname: smith\ndescription: Forges.\n---\nYou forge.\n");
      expect(descriptionOf(await list(), "task")).toContain("`smith`");
      expect((await client.call("session.agent.list", { sessionId })).agents).toMatchObject([{ name: "smith" }]);
    });
  });

  test("has, as a sub-agent, the host tools that only it may use", async () => {
    const own = { ...REVIEWER, tools: null, toolDefinitions: [{ name: "secret" }] };
    await inTree({ customAgents: [own] }, async ({ offered, below }) => {
      expect(await offered()).not.toContain("secret");
      expect(await below("general-purpose")).not.toContain("secret");
      expect(await below("reviewer")).toContain("secret");
    });
  });
});

describe("the mode", () => {
  test("adds its tools to the main agent, and plan mode takes file writing from sub-agents", async () => {
    await inTree({}, async ({ offered, below, client, sessionId, list }) => {
      const first = await list();
      const to = (mode: "plan" | "autopilot" | "interactive") => client.call("session.mode.set", { sessionId, mode });
      await to("plan");
      expect(await offered()).toEqual([...BUILTIN, "exit_plan_mode"]);
      expect(await below("general-purpose")).toEqual(without(INHERITED, "create", "edit"));
      await to("interactive");
      expect(JSON.stringify(await list())).toBe(JSON.stringify(first));
      expect(await below("general-purpose")).toEqual(INHERITED);
    });
  });

  test("autopilot adds `task_complete`", async () => {
    await inTree({}, async ({ offered, below, client, sessionId }) => {
      await client.call("session.mode.set", { sessionId, mode: "autopilot" });
      expect(await offered()).toEqual([...BUILTIN, "task_complete"]);
      expect(await below("general-purpose")).not.toContain("task_complete");
    });
  });
});

describe("rules and settings", () => {
  test("that deny a whole tool remove it for every agent until the rule is removed", async () => {
    await inTree({ tools: [{ name: "shout" }] }, async ({ offered, below, client, sessionId }) => {
      const modify = (change: object) =>
        client.call("session.permissions.modifyRules", { sessionId, scope: "session", ...change });
      await client.call("session.permissions.configure", {
        sessionId,
        rules: { approved: [], denied: [{ kind: "bash", argument: null }] },
      });
      expect(await offered()).toEqual([...without(BUILTIN, "bash"), "shout"]);
      expect(await below("general-purpose")).toEqual([...without(INHERITED, "bash"), "shout"]);
      await client.call("session.permissions.configure", { sessionId, rules: { approved: [], denied: [] } });
      expect(await offered()).toEqual([...BUILTIN, "shout"]);
      await modify({ add: [{ kind: "custom-tool", argument: null }] });
      expect(await offered()).toEqual([...BUILTIN, "shout"]); // An allow rule removes nothing.
    });
  });

  test("for sub-agents remove kinds of agents from `task`", async () => {
    await inTree({}, async ({ list, client, sessionId }) => {
      const update = (subagents: object) =>
        client.call("session.tools.updateSubagentSettings", { sessionId, subagents });
      await update({ disabledSubagents: ["explore"] });
      expect(descriptionOf(await list(), "task")).not.toContain("`explore`");
      await update({});
      expect(descriptionOf(await list(), "task")).toContain("`explore`");
    });
  });
});

describe("MCP servers", () => {
  const named = (names: readonly string[]) => names.filter((name) => name.startsWith("probe-"));

  test("add their tools after the built-in ones, by configuration or by name, and remove them when they stop", async () => {
    await inTree({ tools: [{ name: "shout" }] }, async ({ offered, below, configure, client, sessionId, list }) => {
      expect(await offered()).toEqual([...BUILTIN, "shout"]);
      await configure({ tools: [{ name: "shout" }], mcpServers: { probe } });
      const names = await offered();
      expect(names.slice(0, BUILTIN.length)).toEqual(BUILTIN);
      expect(names.at(-1)).toBe("shout");
      expect(named(names).length).toBeGreaterThan(0);
      const first = await list();
      expect(await list()).toBe(first);
      expect(named(await below("general-purpose"))).toEqual(named(names));
      expect(named(await below("explore"))).toEqual([]);
      await client.call("session.mcp.disable", { sessionId, serverName: "probe" });
      expect(named(await offered())).toEqual([]);
      await client.call("session.mcp.enable", { sessionId, serverName: "probe" });
      expect(named(await offered())).toEqual(named(names));
      await configure({ tools: [{ name: "shout" }], mcpServers: { probe: { ...probe, tools: ["echo"] } } });
      expect(named(await offered())).toEqual(["probe-echo"]);
      await configure({ tools: [{ name: "shout" }], mcpServers: {} });
      expect(await offered()).toEqual([...BUILTIN, "shout"]);
    });
  });

  test("of an agent are available to that agent only", async () => {
    const own = { ...REVIEWER, tools: null, mcpServers: { probe } };
    await inTree({ customAgents: [own] }, async ({ offered, below }) => {
      expect(named(await offered())).toEqual([]);
      expect(named(await below("reviewer")).length).toBeGreaterThan(0);
      expect(named(await below("general-purpose"))).toEqual([]);
      expect(named(await offered())).toEqual([]);
    });
  });
});

function writeSkill(home: string, name: string): string {
  const folder = join(home, "skills");
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, "SKILL.md"), `---\ndescription: does ${name}\n---\nBody of ${name}.`);
  return folder;
}
