import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as realImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { McpServerConfig } from "@retinue/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createShells } from "../tools/shell/shells.ts";
import type { CallContext, Outcome, Tool } from "../tools/tool.ts";
import { isRunning as isConnected } from "./by-name.ts";
import type { Elicitation } from "./elicitation.ts";
import { McpHost, type McpHostOptions, type McpUse } from "./host.ts";
import type { LocalServer } from "./server-config.ts";

const PROBE = fileURLToPath(new URL("./fixtures/probe-server.mjs", import.meta.url));

/** Ends as soon as it has listed its tools. */
const SHORT_LIVED = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const info = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "brief", version: "1" } };
  const known = { initialize: info, "tools/list": { tools: [] } }[method];
  const answer = known ? { result: known } : { error: { code: -32601, message: "no" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n", () => method === "tools/list" && process.exit(1));
});`;

let folder: string;
let hosts: McpHost[];
let processes: ChildProcess[];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-mcp-")));
  hosts = [];
  processes = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(hosts.map((host) => host.close()));
  await Promise.all(processes.map(end));
  rmSync(folder, { recursive: true, force: true });
});

/** From here on time limits pass when the test says so, and not because the machine is busy. */
const stopTimers = () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

function open(options: Partial<McpHostOptions> = {}): { host: McpHost; statuses: string[] } {
  const statuses: string[] = [];
  const host = new McpHost({
    workingDirectory: folder,
    clientVersion: "0.0.0",
    onStatus: ({ serverName, status }) => statuses.push(`${serverName} ${status}`),
    ...options,
  });
  hosts.push(host);
  return { host, statuses };
}

function probe(env: Record<string, string> = {}, more: Partial<LocalServer> = {}): McpServerConfig {
  return { command: process.execPath, args: [PROBE], env, ...more };
}

async function started(host: McpHost, servers: Record<string, McpServerConfig>): Promise<McpUse> {
  const use = host.use(servers);
  await use.ready();
  return use;
}

function context(signal: AbortSignal = new AbortController().signal): CallContext {
  return {
    sessionId: "session",
    callId: "call",
    workingDirectory: folder,
    sessionFolder: folder,
    tempFolder: folder,
    signal,
    mode: "interactive",
    partialOutput: () => undefined,
    announce: () => undefined,
    services: { shells: createShells({ sessionId: "session", logFolder: folder }) },
    rules: { unreadable: () => [], judge: () => "allow" },
  };
}

function tool(use: McpUse, name: string): Tool {
  const found = use.tools().find((each) => each.name === name);
  if (!found) throw new Error(`no tool ${name} among ${use.tools().map((each) => each.name)}`);
  return found;
}

async function call(use: McpUse, name: string, args: object = {}, signal?: AbortSignal): Promise<Outcome> {
  return (await tool(use, name).prepare(args, context(signal))).run();
}

async function serveHttp(
  env: Record<string, string> = {},
): Promise<{ url: string; process: ChildProcess; port: string }> {
  const child = spawn(process.execPath, [PROBE], {
    env: { ...process.env, PROBE: "http", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  const [port] = await once(child.stdout, "data");
  return { url: `http://127.0.0.1:${String(port).trim()}/mcp`, process: child, port: String(port).trim() };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** In the process table, and not only waiting to be collected. */
function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

