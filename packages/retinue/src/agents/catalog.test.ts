import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentCatalog, agentFolders, namedIn } from "./catalog.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-agents-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(folder: string, name: string, description: string, more = ""): void {
  mkdirSync(path.join(root, folder), { recursive: true });
  const text = `---\nname: ${name}\ndescription: ${description}\n${more}---\nPrompt of ${name}`;
  writeFileSync(path.join(root, folder, `${name}.agent.md`), text);
}

const project = () => ({ folder: path.join(root, "project"), root: path.join(root, "project") });
const folders = (isTrusted = true) =>
  agentFolders({
    home: path.join(root, "home"),
    project: isTrusted ? project() : undefined,
    plugins: [{ source: "plugin", path: path.join(root, "plugin/agents") }],
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
  test("the later source wins: built-in, user, plugin, SDK", () => {
    const sourceOf = (customAgents: { name: string; prompt: string }[] = []) =>
      new AgentCatalog({ folders: folders(), customAgents }).get("explore").source;
    expect(sourceOf()).toBe("builtin");
    write("home/agents", "explore", "d");
    expect(sourceOf()).toBe("user");
    write("project/.github/agents", "explore", "d");
    expect(sourceOf()).toBe("user");
    write("plugin/agents", "explore", "d");
    expect(sourceOf()).toBe("plugin");
    expect(sourceOf([{ name: "EXPLORE", prompt: "p" }])).toBe("sdk");
  });

  test.each([
    ["of a built-in agent", "explore", "a built-in agent"],
    ["of a built-in agent in other letters", "Ｅｘｐｌｏｒｅ", "a built-in agent"],
    ["of a built-in agent with other dashes", "general_purpose", "a built-in agent"],
    ["of a user's agent", "mine", "an agent of yours"],
  ])("a project agent with the name %s is called project:<name>, and that is reported", (_, name, owner) => {
    write("home/agents", "mine", "d");
    write("project/.github/agents", name, "d");
    const catalog = new AgentCatalog({ folders: folders(), excludedBuiltinAgents: ["explore"] });
    expect(catalog.find(name)?.source).not.toBe("project");
    expect(catalog.get(`project:${name}`)).toMatchObject({ source: "project", displayName: `project:${name}` });
    expect(catalog.problems.warnings).toEqual([
      expect.stringContaining(`the name of ${owner}, so this one is called project:`),
    ]);
  });

  test("a project agent cannot have a server believed, which is reported; one of the user can", () => {
    const head = 'd\nmcp-servers:\n  docs: { url: "http://localhost/mcp", trustReadOnlyHint: true }';
    write("home/agents", "mine", head);
    write("project/.github/agents", "theirs", head);
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.get("mine").mcpServers.docs).toMatchObject({ trustReadOnlyHint: true });
    expect(catalog.get("theirs").mcpServers.docs).toEqual({ type: "http", url: "http://localhost/mcp" });
    expect(catalog.problems.warnings).toEqual([expect.stringContaining("trustReadOnlyHint does not count here")]);
  });

  test("whoever names such an agent for a session is told what it is called", () => {
    write("project/.github/agents", "explore", "d");
    const catalog = new AgentCatalog({ folders: folders() });
    expect(() => catalog.getSelectable("explore")).toThrow("The agent of the project is called 'project:explore'");
    expect(catalog.getSelectable("project:explore").source).toBe("project");
  });

  test("a project agent whose name hides a character is left out", () => {
    write("project/.github/agents", "explore\u200b", "d");
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.custom()).toEqual([]);
    expect(catalog.problems.errors).toEqual([
      expect.stringContaining("explore‹U+200B› has characters that cannot be seen"),
    ]);
  });

  test("in the user's own folder they are the user's and not a project's", () => {
    write(".retinue/agents", "mine", "d");
    const all = agentFolders({ home: path.join(root, ".retinue"), project: { folder: root, root } });
    expect(new AgentCatalog({ folders: all }).custom().map(({ name, source }) => [name, source])).toEqual([
      ["mine", "user"],
    ]);
  });

  test("a project file counts only where the project does", () => {
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
    expect(() => catalog.get("X")).toThrow(/^Unknown agent_type: X\. Valid types are: explore, .*rubber-duck$/);
    expect(() => catalog.getSelectable("X")).toThrow(
      "Custom agent 'X' not found. There are: mine, and the built-in ones",
    );
    expect(() => catalog.getSelectable("explor")).toThrow(/not found\. Did you mean 'explore'\?$/);
    expect(catalog.getSelectable("explore").source).toBe("builtin");
  });
});

