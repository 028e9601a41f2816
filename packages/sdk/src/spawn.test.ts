import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { RetinueClient, type RetinueClientOptions } from "./client.ts";
import { RuntimeConnection } from "./connection.ts";
import { launchArguments, launchEnvironment } from "./launch.ts";
import { parseAddress } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "retinue-sdk-"));
afterAll(() => rmSync(folder, { recursive: true }));
const program = { path: join(folder, "runtime.mjs") };
buildSync({
  entryPoints: [fileURLToPath(new URL("./spawn.fixture.ts", import.meta.url))],
  outfile: program.path,
  bundle: true,
  platform: "node",
  format: "esm",
});

async function startedWith(options: RetinueClientOptions) {
  await using client = new RetinueClient(options);
  const said: { argv: string[]; env: Record<string, string>; cwd: string } = JSON.parse(
    (await client.getLastSessionId()) ?? "",
  );
  return said;
}

test("a runtime over standard streams gets the flags, the environment and the folder of the options", async () => {
  const { argv, env, cwd } = await startedWith({
    connection: RuntimeConnection.forStdio({ ...program, env: { EXTRA: "1" } }),
    workingDirectory: "/",
    baseDirectory: "/state",
    gitHubToken: "token",
    logLevel: "error",
    sessionIdleTimeoutSeconds: 60,
  });
  expect(argv).toEqual([
    "--headless",
    "--no-auto-update",
    "--log-level",
    "error",
    "--stdio",
    "--auth-token-env",
    "COPILOT_SDK_AUTH_TOKEN",
    "--no-auto-login",
    "--session-idle-timeout",
    "60",
  ]);
  expect(env).toMatchObject({ COPILOT_SDK_AUTH_TOKEN: "token", COPILOT_HOME: "/state", EXTRA: "1" });
  expect(cwd).toBe("/");
});

test("a runtime over TCP is found by the line it prints, and shares a secret with its client", async () => {
  const { argv, env } = await startedWith({ connection: RuntimeConnection.forTcp(program) });
  expect(argv).toEqual(["--headless", "--no-auto-update"]);
  expect(env.COPILOT_CONNECTION_TOKEN).toMatch(/^[0-9a-f-]{36}$/);
});

describe.each(["forStdio", "forTcp"] as const)("%s", (kind) => {
  test("a runtime that dies in a call rejects it with how it ended, and stop still works", async () => {
    const client = new RetinueClient({
      connection: RuntimeConnection[kind](program),
      reconnect: { attempts: 3, delayMs: 1 },
    });
    const session = await client.createSession({ sessionId: "s" });
    const waiting = session.sendAndWait("x");
    const outcomes = await Promise.allSettled([waiting, client.listModels()]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "connection_closed" } });
    }
    if (kind === "forStdio") {
      expect(outcomes[1]).toMatchObject({
        reason: { message: expect.stringMatching(/exited with code 7: out of memory/) },
      });
    }
    expect(await client.stop()).toEqual([]);
  });

  test("forceStop kills the runtime", async () => {
    const client = new RetinueClient({ connection: RuntimeConnection[kind](program) });
    const pid = await pidOf(client);
    await client.forceStop();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test("a runtime that dies before it answers rejects start", async () => {
    const connection = RuntimeConnection[kind]({ ...program, args: ["--dies"] });
    await using client = new RetinueClient({ connection });
    await expect(client.start()).rejects.toThrow(/exited with code 4: bad configuration/);
  });
});

test("a runtime that prints other text among its frames is left, with the reason", async () => {
  await using client = new RetinueClient({ connection: RuntimeConnection.forStdio({ ...program, args: ["--talks"] }) });
  await expect(client.start()).rejects.toMatchObject({
    code: "connection_closed",
    message: expect.stringContaining("not a frame: bytes that begin no header. Does something else write to its"),
  });
});

test("without a path the `retinue` command is found where commands are", async () => {
  const command = join(folder, "retinue");
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${program.path}" "$@"\n`, { mode: 0o755 });
  const before = process.env.PATH;
  process.env.PATH = `${folder}:${before}`;
  try {
    await using client = new RetinueClient({ env: { ...process.env } });
    await client.start();
    expect(client.runtimePid).toBeGreaterThan(0);
  } finally {
    process.env.PATH = before;
  }
});

test("a runtime that is not there is named", async () => {
  await using absent = new RetinueClient({ connection: RuntimeConnection.forStdio({ path: "/no/such/runtime" }) });
  await expect(absent.start()).rejects.toMatchObject({
    code: "not_configured",
    message: expect.stringContaining("/no/such"),
  });
});

test.each([
  ["4321", { host: "127.0.0.1", port: 4321 }],
  ["localhost:80", { host: "localhost", port: 80 }],
  ["http://example.org:8080", { host: "example.org", port: 8080 }],
  ["[::1]:9", { host: "::1", port: 9 }],
  [":7", { host: "127.0.0.1", port: 7 }],
])("%s is an address", (url, address) => {
  expect(parseAddress(url)).toEqual(address);
});

test.each(["", "host", "host:0", "host:70000", "a:b:1", "ftp://x:1"])("%o is no address", (url) => {
  expect(() => parseAddress(url)).toThrow("is not an address");
});

test("telemetry and the host's environment become variables, and NODE_DEBUG stays behind", () => {
  const environment = launchEnvironment(
    { kind: "tcp", connectionToken: "t" },
    { telemetry: { otlpEndpoint: "http://o", captureContent: false } },
    { PATH: "/bin", NODE_DEBUG: "net", GONE: undefined },
  );
  expect(environment).toEqual({
    PATH: "/bin",
    COPILOT_OTEL_ENABLED: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://o",
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "false",
    COPILOT_CONNECTION_TOKEN: "t",
  });
});

test("a fixed port, extra arguments and remote sessions have their place on the command line", () => {
  const args = launchArguments(
    { kind: "tcp", port: 5, args: ["run"] },
    { enableRemoteSessions: true, useLoggedInUser: false },
  );
  expect(args).toEqual(["run", "--headless", "--no-auto-update", "--port", "5", "--no-auto-login", "--remote"]);
});

async function pidOf(client: RetinueClient): Promise<number> {
  const said: { pid: number } = JSON.parse((await client.getLastSessionId()) ?? "");
  return said.pid;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // Gone.
  }
}
