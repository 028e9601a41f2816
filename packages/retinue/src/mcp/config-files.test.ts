import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readProjectServers, readUserServers } from "./config-files.ts";
import { type ConfiguredServer, strongest } from "./configured-servers.ts";
import { UserServers } from "./user-servers.ts";
import { withVariables } from "./variables.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "retinue-mcp-files-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, content: unknown): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
}

const project = () => readProjectServers({ folder, root: folder });
const own = (servers: unknown) => {
  put("mcp-config.json", { mcpServers: servers });
  return readUserServers(folder);
};

describe("files of a project", () => {
  test("are read as other programs write them: with mcpServers, and with servers, comments and last commas", () => {
    put(".mcp.json", {
      mcpServers: { a: { command: "one", args: ["-x"], env: { K: "v" } }, b: { type: "http", url: "http://h/" } },
    });
    put(
      ".vscode/mcp.json",
      `{ // an editor's
        "inputs": [{ "id": "x", "type": "promptString" }],
        "servers": { "c": { "type": "stdio", "command": "t//wo", "args": ["a,]",], /* last */ }, },
      }`,
    );
    const { servers, problems } = project();
    expect(problems).toEqual([]);
    expect(servers.map(({ name, from, config }) => [name, from, config])).toEqual([
      ["a", ".mcp.json", { command: "one", args: ["-x"], env: { K: "v" } }],
      ["b", ".mcp.json", { type: "http", url: "http://h/" }],
      ["c", ".vscode/mcp.json", { type: "stdio", command: "t//wo", args: ["a,]"] }],
    ]);
  });

  test("that lead out of the project, are broken or huge are named, and nothing of them is read", () => {
    put("outside.json", { mcpServers: { a: { command: "x" } } });
    mkdirSync(join(folder, "in"));
    symlinkSync(join(folder, "outside.json"), join(folder, "in/.mcp.json"));
    put("in/.vscode/mcp.json", `{ "servers": ${" ".repeat(300_000)}{} }`);
    const { servers, problems } = readProjectServers({ folder: join(folder, "in"), root: join(folder, "in") });
    expect(servers).toEqual([]);
    expect(problems).toEqual([
      expect.stringMatching(/^\.mcp\.json: .*leads out of the project/),
      expect.stringMatching(/^\.vscode\/mcp\.json: .*larger than/),
    ]);
    put(".mcp.json", "{ nothing");
    expect(project().problems).toEqual([expect.stringMatching(/^\.mcp\.json: .*JSON/)]);
    put(".mcp.json", []);
    expect(project().problems).toEqual([expect.stringMatching(/^\.mcp\.json: it must be an object with mcpServers/)]);
  });

  test("of comments without an end take no longer than they are long", () => {
    put(".mcp.json", "/*".repeat(100_000));
    expect(project().problems).toHaveLength(1);
  });

  test("cannot say that a server is to be believed", () => {
    put(".mcp.json", { mcpServers: { a: { command: "x", trustReadOnlyHint: true } } });
    expect(project()).toMatchObject({
      servers: [{ config: { command: "x" } }],
      problems: [".mcp.json: the MCP server a: trustReadOnlyHint does not count here, so its tools are asked for"],
    });
    expect(project().servers[0]?.config).not.toHaveProperty("trustReadOnlyHint");
  });
});

test.each([
  [{}, "it has neither a command nor a url, so it is left out"],
  [{ command: "x", url: "http://h/" }, "it has both a command and a url, so it is left out"],
  [{ command: 7 }, "command: Invalid input: expected string, received number, so it is left out"],
  ["x", "it must be an object, so it is left out"],
  [{ url: "http://h/", type: "websocket" }, /^type: Invalid option: .*so it is left out$/],
  [{ command: "x", envFile: ".env" }, /^envFile is not read; write the variables into env/],
  [{ command: "x", arg: ["y"] }, "arg is not known and has no effect. Did you mean args?"],
])("a server that is wrong is named with what is wrong, and hides no other: %j", (server, complaint) => {
  const { servers, problems } = own({ wrong: server, right: { command: "y" } });
  expect(servers.map(({ name }) => name)).toContain("right");
  expect(problems).toHaveLength(1);
  const words = typeof complaint === "string" ? `mcp-config.json: the MCP server wrong: ${complaint}` : undefined;
  if (words !== undefined) expect(problems).toEqual([words]);
  else expect(problems[0]?.replace("mcp-config.json: the MCP server wrong: ", "")).toMatch(complaint);
});

