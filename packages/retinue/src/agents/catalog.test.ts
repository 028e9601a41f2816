import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentCatalog, agentFolders } from "./catalog.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "retinue-agents-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(folder: string, name: string, description: string, more = ""): void {
  mkdirSync(path.join(root, folder), { recursive: true });
  const text = `---\nname: ${name}\ndescription: ${description}\n${more}---\nPrompt of ${name}`;
  writeFileSync(path.join(root, folder, `${name}.agent.md`), text);
}

const folders = (enableConfigDiscovery = true) =>
  agentFolders({
    home: path.join(root, "home"),
    projectRoot: path.join(root, "project"),
    enableConfigDiscovery,
    pluginDirectories: [path.join(root, "plugin")],
  });

const BUILTIN = [
  "code-review",
  "explore",
  "general-purpose",
  "rem-agent",
  "research",
  "rubber-duck",
  "security-review",
  "task",
];

describe("the built-in agents", () => {
  test("are these, each with words of its own", () => {
    const catalog = new AgentCatalog({ folders: [] });
    expect([...catalog.names()].sort()).toEqual(BUILTIN);
    for (const agent of catalog.list()) {
      expect(agent.description.length, agent.name).toBeGreaterThan(40);
      expect(agent.prompt, agent.name).toContain("## What to return");
      expect(agent.path).toBeUndefined();
    }
    expect(catalog.get("general-purpose").tools).toEqual(["*"]);
    expect(catalog.get("explore")).toMatchObject({ readOnly: true, modelClass: "fast" });
    expect(catalog.get("rubber-duck").modelClass).toBe("other-family");
  });

  test("are gone when the host excludes them, unless somebody defines that name", () => {
    const excludedBuiltinAgents = ["Explore", "task"];
    const catalog = new AgentCatalog({
      folders: [],
      excludedBuiltinAgents,
      customAgents: [{ name: "task", prompt: "mine" }],
    });
    expect(catalog.find("explore")).toBeUndefined();
    expect(catalog.get("task").prompt).toBe("mine");
  });
});

describe("agents of one name", () => {
  test("the later source wins: built-in, user, project, plugin, SDK", () => {
    const sourceOf = (customAgents: { name: string; prompt: string }[] = []) =>
      new AgentCatalog({ folders: folders(), customAgents }).get("explore").source;
    expect(sourceOf()).toBe("builtin");
    write("home/agents", "explore", "d");
    expect(sourceOf()).toBe("user");
    write("project/.github/agents", "explore", "d");
    expect(sourceOf()).toBe("project");
    write("plugin/agents", "explore", "d");
    expect(sourceOf()).toBe("plugin");
    expect(sourceOf([{ name: "EXPLORE", prompt: "p" }])).toBe("sdk");
  });

  test("a project file counts only with config discovery", () => {
    write("project/.github/agents", "local", "d");
    write("project/.retinue/agents", "ours", "d");
    expect(new AgentCatalog({ folders: folders(false) }).custom()).toEqual([]);
    expect(new AgentCatalog({ folders: folders(true) }).custom().map((agent) => agent.name)).toEqual(["local", "ours"]);
  });
});

describe("what the model is offered", () => {
  test("custom agents come first, and infer:false is left out but callable", () => {
    const customAgents = [
      { name: "mine", prompt: "p" },
      { name: "hidden", prompt: "p", infer: false },
    ];
    const catalog = new AgentCatalog({ folders: [], customAgents });
    const offered = catalog.offered().map((agent) => agent.name);
    expect(offered[0]).toBe("mine");
    expect(offered).not.toContain("hidden");
    expect(offered).not.toContain("rem-agent");
    expect(catalog.get("hidden").name).toBe("hidden");
  });

  test("the user's rules switch an agent off, out of the list, or into it", () => {
    const catalog = new AgentCatalog({ folders: [], customAgents: [{ name: "hidden", prompt: "p", infer: false }] });
    catalog.setRules({
      disabledSubagents: ["Task"],
      agents: { explore: { autoInvoke: false }, hidden: { autoInvoke: true } },
    });
    const offered = catalog.offered().map((agent) => agent.name);
    expect(offered).toContain("hidden");
    expect(offered).not.toContain("explore");
    expect(catalog.find("explore")).toBeDefined();
    expect(catalog.find("task")).toBeUndefined();
  });
});

describe("an unknown name", () => {
  test("is answered with the names that exist", () => {
    const catalog = new AgentCatalog({ folders: [], customAgents: [{ name: "mine", prompt: "p", infer: false }] });
    expect(() => catalog.get("X")).toThrow(/^Unknown agent_type: X\. Valid types are: explore, .*rubber-duck.*, mine$/);
    expect(() => catalog.getCustom("explore")).toThrow("Custom agent 'explore' not found");
  });
});

describe("files", () => {
  test("a broken one is reported with its line and hides nothing else", () => {
    write("home/agents", "good", "d");
    write("home/agents", "bad", "d", "infer: 7\n");
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.custom().map((agent) => agent.name)).toEqual(["good"]);
    expect(catalog.problems).toEqual([expect.stringContaining("bad.agent.md:4: infer")]);
  });

  test("are read again at reload, and only *.agent.md counts", () => {
    const catalog = new AgentCatalog({ folders: folders() });
    write("home/agents", "late", "d");
    writeFileSync(path.join(root, "home/agents", "README.md"), "not an agent");
    expect(catalog.find("late")).toBeUndefined();
    catalog.reload();
    expect(catalog.get("late")).toMatchObject({ source: "user", path: path.join(root, "home/agents/late.agent.md") });
    expect(catalog.problems).toEqual([]);
  });
});