describe("an unknown key in a file", () => {
  test.each([
    ["tool: [view]", "there is no field 'tool', so the agent is left out. Did you mean tools?"],
    ["Tools: [view]", "there is no field 'Tools', so the agent is left out. Did you mean tools?"],
    ["allowed-tools: view", "there is no field 'allowed-tools', so the agent is left out. Did you mean tools?"],
    ["disallowedTools: bash", "there is no field 'disallowedTools', so the agent is left out. Did you mean tools?"],
    ["budgets: { turns: 3 }", "there is no field 'budgets', so the agent is left out. Did you mean budget?"],
    ["modelPolicy: required", "there is no field 'modelPolicy', so the agent is left out. Did you mean model-policy?"],
    ["budget: { turn: 3 }", "there is no field 'turn', so the agent is left out. Did you mean turns?"],
  ])("that looks like a limit leaves the agent out: %s", (line, words) => {
    write("home/agents", "bad", "d", `${line}\n`);
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.find("bad")).toBeUndefined();
    expect(() => catalog.getSelectable("bad")).toThrow("Custom agent 'bad' not found. Its file cannot be used: ");
    expect(catalog.problems.errors).toEqual([expect.stringContaining(`bad.agent.md:4: ${words}`)]);
  });

  test("of another kind is a warning with its line and the nearest word", () => {
    write("home/agents", "good", "d", "colour: red\nskill: [a]\nmcp-servers: { docs: { command: x, enw: {} } }\n");
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.find("good")).toBeDefined();
    expect(catalog.problems).toEqual({
      errors: [],
      notes: [],
      warnings: [
        expect.stringContaining("good.agent.md:4: there is no field 'colour', so it has no effect. There are: name, "),
        expect.stringContaining(
          "good.agent.md:5: there is no field 'skill', so it has no effect. Did you mean skills?",
        ),
        expect.stringContaining("good.agent.md:6: there is no field 'enw', so it has no effect. Did you mean env?"),
      ],
    });
  });
});

