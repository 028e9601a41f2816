/** `retinue mcp`: serves our own memory over MCP. `retinue mcp …`: the MCP servers that sessions use. */
import { continuityContext } from "../continuity-context.ts";
import { untilStopped } from "../interrupts.ts";
import { UsageError } from "../usage-error.ts";
import { choice } from "./checked-values.ts";
import { command, type Group } from "./command.ts";
import { login, logout } from "./mcp-sign-in.ts";
import { home, json } from "./shared-fields.ts";
import { optional, text, words } from "./values.ts";

const load = () => import("../mcp.ts");

const serve = command({
  name: "mcp",
  summary: "serve session_search to other programs over MCP, on standard input and output",
  fields: { home },
  examples: ["retinue mcp"],
  async run({ home: given }, context) {
    const { runMcp } = await import("../../continuity/serve/cli.ts");
    await runMcp(continuityContext(given, context), { signal: untilStopped() });
  },
});

const list = command({
  name: "list",
  summary: "the MCP servers that a session in this folder has, where each comes from, and whether it may start",
  fields: { json, home },
  examples: ["retinue mcp list"],
  async run(flags, context) {
    await (await load()).listServers(flags, context);
  },
});

const add = command({
  name: "add",
  summary: "add an MCP server of your own, for all sessions",
  more: `A command line goes after --. Values may name variables of the environment: \${env:NAME}.`,
  fields: {
    name: { term: "<name>", about: "what it is called", is: text },
    command: { term: "[command...]", about: "the program and its arguments", is: words },
    url: { term: "--url <url>", about: "the address of a server over HTTP, in place of a command", is: optional(text) },
    type: { term: "--type <type>", about: "http (default) or sse", is: optional(choice("http", "sse")) },
    env: { term: "--env <name=value>", about: "a variable of the program", is: words, repeats: true },
    header: { term: "--header <name=value>", about: "a header for the address", is: words, repeats: true },
    tools: { term: "--tools <name>", about: "offer only these tools", is: words, repeats: true },
    json,
    home,
  },
  examples: [
    "retinue mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
    `retinue mcp add docs --url https://mcp.example.com/mcp --header 'Authorization=Bearer \${env:DOCS_TOKEN}'`,
  ],
  async run({ name, command: line, url, type, env, header, tools, ...flags }, context) {
    const [program, ...args] = line;
    if ((program === undefined) === (url === undefined))
      throw new UsageError("mcp add needs a command line after --, or --url");
    const more = tools.length > 0 ? { tools } : {};
    const config =
      url === undefined
        ? { command: program, args, ...pairs("env", "--env", env), ...more }
        : { type: type ?? "http", url, ...pairs("headers", "--header", header), ...more };
    await (await load()).addServer(name, config, flags, context);
  },
});

const name = { term: "<name>", about: "the server", is: text };

const remove = command({
  name: "remove",
  summary: "remove an MCP server of your own",
  fields: { name, json, home },
  examples: ["retinue mcp remove files"],
  async run({ name: named, ...flags }, context) {
    await (await load()).removeServer(named, flags, context);
  },
});

const test = command({
  name: "test",
  summary: "connect to an MCP server and show its tools, resources and prompts; the exit code is 1 when that fails",
  fields: {
    name: { term: "[name]", about: "the server (default: all that may start)", is: optional(text) },
    json,
    home,
  },
  examples: ["retinue mcp test", "retinue mcp test files --json"],
  async run({ name: named, ...flags }, context) {
    return await (await load()).testServers(named, flags, context);
  },
});

export const mcp: Group = {
  name: "mcp",
  summary:
    "MCP servers for sessions: list, add, remove and test them, sign in to them; alone, serve session_search over MCP",
  examples: ["retinue mcp list", "retinue mcp test files", "retinue mcp"],
  alone: serve,
  commands: [list, add, remove, test, login, logout],
};

function pairs(field: string, option: string, typed: readonly string[]): Record<string, Record<string, string>> {
  if (typed.length === 0) return {};
  const entries = typed.map((each) => {
    const at = each.indexOf("=");
    if (at < 1) throw new UsageError(`${option} must be name=value, not "${each}"`);
    return [each.slice(0, at), each.slice(at + 1)] as const;
  });
  return { [field]: Object.fromEntries(entries) };
}