describe.each([
  ["stdio", async () => probe()],
  ["stdio, older protocol", async () => probe({ PROBE: "legacy" })],
  ["streamable HTTP", async (): Promise<McpServerConfig> => ({ type: "http", url: (await serveHttp()).url })],
])("a server over %s", (_, configure) => {
  test("offers its tools by prefixed names, with what the loop needs to know about them", async () => {
    const { host, statuses } = open();
    const use = await started(host, { probe: await configure() });
    expect(statuses).toEqual(["probe pending", "probe connected"]);
    expect(use.list()).toMatchObject([
      { name: "probe", status: "connected", serverMetadata: { instructions: "use echo" } },
    ]);
    expect(tool(use, "probe-echo")).toMatchObject({
      source: "mcp",
      readOnly: false,
      mcp: { server: "probe", tool: "echo", title: "Echo" },
      parameters: { type: "object", required: ["text"] },
    });
    expect(use.tools()).toBe(use.tools());
  });

  test("answers with text, structured content, images and files", async () => {
    const { host } = open();
    const use = await started(host, { probe: await configure() });
    expect(await call(use, "probe-echo", { text: "yo" })).toMatchObject({
      resultType: "success",
      text: "echo: yo",
      contents: [{ type: "text", text: "echo: yo" }],
    });
    expect(await call(use, "probe-structured")).toMatchObject({
      text: 'the number\n\n{"n":7}',
      structuredContent: { n: 7 },
    });
    expect(await call(use, "probe-mirrored")).toMatchObject({ text: '{ "n": 7 }', structuredContent: { n: 7 } });
    expect(await call(use, "probe-image")).toMatchObject({
      text: "a pixel\n[image: image/png]\n[resource: probe://blob]\n[more](probe://more)",
      binary: [
        { type: "image", mimeType: "image/png" },
        { type: "resource", mimeType: "application/x-probe", data: "AAEC" },
      ],
    });
  });

  test("that reports an error fails the call in its own name", async () => {
    const { host } = open();
    const use = await started(host, { probe: await configure() });
    expect(await call(use, "probe-fails")).toMatchObject({
      resultType: "failure",
      text: "MCP server 'probe': failed on purpose",
    });
  });

  test("reports progress, which puts the time limit off", async () => {
    const seen: string[] = [];
    const onProgress: McpHostOptions["onProgress"] = ({ callId }, message) => {
      seen.push(`${callId} ${message}`);
      vi.advanceTimersByTime(900);
    };
    const { host } = open({ onProgress });
    const use = await started(host, { probe: { ...(await configure()), timeout: 1000 } });
    stopTimers();
    expect(await call(use, "probe-progress", { steps: 4, ms: 10 })).toMatchObject({ text: "arrived" });
    expect(seen).toEqual([
      "call 1/4 (25%): step 1",
      "call 2/4 (50%): step 2",
      "call 3/4 (75%): step 3",
      "call 4/4 (100%): step 4",
    ]);
  });

  test("loses no progress that comes together with the result", async () => {
    const seen: string[] = [];
    const { host } = open({ onProgress: (_call, message) => seen.push(message) });
    const use = await started(host, { probe: await configure() });
    for (let i = 0; i < 20; i++) await call(use, "probe-progress", { steps: 1, ms: 0 });
    expect(seen).toEqual(Array(20).fill("1/1 (100%): step 1"));
  });

  test("that does not answer in time is a timeout, and works on afterwards", async () => {
    const { host } = open();
    const use = await started(host, { probe: { ...(await configure()), timeout: 1000 } });
    stopTimers();
    const slow = call(use, "probe-slow", { ms: 600_000 });
    while (vi.getTimerCount() === 0) await realImmediate();
    vi.advanceTimersByTime(1000);
    expect(await slow).toMatchObject({
      resultType: "timeout",
      text: "MCP server 'probe': no answer within 1000 ms.",
    });
    expect(await call(use, "probe-echo", { text: "still here" })).toMatchObject({ text: "echo: still here" });
  });

  test("asks its question through the host while the clock stands still", async () => {
    const asked: Elicitation[] = [];
    const { host } = open({
      elicit: async (question) => {
        asked.push(question);
        vi.advanceTimersByTime(60_000);
        return { action: "accept", content: { name: "Zoe" } };
      },
    });
    const use = await started(host, { probe: { ...(await configure()), timeout: 1000 } });
    stopTimers();
    expect(await call(use, "probe-ask")).toMatchObject({ text: "hello Zoe" });
    expect(asked).toMatchObject([
      {
        server: "probe",
        message: "Your name?",
        mode: "form",
        requestedSchema: { properties: { name: { type: "string" } } },
        call: { sessionId: "session", callId: "call" },
      },
    ]);
  });

  test("gets the metadata that the hook gives", async () => {
    const calls: unknown[] = [];
    const { host } = open({
      beforeCall: async (before) => {
        calls.push(before);
        return { "probe/tag": "from the hook" };
      },
    });
    const use = await started(host, { probe: await configure() });
    expect((await call(use, "probe-meta")).text).toBe('"from the hook"');
    expect(calls).toEqual([
      { sessionId: "session", callId: "call", serverName: "probe", toolName: "meta", arguments: {} },
    ]);
  });

  test("is not waited for when the call is cancelled", async () => {
    const { host } = open();
    const use = await started(host, { probe: await configure() });
    const cancel = new AbortController();
    const outcome = call(use, "probe-slow", { ms: 60_000 }, cancel.signal);
    cancel.abort();
    expect(await outcome).toMatchObject({ resultType: "failure", text: "MCP server 'probe': the call was cancelled." });
    expect(await call(use, "probe-echo", { text: "next" })).toMatchObject({ text: "echo: next" });
  });
});