describe("files", () => {
  test("a broken one is reported with its line and hides nothing else", () => {
    write("home/agents", "good", "d");
    write("home/agents", "bad", "d", "infer: 7\n");
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.custom().map((agent) => agent.name)).toEqual(["good"]);
    expect(catalog.problems.errors).toEqual([expect.stringContaining("bad.agent.md:4: infer")]);
  });

  test("are read again at reload, and a README is none of them", () => {
    const catalog = new AgentCatalog({ folders: folders() });
    write("home/agents", "late", "d");
    writeFileSync(path.join(root, "home/agents", "README.md"), "not an agent");
    expect(catalog.find("late")).toBeUndefined();
    catalog.reload();
    expect(catalog.get("late")).toMatchObject({ source: "user", path: path.join(root, "home/agents/late.agent.md") });
    expect(catalog.problems).toEqual({
      errors: [],
      warnings: [],
      notes: [expect.stringContaining("README.md:1: it has no front matter (---), so it is not an agent")],
    });
  });

  test("a pipe, a link out of the project and a file without end are reported, and none of them is read", () => {
    const agents = path.join(root, "project/.github/agents");
    write("project/.github/agents", "good", "d");
    write("elsewhere", "outside", "d");
    execFileSync("mkfifo", [path.join(agents, "pipe.agent.md")]);
    symlinkSync(path.join(root, "elsewhere/outside.agent.md"), path.join(agents, "link.agent.md"));
    writeFileSync(path.join(agents, "huge.agent.md"), "");
    truncateSync(path.join(agents, "huge.agent.md"), 3 * 1024 * 1024 * 1024);
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.custom().map((agent) => agent.name)).toEqual(["good"]);
    expect(catalog.problems.errors).toEqual([
      expect.stringContaining("huge.agent.md was not read: it is larger than"),
      expect.stringContaining("link.agent.md was not read: it is a link that leads out of the project"),
      expect.stringContaining("pipe.agent.md was not read: it is a named pipe"),
    ]);
  });

  test("a folder of agents that is a link out of the project is not read, and the user's own may be one", () => {
    write("elsewhere", "outside", "d");
    for (const [folder, name] of [
      ["project/.github", "agents"],
      ["home", "agents"],
    ] as const) {
      mkdirSync(path.join(root, folder), { recursive: true });
      symlinkSync(path.join(root, "elsewhere"), path.join(root, folder, name));
    }
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.custom().map(({ name, source }) => [name, source])).toEqual([["outside", "user"]]);
    expect(catalog.problems.errors).toEqual([expect.stringContaining("leads out of the project")]);
  });

  test("plain *.md with a head is an agent in every folder, and one without a head is reported", () => {
    for (const place of ["home", "project/.claude", "project/.github", "project/.retinue"]) {
      const folder = path.join(root, place, "agents");
      mkdirSync(path.join(folder, "below"), { recursive: true });
      writeFileSync(path.join(folder, `${path.basename(place)}.md`), "---\ndescription: d\n---\nP");
      writeFileSync(path.join(folder, "thoughts.md"), "Only words.");
    }
    const read = new AgentCatalog({ folders: folders() });
    expect(read.custom().map(({ name, source }) => [name, source])).toEqual([
      ["home", "user"],
      [".claude", "project"],
      [".github", "project"],
      [".retinue", "project"],
    ]);
    expect(read.problems.warnings).toHaveLength(4);
    expect(read.problems.warnings[0]).toMatch(/thoughts\.md:1: it has no front matter \(---\), so it is not an agent$/);
    expect(read.problems.notes).toHaveLength(4);
    expect(read.problems.notes[0]).toMatch(/below: folders in here are not read$/);
  });

  test("of a user lie beside the home folder too, where it is the usual one and they are asked for", () => {
    write(".claude/agents", "theirs", "d");
    write(".github/agents", "octo", "d");
    write(".retinue/agents", "mine", "d");
    const named = (home: string, enableConfigDiscovery: boolean) =>
      new AgentCatalog({ folders: agentFolders({ home: path.join(root, home), enableConfigDiscovery }) })
        .custom()
        .map(({ name, source }) => `${source} ${name}`);
    expect(named(".retinue", true)).toEqual(["user theirs", "user octo", "user mine"]);
    expect(named(".retinue", false)).toEqual(["user mine"]);
    expect(named("elsewhere", true)).toEqual([]);
  });

  test("of a plugin never take a name that is built in, and say where they are from", () => {
    write("plugin/agents", "explore", "d");
    write("plugin/agents", "deploy", "d");
    const plugin = { source: "plugin" as const, path: path.join(root, "plugin/agents"), plugin: "kit" };
    const catalog = new AgentCatalog({ folders: [plugin] });
    expect(catalog.custom().map(({ name, plugin: from }) => [name, from])).toEqual([
      ["deploy", "kit"],
      ["kit:explore", "kit"],
    ]);
  });

  test("of a project lie at its root too, and those of the working folder are the stronger", () => {
    mkdirSync(path.join(root, "project/sub"), { recursive: true });
    symlinkSync(path.join(root, "project"), path.join(root, "link"));
    write("project/.retinue/agents", "both", "of the root");
    write("project/.claude/agents", "outer", "d");
    write("project/sub/.claude/agents", "both", "of the folder");
    const at = (folder: string) => {
      const project = { folder: path.join(root, folder), root: path.join(root, "project") };
      return new AgentCatalog({ folders: agentFolders({ home: path.join(root, "home"), project }) });
    };
    expect(
      at("project/sub")
        .custom()
        .map(({ name }) => name),
    ).toEqual(["outer", "both"]);
    expect(at("project/sub").get("both")).toMatchObject({
      description: "of the folder",
      hides: [{ description: "of the root" }],
    });
    expect(at("link").get("both").hides).toBeUndefined();
  });

  test("that hide another of their name are known", () => {
    for (const place of [".claude", ".github", ".retinue"]) write(`project/${place}/agents`, "twice", place);
    const catalog = new AgentCatalog({ folders: folders(), customAgents: [{ name: "explore", prompt: "p" }] });
    expect(catalog.get("twice").description).toBe(".retinue");
    expect(catalog.get("twice").hides?.map(({ description }) => description)).toEqual([".github", ".claude"]);
    expect(catalog.get("explore").hides?.map(({ source }) => source)).toEqual(["builtin"]);
    expect(catalog.get("task").hides).toBeUndefined();
  });

  test("that have changed, come or gone are noticed, and nothing is read again otherwise", () => {
    write("home/agents", "a", "first");
    const catalog = new AgentCatalog({ folders: folders() });
    const before = catalog.list();
    expect(catalog.reload({ onlyIfChanged: true })).toBe(false);
    expect(catalog.list()).toBe(before);
    write("home/agents", "a", "the second one");
    expect(catalog.reload({ onlyIfChanged: true })).toBe(true);
    expect(catalog.get("a").description).toBe("the second one");
    write("project/.claude/agents", "b", "d");
    expect(catalog.reload({ onlyIfChanged: true })).toBe(true);
    rmSync(path.join(root, "home/agents/a.agent.md"));
    expect(catalog.reload({ onlyIfChanged: true })).toBe(true);
    expect(catalog.custom().map(({ name }) => name)).toEqual(["b"]);
  });

  test("that are links in a circle are reported", () => {
    const agents = path.join(root, "project/.claude/agents");
    mkdirSync(agents, { recursive: true });
    symlinkSync(path.join(agents, "b.md"), path.join(agents, "a.md"));
    symlinkSync(path.join(agents, "a.md"), path.join(agents, "b.md"));
    symlinkSync(agents, path.join(agents, "folder.md"));
    const catalog = new AgentCatalog({ folders: folders() });
    expect(catalog.custom()).toEqual([]);
    expect(catalog.problems.errors).toHaveLength(3);
    expect(catalog.reload({ onlyIfChanged: true })).toBe(false);
  });
});