test("a name that could be taken for something else is refused", () => {
  expect(own({ "a\u202Eb": { command: "x" } })).toMatchObject({
    servers: [],
    problems: [expect.stringMatching(/its name may have letters, digits/)],
  });
});

describe("variables", () => {
  const values = { env: { TOKEN: "t", EMPTY: "" }, workspaceFolder: "/work" };

  test("are put in everywhere", () => {
    const config = {
      command: `\${workspaceFolder}/run`,
      args: [`--token=\${env:TOKEN}`, `\${EMPTY:-other}`, "$TOKEN"],
      env: { A: `\${TOKEN}` },
      cwd: `\${userHome}`,
    };
    expect(withVariables(config, values)).toMatchObject({
      command: "/work/run",
      args: ["--token=t", "other", "$TOKEN"],
      env: { A: "t" },
    });
    const remote = {
      type: "http" as const,
      url: `http://\${HOST:-h}/`,
      headers: { Authorization: `Bearer \${TOKEN}` },
    };
    expect(withVariables(remote, values)).toEqual({
      type: "http",
      url: "http://h/",
      headers: { Authorization: "Bearer t" },
    });
  });

  test.each([
    [
      `\${input:key}`,
      `\${input:key} asks an editor for a value; set a variable of the environment and write \${env:NAME}`,
    ],
    [`\${env:ABSENT}`, "the environment variable ABSENT is not set"],
    [`\${workspacefolder}`, "the environment variable workspacefolder is not set"],
    [`\${config:x.y}`, `\${config:x.y} is not known`],
  ])("that are not known are refused with words: %s", (text, words) => {
    expect(() => withVariables({ command: text }, values)).toThrow(words);
  });
});

test("of one name, the server nearest to the session counts, and each hidden one is named", () => {
  const server = (source: ConfiguredServer["source"], from: string): ConfiguredServer => ({
    name: "a",
    config: { command: from },
    source,
    from,
  });
  const all = [
    server("plugin", "p"),
    server("user", "mcp-config.json"),
    server("workspace", ".mcp.json"),
    server("workspace", ".vscode/mcp.json"),
    server("session", "the session"),
  ];
  expect(strongest(all)).toMatchObject({
    chosen: [{ from: "the session" }],
    problems: [
      "The MCP server a of .mcp.json is hidden by that of the session.",
      "The MCP server a of .vscode/mcp.json is hidden by that of the session.",
      "The MCP server a of mcp-config.json is hidden by that of the session.",
      "The MCP server a of p is hidden by that of the session.",
    ],
  });
});

describe("the user's file", () => {
  test("is changed server by server, for its owner alone, and keeps what else it has", async () => {
    put("mcp-config.json", { inputs: ["kept"], mcpServers: { old: { command: "x", foreign: 1 } } });
    const servers = new UserServers(folder);
    await servers.add("new", { type: "http", url: "http://h/", oauthClientId: "id" });
    await servers.update("old", { command: "y" });
    await servers.setDisabled(["old", "elsewhere"], true);
    await servers.setDisabled(["elsewhere"], false);
    expect(JSON.parse(readFileSync(servers.path, "utf8"))).toEqual({
      inputs: ["kept"],
      mcpServers: { old: { command: "y" }, new: { type: "http", url: "http://h/", oauthClientId: "id" } },
      disabledMcpServers: ["old"],
    });
    expect(statSync(servers.path).mode & 0o077).toBe(0);
    await servers.remove("old");
    expect(Object.keys(servers.list())).toEqual(["new"]);
  });

  test("is not touched by a change that makes no sense", async () => {
    const servers = new UserServers(folder);
    await servers.add("files", { command: "x" });
    await expect(servers.add("files", { command: "y" })).rejects.toThrow("There is an MCP server files already.");
    await expect(servers.update("flies", { command: "y" })).rejects.toThrow(
      "There is no MCP server flies. Did you mean files?",
    );
    await expect(servers.remove("constructor")).rejects.toThrow("There is no MCP server constructor.");
    await expect(servers.add("b", {})).rejects.toThrow("The MCP server b: it has neither a command nor a url.");
    expect(servers.list()).toEqual({ files: { command: "x" } });
    put("mcp-config.json", "{ broken");
    await expect(servers.add("c", { command: "y" })).rejects.toThrow("nothing was changed");
    expect(readFileSync(servers.path, "utf8")).toBe("{ broken");
  });
});