describe("a call", () => {
  test.each([
    ["newer", {}],
    ["older", { PROBE: "legacy" }],
  ])("that is cancelled is cancelled at the server too (%s protocol)", async (_, env) => {
    const { host } = open();
    const use = await started(host, { probe: probe(env) });
    const cancel = new AbortController();
    const outcome = call(use, "probe-slow", { ms: 60_000 }, cancel.signal);
    // One pipe, so the server has the slow call when it answers this one.
    await call(use, "probe-echo", { text: "x" });
    cancel.abort();
    await outcome;
    expect(await call(use, "probe-cancelled")).toMatchObject({ text: "slow was cancelled" });
  });

  test("of a server that is stopped meanwhile ends, and does not start it again", async () => {
    const { host, statuses } = open();
    const use = await started(host, { probe: probe() });
    const outcome = call(use, "probe-slow", { ms: 60_000 });
    await call(use, "probe-echo", { text: "x" });
    await host.stop("probe");
    expect(await outcome).toMatchObject({
      resultType: "failure",
      text: "MCP server 'probe': the server was stopped during the call.",
    });
    expect(statuses).toEqual(["probe pending", "probe connected", "probe stopped"]);
  });

  test("that asks while another runs is not put down to either", async () => {
    const asked: Elicitation[] = [];
    const { host } = open({
      elicit: async (question) => {
        asked.push(question);
        return { action: "decline" };
      },
    });
    const use = await started(host, { probe: probe() });
    const cancel = new AbortController();
    const slow = call(use, "probe-slow", { ms: 60_000 }, cancel.signal);
    expect(await call(use, "probe-ask")).toMatchObject({ text: "hello nobody" });
    expect(asked).toMatchObject([{ server: "probe", call: undefined }]);
    cancel.abort();
    await slow;
  });

  test("works over server-sent events", async () => {
    const { url } = await serveHttp({ PROBE: "sse" });
    const { host } = open();
    const use = await started(host, { probe: { type: "sse", url } });
    expect(await call(use, "probe-echo", { text: "streamed" })).toMatchObject({ text: "echo: streamed" });
  });
});

describe("permission", () => {
  test("is asked for, with the prefixed name, and says what the server says about reading", async () => {
    const { host } = open();
    const use = await started(host, { probe: probe() });
    expect(await tool(use, "probe-echo").prepare({ text: "x" }, context())).toMatchObject({
      permission: { toolName: "probe-echo", readOnly: true },
      needsNoAsk: false,
    });
    expect((await tool(use, "probe-fails").prepare({ a: 1 }, context())).permission).toEqual({
      kind: "mcp",
      toolCallId: "call",
      serverName: "probe",
      toolName: "probe-fails",
      toolTitle: "fails",
      args: { a: 1 },
      readOnly: false,
    });
  });
});

test("a server that is configured to be believed decides which of its tools need no ask", async () => {
  const { host } = open();
  const use = await started(host, { probe: probe({}, { trustReadOnlyHint: true }) });
  const doubting = await started(host, { probe: probe() });
  expect(tool(use, "probe-echo").readOnly).toBe(true);
  expect((await tool(use, "probe-echo").prepare({ text: "x" }, context())).needsNoAsk).toBe(true);
  expect((await tool(use, "probe-fails").prepare({}, context())).needsNoAsk).toBe(false);
  expect((await tool(doubting, "probe-echo").prepare({ text: "x" }, context())).needsNoAsk).toBe(false);
});