describe("an agent that only other agents start", () => {
  test("cannot be selected, and the words say why and what can", () => {
    write("home/agents", "helper", "d", "user-invocable: false\n");
    write("home/agents", "lead", "d");
    const catalog = new AgentCatalog({ folders: folders() });
    expect(() => catalog.getSelectable("helper")).toThrow(
      "The agent 'helper' cannot be selected: its file says user-invocable: false, so only other agents start it. There are: lead",
    );
    expect(catalog.get("helper").name).toBe("helper");
  });
});

describe("an agent that the model is not offered", () => {
  const customAgents = [
    { name: "dangerous-cleanup", prompt: "p", infer: false },
    { name: "mine", prompt: "p" },
  ];
  test.each([
    ["run dangerous-cleanup", true],
    ["Use the Dangerous Cleanup agent.", true],
    ["@dangerous_cleanup: go", true],
    ["clean up what is dangerous", false],
    ["not-dangerous-cleanups", false],
    ["ask mine and explore", false],
  ])("is named by the prompt %j: %s", (prompt, isNamed) => {
    const catalog = new AgentCatalog({ folders: [], customAgents });
    expect(namedIn(prompt, catalog).map(({ name }) => name)).toEqual(isNamed ? ["dangerous-cleanup"] : []);
  });
});
