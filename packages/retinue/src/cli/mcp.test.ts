import { createRequire } from "node:module";
import { join } from "node:path";
import { say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { TaskServer } from "../mcp/fixtures/task-server.ts";
import { cliWorld, modelWorld } from "./test-world.ts";

const require = createRequire(import.meta.url);
const everything = require
  .resolve("@modelcontextprotocol/server-everything/package.json")
  .replace("package.json", "dist/index.js");

test("a server is added, listed, tested with all that it offers, and removed", async () => {
  await using world = await cliWorld();
  const none = await world.run(["mcp", "list"]);
  expect(none).toMatchObject({ code: 0, stdout: "No MCP server is configured. To add one: retinue mcp add --help\n" });
  const added = await world.run(["mcp", "add", "all", "--env", "A=b=c", "--", process.execPath, everything]);
  expect(added.stdout).toMatch(/^Added all to .*mcp-config\.json\. To try it: retinue mcp test all\n$/);
  const { stdout: listed } = await world.run(["mcp", "list", "--json"]);
  expect(JSON.parse(listed)).toEqual([
    {
      name: "all",
      source: "user",
      from: "mcp-config.json",
      state: "on",
      line: `A=... ${process.execPath} ${everything}`,
    },
  ]);
  const shown = await world.run(["mcp", "test"]);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(
    /^all: connected \(.*\)\n {2}tools\n[\s\S]* {4}echo: .*\n[\s\S]* {2}resources\n[\s\S]* {2}prompts\n/,
  );
  const tested = await world.run(["mcp", "test", "all", "--json"]);
  expect(JSON.parse(tested.stdout)).toMatchObject({ name: "all", status: "connected" });
  expect(await world.run(["mcp", "remove", "all"])).toMatchObject({ code: 0 });
  expect((await world.run(["mcp", "list"])).stdout).toContain("No MCP server");
});

test("the tasks that a server still has are shown, page by page, and a list without an end is cut off", async () => {
  await using world = await cliWorld();
  const state = (at: string) => ({
    taskId: `t-${at}`,
    status: "working",
    statusMessage: `step ${at}\n\u001b[2J`,
    ttl: null,
  });
  let isEndless = false;
  await using server = await TaskServer.start({
    dialect: "2025",
    instead: ({ method, params }) => {
      if (method !== "tasks/list") return undefined;
      const at = Number(params?.cursor ?? 0);
      const more = isEndless || at < 2 ? { nextCursor: String(at + 1) } : {};
      return { result: { tasks: [state(String(at)), { taskId: 7 }], ...more } };
    },
  });
  await world.run(["mcp", "add", "jobs", "--url", `http://127.0.0.1:${server.port}/mcp`]);
  const shown = await world.run(["mcp", "test", "jobs"]);
  expect(shown.stdout).toContain(
    "  tasks\n    t-0: working, step 0\n    t-1: working, step 1\n    t-2: working, step 2\n",
  );
  isEndless = true;
  const { stdout, code } = await world.run(["mcp", "test", "jobs", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ status: "connected", tasksProblem: "its list has no end" });
  expect(JSON.parse(stdout).tasks).toHaveLength(64);
});

test("eight processes that add a server at the same time add all of them", async () => {
  await using world = cliWorld();
  const names = Array.from({ length: 8 }, (_, at) => `s${at}`);
  const ended = await Promise.all(names.map((name) => world.run(["mcp", "add", name, "--", "true"])));
  expect(ended.map(({ code }) => code)).toEqual(names.map(() => 0));
  const { stdout } = await world.run(["mcp", "list", "--json"]);
  expect(
    JSON.parse(stdout)
      .map(({ name }: { name: string }) => name)
      .toSorted(),
  ).toEqual(names);
});

test("a server that cannot be reached is the finding of a test, with exit code 1", async () => {
  await using world = await cliWorld();
  await world.run(["mcp", "add", "gone", "--", "/nonexistent/program"]);
  await world.run(["mcp", "add", "needy", "--url", `http://127.0.0.1:9/\${NOT_SET_ANYWHERE}`]);
  const listed = await world.run(["mcp", "list"]);
  expect(listed.stderr).toBe(
    "retinue: needy would be left out of a session: the environment variable NOT_SET_ANYWHERE is not set\n",
  );
  const { code, stdout } = await world.run(["mcp", "test"]);
  expect(code).toBe(1);
  expect(stdout.split("\n")).toEqual([
    "gone: failed: failed to start /nonexistent/program: No such file or directory",
    "needy: failed: the environment variable NOT_SET_ANYWHERE is not set",
    "",
  ]);
});

test("a server of a project is shown and not started before somebody has allowed it", async () => {
  await using world = await cliWorld();
  const mark = join(world.folder, "started");
  world.put(".mcp.json", JSON.stringify({ mcpServers: { helper: { command: "touch", args: [mark] } } }));
  const { stdout, stderr } = await world.run(["mcp", "list"]);
  expect(stdout).toBe(`helper  not allowed  .mcp.json  touch ${mark}\n`);
  expect(stderr).toContain("retinue trust add");
  expect(await world.run(["mcp", "test", "helper"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nobody has allowed helper of .mcp.json"),
  });
  await world.run(["trust", "add"]);
  expect((await world.run(["mcp", "list"])).stdout).toContain("helper  on ");
  expect((await world.run(["mcp", "test"])).stdout).toMatch(/^helper: failed: .*the process ended with exit code 0/);
});

test("a server of an installed plugin is listed, and one of your own with its name hides it with a note", async () => {
  await using world = await cliWorld();
  const servers = { helper: { command: "helper", args: ["--fast"] } };
  world.put("kit/plugin.json", JSON.stringify({ name: "kit", version: "1.0.0", mcpServers: servers }));
  expect(await world.run(["plugins", "add", join(world.folder, "kit"), "--yes"])).toMatchObject({ code: 0 });
  expect((await world.run(["mcp", "list"])).stdout).toBe("helper  on           the plugin kit  helper --fast\n");
  await world.run(["mcp", "add", "helper", "--", "mine"]);
  const { stdout, stderr } = await world.run(["mcp", "list"]);
  expect(stdout).toBe("helper  on           mcp-config.json  mine\n");
  expect(stderr).toContain("The MCP server helper of the plugin kit is hidden by that of mcp-config.json.");
});

test.each([
  [["mcp", "add", "x"], "mcp add needs a command line after --, or --url"],
  [["mcp", "add", "x", "--url", "http://h/", "--header", "wrong"], '--header must be name=value, not "wrong"'],
  [["mcp", "test", "nope"], "there is no MCP server nope. See: retinue mcp list"],
  [["mcp", "lst"], 'there is no command lst. Did you mean "retinue mcp list"?'],
])("wrong usage is explained in one line: %j", async (args, words) => {
  await using world = await cliWorld();
  expect(await world.run(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
});

test("an address that is none is refused before it is written, with what it must be", async () => {
  await using world = await cliWorld();
  const { code, stderr } = await world.run(["mcp", "add", "odd", "--url", "ftp://files.example"]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("url: it must begin with http:// or https://");
  expect((await world.run(["mcp", "list"])).stdout).toContain("No MCP server");
});

test("a run says which server did not start, and goes on", async () => {
  await using world = await modelWorld([say("done")]);
  await world.run(["mcp", "add", "gone", "--", "/nonexistent/program"]);
  const { code, stdout, stderr } = await world.run(["-p", "hello"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "done\n" });
  expect(stderr).toContain("! MCP server gone: failed to start /nonexistent/program: No such file or directory");
});

test("a rule for a configured server is no unknown name, and one for another is", async () => {
  await using world = await modelWorld([say("done")]);
  await world.run(["mcp", "add", "gone", "--", "/nonexistent/program"]);
  const { stderr } = await world.run([
    "-p",
    "hello",
    "--allow-tool",
    "gone",
    "--deny-tool",
    "gone-send",
    "--deny-tool",
    "lost",
  ]);
  expect(stderr).not.toContain("'gone");
  expect(stderr).toContain("'lost' is no kind of permission");
});