describe("the configuration", () => {
  test("of tools lets only the named ones through, per user of one connection", async () => {
    const { host, statuses } = open();
    const few = await started(host, { probe: probe({}, { tools: ["echo", "fails"], excludeTools: ["fails"] }) });
    const all = await started(host, { probe: probe({}, { tools: ["*"] }) });
    const none = await started(host, { probe: probe({}, { tools: [] }) });
    expect(few.tools().map((each) => each.name)).toEqual(["probe-echo"]);
    expect(all.tools().length).toBeGreaterThan(5);
    expect(none.tools()).toEqual([]);
    expect(statuses).toEqual(["probe pending", "probe connected"]);
  });

  test("of folder and environment reaches the process, and nothing else of our environment does", async () => {
    const { host } = open();
    process.env.RETINUE_TEST_SECRET = "secret";
    const use = await started(host, { probe: probe({ PROBE_TAG: "tagged" }) });
    delete process.env.RETINUE_TEST_SECRET;
    expect(JSON.parse((await call(use, "probe-where")).text)).toEqual({ cwd: folder, tag: "tagged" });
    const [pid] = JSON.parse((await call(use, "probe-pids")).text);
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("RETINUE_TEST_SECRET");
  });

  test("of one name with two commands is two servers", async () => {
    const { host } = open();
    const [a, b] = await Promise.all([
      started(host, { probe: probe({ PROBE_TAG: "a" }) }),
      started(host, { probe: probe({ PROBE_TAG: "b" }) }),
    ]);
    expect(JSON.parse((await call(a, "probe-where")).text).tag).toBe("a");
    expect(JSON.parse((await call(b, "probe-where")).text).tag).toBe("b");
  });

  test("is sent to a server over HTTP as headers; without them it needs a login", async () => {
    const { url } = await serveHttp({ PROBE_TOKEN: "t" });
    const { host, statuses } = open();
    const without = await started(host, { closed: { type: "http", url } });
    expect(without.tools()).toEqual([]);
    expect(statuses).toEqual(["closed pending", "closed needs-auth"]);
    const use = await started(host, { open: { type: "http", url, headers: { authorization: "Bearer t" } } });
    expect(await call(use, "open-echo", { text: "in" })).toMatchObject({ text: "echo: in" });
  });
});

describe("a connection", () => {
  test("starts at its first use and not before", async () => {
    const { host, statuses } = open();
    const use = host.use({ probe: probe() });
    expect(use.tools()).toEqual([]);
    expect(statuses).toEqual([]);
    expect((await host.listTools("probe")).map((each) => each.name)).toContain("echo");
    expect(statuses).toEqual(["probe pending", "probe connected"]);
  });

  test("is shared, and its processes are gone with its last user", async () => {
    const { host } = open();
    const first = await started(host, { probe: probe() });
    const second = await started(host, { probe: probe() });
    const pids: number[] = JSON.parse((await call(first, "probe-pids")).text);
    expect(JSON.parse((await call(second, "probe-pids")).text)[0]).toBe(pids[0]);
    await first.close();
    await first.close();
    expect(await call(second, "probe-echo", { text: "alive" })).toMatchObject({ text: "echo: alive" });
    expect(pids.map(isRunning)).toEqual([true, true]);
    await second.close();
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(host.list()).toEqual([]);
  });

  test("that is closed while it starts leaves nothing behind", async () => {
    const { host } = open();
    const use = host.use({ probe: probe() });
    const ready = use.ready();
    await use.close();
    await ready;
    expect(use.tools()).toEqual([]);
    expect(host.list()).toEqual([]);
  });

  test("is made once when many ask for it at the same time", async () => {
    const { host, statuses } = open();
    await Promise.all(Array.from({ length: 8 }, () => started(host, { probe: probe() })));
    expect(statuses).toEqual(["probe pending", "probe connected"]);
  });
});

