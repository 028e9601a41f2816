import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OAuthServer, startOAuthServer, visit } from "../mcp/oauth/test-oauth-server.ts";
import { type CliWorld, canHaveTerminal, cliWorld, modelWorld, type Running } from "./test-world.ts";

let oauth: OAuthServer;
beforeEach(async () => {
  oauth = await startOAuthServer();
});
afterEach(async () => await oauth[Symbol.asyncDispose]());

/** The address for the browser, as soon as it is printed. */
async function addressOf({ process, ended }: Running): Promise<string> {
  const printed = new Promise<string>((resolve) => {
    let text = "";
    process.stdout?.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\n")) resolve(text.trim());
    });
  });
  const early = ended.then(({ code, stderr }) => {
    throw new Error(`it ended with ${code}: ${stderr}`);
  });
  return await Promise.race([printed, early]);
}

const add = (world: CliWorld) => world.run(["mcp", "add", "guarded", "--url", oauth.url]);

async function signIn(world: CliWorld): Promise<void> {
  const running = world.start(["mcp", "login", "guarded"]);
  await visit(await addressOf(running));
  expect(await running.ended).toMatchObject({ code: 0, stderr: expect.stringContaining("Signed in to guarded.") });
}

const answers = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { port, hostname } = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
    const socket = createConnection(Number(port), hostname)
      .once("connect", () => {
        socket.destroy();
        resolve(true);
      })
      .once("error", () => resolve(false));
  });

test("the secret of a client is read from standard input, kept, used, shown nowhere, and forgotten with the sign-in", async () => {
  const secret = "s3cret-0f-th3-machine";
  oauth.behaviour.secrets.set("machine", { secret, method: "client_secret_basic" });
  await using world = cliWorld();
  const config = { type: "http", url: oauth.url, oauthClientId: "machine", oauthGrantType: "client_credentials" };
  mkdirSync(world.home, { recursive: true });
  writeFileSync(join(world.home, "mcp-config.json"), JSON.stringify({ mcpServers: { guarded: config } }));
  const without = await world.run(["mcp", "login", "guarded"]);
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("--client-secret-stdin") });
  const given = await world.run(["mcp", "login", "guarded", "--client-secret-stdin"], { input: `${secret}\n` });
  expect(given).toMatchObject({ code: 0, stdout: expect.stringContaining("lets you in") });
  const tested = await world.run(["mcp", "test", "guarded"]);
  expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining("guarded: connected") });
  const listed = await Promise.all([world.run(["mcp", "list"]), world.run(["mcp", "list", "--json"])]);
  expect(JSON.stringify([without, given, tested, listed])).not.toContain(secret);
  await world.run(["mcp", "logout", "guarded"]);
  expect(await world.run(["mcp", "test", "guarded"])).toMatchObject({ code: 1 });
});

test("a person signs in with a browser, a run uses the server, and signing out ends that", async () => {
  await using world = await modelWorld([say("no tools"), call("guarded-echo", { text: "hi" }), say("done")]);
  await add(world);
  const env = { RETINUE_MCP_WAIT_MS: "3600000" };
  const before = await world.run(["-p", "hello"], { env });
  expect(before).toMatchObject({ code: 0, stdout: "no tools\n" });
  const advice = "! The MCP server guarded wants you to sign in. To do so: retinue mcp login guarded";
  expect(before.stderr).toContain(advice);
  expect(await world.run(["mcp", "test", "guarded"])).toMatchObject({
    code: 1,
    stdout: "guarded: needs-auth: the server wants you to sign in\n",
  });
  await signIn(world);
  const again = await world.run(["mcp", "login", "guarded"]);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("guarded lets you in already.") });
  expect((await world.run(["mcp", "test", "guarded"])).stdout).toContain("guarded: connected");
  const run = await world.run(["-p", "call it", "--allow-all-tools"], { env });
  expect(run).toMatchObject({ code: 0, stdout: "done\n" });
  expect(oauth.requests.filter(({ body }) => body.includes('"tools/call"'))).toHaveLength(1);
  expect(await world.run(["mcp", "logout", "guarded"])).toMatchObject({ stdout: "Signed out of guarded.\n" });
  expect(await world.run(["mcp", "logout", "guarded"])).toMatchObject({
    stdout: "Nobody was signed in to guarded.\n",
  });
  expect(await world.run(["mcp", "test", "guarded"])).toMatchObject({ code: 1 });
});

test("a server that is removed takes its sign-in along: whoever adds it again signs in again", async () => {
  await using world = cliWorld();
  await add(world);
  await signIn(world);
  expect((await world.run(["mcp", "test", "guarded"])).code).toBe(0);
  await world.run(["mcp", "remove", "guarded"]);
  await add(world);
  expect((await world.run(["mcp", "test", "guarded"])).stdout).toContain("guarded: needs-auth");
});

test("four processes that find the token ended renew it once, and all are let in", async () => {
  await using world = cliWorld();
  await add(world);
  await signIn(world);
  oauth.expire();
  const before = oauth.of("/token").length;
  const tests = await Promise.all([1, 2, 3, 4].map(() => world.run(["mcp", "test", "guarded"])));
  expect(tests.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(oauth.of("/token").length - before).toBe(1);
});

test.each([
  ["Ctrl-C", "SIGINT", 130],
  ["kill -9", "SIGKILL", null],
] as const)("%s during a sign-in leaves nobody who listens for the browser", async (_, signal, code) => {
  await using world = cliWorld();
  await add(world);
  const running = world.start(["mcp", "login", "guarded"]);
  const address = await addressOf(running);
  expect(await answers(address)).toBe(true);
  running.process.kill(signal);
  expect((await running.ended).code).toBe(code);
  expect(await answers(address)).toBe(false);
});

test("a person who says no is told so, and the exit code is 1", async () => {
  await using world = cliWorld();
  oauth.behaviour.isDenied = true;
  await add(world);
  const running = world.start(["mcp", "login", "guarded"]);
  await visit(await addressOf(running));
  expect(await running.ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("retinue: guarded: the sign-in failed: it was not allowed in the browser"),
  });
});

/** Does what a browser does, and nothing else. */
const BROWSER = `#!${process.execPath}\nfetch(process.argv[2]).then((page) => page.text());\n`;

test.runIf(canHaveTerminal)("at a terminal the browser that BROWSER names is opened", async () => {
  await using world = cliWorld();
  await add(world);
  const browser = world.put("browser", BROWSER);
  chmodSync(browser, 0o755);
  const terminal = { columns: 200, rows: 30 };
  const { stdout } = await world.run(["mcp", "login", "guarded"], {
    terminal,
    staysOpen: true,
    env: { BROWSER: browser },
  });
  expect(stdout).toContain("Go on in your browser.");
  expect(stdout).toContain("Signed in to guarded.");
});

test.each([
  [["mcp", "login", "nope"], "there is no MCP server nope"],
  [["mcp", "login", "program"], "program is a program on this machine; nobody signs in to it"],
  [["mcp", "login", "keyed"], "nobody signs in to it"],
])("wrong usage is explained: %j", async (args, words) => {
  await using world = cliWorld();
  await world.run(["mcp", "add", "program", "--", "true"]);
  await world.run(["mcp", "add", "keyed", "--url", oauth.url, "--header", "Authorization=Bearer x"]);
  expect(await world.run(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
});