describe("a server that fails", () => {
  test("to start says why, hides no other server, and is not tried again at every turn", async () => {
    const errors: string[] = [];
    const statuses: string[] = [];
    const { host } = open({
      onStatus: ({ serverName, status, error }) => {
        statuses.push(`${serverName} ${status}`);
        if (error) errors.push(error);
      },
    });
    const use = await started(host, {
      absent: { command: "/nonexistent/cmd" },
      broken: probe({ PROBE: "broken" }),
      probe: probe(),
    });
    expect(use.list().map((state) => [state.name, state.status])).toEqual([
      ["absent", "failed"],
      ["broken", "failed"],
      ["probe", "connected"],
    ]);
    expect(errors).toEqual(
      expect.arrayContaining([
        "failed to start /nonexistent/cmd: No such file or directory",
        expect.stringMatching(/cannot read my settings\nthe process ended with exit code 1/),
      ]),
    );
    const before = statuses.length;
    await use.ready();
    expect(statuses.length).toBe(before);
    await host.restart("absent");
    expect(statuses.slice(before)).toEqual(["absent pending", "absent failed"]);
  });

  test("in the middle of a call fails that call clearly and is started again at the next", async () => {
    const { host, statuses } = open();
    const use = await started(host, { probe: probe() });
    const tools = use.tools();
    const outcome = await call(use, "probe-crash");
    expect(outcome).toMatchObject({ resultType: "failure" });
    expect(outcome.text).toMatch(
      /^MCP server 'probe': the server went away during the call \(.*the probe crashes\nthe process ended with exit code 3\)/s,
    );
    expect(use.tools()).toBe(tools);
    expect(await call(use, "probe-echo", { text: "back" })).toMatchObject({ text: "echo: back" });
    expect(statuses).toEqual(["probe pending", "probe connected", "probe failed", "probe pending", "probe connected"]);
  });

  test("between calls is started again by itself, later and later, and then no more", async () => {
    const { host, statuses } = open({ restartDelaysMs: [1, 1] });
    const config = { command: process.execPath, args: ["-e", SHORT_LIVED] };
    host.use({ brief: config }).ready();
    const failures = () => statuses.filter((each) => each === "brief failed").length;
    while (failures() < 3) await realImmediate();
    expect(statuses).toEqual(Array(3).fill(["brief pending", "brief connected", "brief failed"]).flat());
    await host.restart("brief");
    expect(statuses.slice(9, 11)).toEqual(["brief pending", "brief connected"]);
  });

  test("over HTTP is connected again when it is back", async () => {
    const first = await serveHttp();
    const { host } = open();
    const use = await started(host, { probe: { type: "http", url: first.url } });
    await end(first.process);
    expect((await call(use, "probe-echo", { text: "x" })).text).toMatch(
      /^MCP server 'probe': the server went away during the call/,
    );
    expect(use.list()).toMatchObject([{ status: "failed" }]);
    await serveHttp({ PROBE_PORT: first.port });
    expect(await call(use, "probe-echo", { text: "back" })).toMatchObject({ text: "echo: back" });
    expect(use.list()).toMatchObject([{ status: "connected" }]);
  });

  test("at a greeting that it does not know is greeted the older way", async () => {
    const { host } = open();
    const use = await started(host, { touchy: probe({ PROBE: "touchy" }) });
    expect(use.tools().map((each) => each.name)).toEqual(["touchy-old"]);
  });
});

describe("a change of the tool list", () => {
  test.each([
    ["newer", {}],
    ["older", { PROBE: "legacy" }],
  ])("reaches every user (%s protocol)", async (_, env) => {
    const changed = new Promise<string>((resolve) => {
      const { host } = open({ onToolsChanged: resolve });
      void started(host, { probe: probe(env) }).then(async (use) => {
        uses.push(use, await started(host, { probe: probe(env) }));
        await call(use, "probe-grow");
      });
    });
    const uses: McpUse[] = [];
    expect(await changed).toBe("probe");
    for (const use of uses) expect(await call(use, "probe-grown")).toMatchObject({ text: "I am new" });
  });
});

describe("switching servers by name", () => {
  test("disable ends the server and hides its tools, and enable brings both back", async () => {
    const { host, statuses } = open();
    const use = await started(host, { probe: probe() });
    const [pid] = JSON.parse((await call(use, "probe-pids")).text);
    const echo = tool(use, "probe-echo");
    await host.disable("probe");
    expect(isRunning(pid)).toBe(false);
    expect(use.tools()).toEqual([]);
    const outcome = await (await echo.prepare({ text: "x" }, context())).run();
    expect(outcome).toMatchObject({ resultType: "failure", text: "MCP server 'probe' is disabled" });
    await use.ready();
    await expect(host.start("probe")).rejects.toThrow("MCP server 'probe' is disabled");
    expect(isConnected(host, "probe")).toBe(false);
    await host.enable("probe");
    expect(await call(use, "probe-echo", { text: "on" })).toMatchObject({ text: "echo: on" });
    expect(statuses).toEqual([
      "probe pending",
      "probe connected",
      "probe disabled",
      "probe pending",
      "probe connected",
    ]);
  });

  test("stop and start, restart and reload go through the states as named", async () => {
    const { host, statuses } = open();
    await started(host, { probe: probe() });
    await host.stop("probe");
    expect(host.list()).toMatchObject([{ name: "probe", status: "stopped" }]);
    await host.start("probe");
    await host.restart("probe");
    await host.reload();
    const again = ["probe pending", "probe connected"];
    expect(statuses).toEqual([...again, "probe stopped", ...again, ...again, ...again]);
    expect(isConnected(host, "probe")).toBe(true);
  });

  test("a server that is disabled from the start does not start", async () => {
    const { host, statuses } = open({ disabledServers: ["probe"] });
    const use = await started(host, { probe: probe() });
    expect(use.list()).toMatchObject([{ status: "disabled" }]);
    expect(statuses).toEqual([]);
  });

  test("an unknown name is an error", async () => {
    const { host } = open();
    await expect(host.stop("nope")).rejects.toThrow("MCP server 'nope' is not configured");
  });
});
