import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { McpTokenAnswer } from "@retinue/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createShells } from "../../tools/shell/shells.ts";
import type { CallContext } from "../../tools/tool.ts";
import { isRunning, signInOf } from "../by-name.ts";
import { McpHost, type McpUse } from "../host.ts";
import type { RemoteServer } from "../server-config.ts";
import { placeInHome, placeInMemory, type SignIn, type SignInPlace } from "./kept-sign-in.ts";
import { type HostRequest, ServerSignIn, wantsSignIn } from "./server-sign-in.ts";
import { type OAuthServer, startOAuthServer, visit } from "./test-oauth-server.ts";

let folder: string;
let oauth: OAuthServer;
let hosts: McpHost[];
let now: number;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "retinue-oauth-"));
  oauth = await startOAuthServer();
  hosts = [];
  now = 1_000_000;
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(hosts.map((host) => host.close()));
  await oauth[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface World {
  host: McpHost;
  statuses: string[];
  asked: HostRequest[];
  place: SignInPlace;
}

/** A session with one server; `answer` is its host, if it has one. */
function open(answer?: (request: HostRequest) => Promise<McpTokenAnswer>, place: SignInPlace = placeInMemory()): World {
  const statuses: string[] = [];
  const asked: HostRequest[] = [];
  const host = new McpHost({
    workingDirectory: folder,
    clientVersion: "0.0.0",
    onStatus: ({ status }) => statuses.push(status),
    signIn: async (name, config) => {
      if ("command" in config || !wantsSignIn(config)) return undefined;
      const askHost =
        answer &&
        (async (make: () => Promise<HostRequest>) => {
          const request = await make();
          asked.push(request);
          return await answer(request);
        });
      return new ServerSignIn({ name, config, place, now: () => now, askHost });
    },
  });
  hosts.push(host);
  return { host, statuses, asked, place };
}

const guarded = (more: Partial<RemoteServer> = {}): Record<string, RemoteServer> => ({
  guarded: { type: "http", url: oauth.url, ...more },
});

const inHome = (): SignInPlace => placeInHome(folder, { name: "guarded", config: { type: "http", url: oauth.url } });

async function started(host: McpHost, servers = guarded()): Promise<McpUse> {
  const use = host.use(servers);
  await use.ready();
  return use;
}

async function signedIn(place: SignInPlace): Promise<SignIn> {
  const { host } = open(undefined, place);
  host.use(guarded());
  const { authorizationUrl, done } = await (await signInOf(host, "guarded")).login({});
  await visit(authorizationUrl);
  await done;
  const kept = place.read();
  if (!kept) throw new Error("nothing was kept");
  return kept;
}

/** Calls the server's one tool as the model would. */
async function echo(use: McpUse, text = "hi"): Promise<string> {
  const [tool] = use.tools();
  if (!tool) throw new Error("the server offers nothing");
  const context: CallContext = {
    sessionId: "session",
    callId: "call",
    workingDirectory: folder,
    sessionFolder: folder,
    tempFolder: folder,
    signal: new AbortController().signal,
    mode: "interactive",
    partialOutput: () => undefined,
    announce: () => undefined,
    services: { shells: createShells({ sessionId: "session", logFolder: folder }) },
    rules: { unreadable: () => [], judge: () => "allow" },
  };
  return (await (await tool.prepare({ text }, context)).run()).text;
}

const statusOf = (use: McpUse) =>
  use.list().map(({ status, error }) => (error === undefined ? status : `${status}: ${error}`));

const token = (accessToken: string) => async (): Promise<McpTokenAnswer> => ({ kind: "token", accessToken });

describe("a server that wants a sign-in", () => {
  test("is needs-auth, is not asked again at every turn, and is connected after a sign-in", async () => {
    const { host, statuses } = open();
    const use = await started(host);
    expect(statusOf(use)).toEqual(["needs-auth: the server wants you to sign in"]);
    const before = oauth.of("/mcp").length;
    await use.ready();
    await expect(host.listTools("guarded")).rejects.toThrow("MCP server 'guarded': the server wants you to sign in");
    expect(oauth.of("/mcp")).toHaveLength(before);
    const { authorizationUrl, done } = await (await signInOf(host, "guarded")).login({});
    await visit(authorizationUrl);
    await done;
    await use.ready();
    expect(await echo(use)).toContain("echo: hi");
    expect(statuses).toEqual(["pending", "needs-auth", "pending", "connected"]);
  });

  test("is not bothered with sign-ins when its configuration has a key of its own, or says auth: false", async () => {
    const { host } = open();
    const use = await started(host, guarded({ headers: { Authorization: "Bearer wrong" } }));
    expect(statusOf(use)[0]).toMatch(/^needs-auth/);
    await expect(signInOf(host, "guarded")).rejects.toThrow("is not one that anybody signs in to");
    expect(wantsSignIn({ type: "http", url: oauth.url, auth: false })).toBe(false);
  });

  test("is connected over server-sent events as well", async () => {
    const place = placeInMemory();
    const kept = await signedIn(place);
    place.write({ ...kept, server: oauth.sseUrl });
    const { host } = open(undefined, place);
    const use = await started(host, guarded({ type: "sse", url: oauth.sseUrl }));
    expect(statusOf(use)).toEqual(["connected"]);
    expect(await echo(use)).toContain("echo: hi");
  });

  test("over server-sent events is needs-auth without a sign-in", async () => {
    const { host } = open();
    const use = await started(host, guarded({ type: "sse", url: oauth.sseUrl }));
    expect(statusOf(use)).toEqual(["needs-auth: the server wants you to sign in"]);
  });
});

describe("a host that is asked", () => {
  test("gives a token, which is used for this session and not kept", async () => {
    const { host, asked, statuses, place } = open(token(oauth.grant()));
    await started(host);
    expect(statuses).toEqual(["pending", "needs-auth", "connected"]);
    expect(asked).toMatchObject([
      {
        reason: "initial",
        serverName: "guarded",
        serverUrl: oauth.url,
        wwwAuthenticateParams: { scope: "use" },
        httpResponse: { statusCode: 401, body: '{"error":"invalid_token"}' },
        resourceMetadata: expect.stringContaining(`"resource":"${oauth.url}"`),
      },
    ]);
    expect(place.read()).toBeUndefined();
  });

  test("is asked once for a token that the server refuses as well", async () => {
    const { host, asked } = open(token("access-made-up"));
    const use = await started(host);
    expect(statusOf(use)).toEqual(["needs-auth: the server wants you to sign in"]);
    expect(asked).toHaveLength(1);
  });

  test("is asked for another token when the first one ends during a session, and the call goes on", async () => {
    const { host, asked } = open(async () => ({ kind: "token", accessToken: oauth.grant() }));
    const use = await started(host);
    oauth.expire();
    expect(await echo(use)).toBe("echo: hi");
    expect(asked.map(({ reason }) => reason)).toEqual(["initial", "refresh"]);
  });

  test("is asked for more rights when a tool needs them", async () => {
    oauth.behaviour.callScope = "admin";
    const { host, asked } = open(async ({ reason }) => ({
      kind: "token",
      accessToken: oauth.grant(reason === "upscope" ? "use admin" : "use"),
    }));
    expect(await echo(await started(host))).toBe("echo: hi");
    expect(asked.map(({ reason, wwwAuthenticateParams }) => [reason, wwwAuthenticateParams?.scope])).toEqual([
      ["initial", "use"],
      ["upscope", "admin"],
    ]);
  });

  test("is asked once when fifty calls are refused at the same time", async () => {
    const { host, asked } = open(async () => ({ kind: "token", accessToken: oauth.grant() }));
    const use = await started(host);
    oauth.expire();
    const texts = await Promise.all(Array.from({ length: 50 }, () => echo(use)));
    expect(new Set(texts)).toEqual(new Set(["echo: hi"]));
    expect(asked).toHaveLength(2);
  });

  test.each([
    ["a token that no header may have", "two\nlines", undefined, "the token has characters that no header may have"],
    ["a token of another type", "good", "mac", "tokens of the type mac are not supported, only bearer"],
  ])("that gives %s is told so, and the token is in no words", async (_, accessToken, tokenType, words) => {
    const { host } = open(async () => ({ kind: "token", accessToken, tokenType }));
    expect(statusOf(await started(host))).toEqual([`failed: ${words}`]);
  });

  test("that cancels leaves the server as it is", async () => {
    const { host } = open(async () => ({ kind: "cancelled" }));
    expect(statusOf(await started(host))).toEqual(["needs-auth: the server wants you to sign in"]);
  });

  test("that never answers does not keep the session from closing", async () => {
    const { host } = open(() => new Promise(() => undefined));
    const use = host.use(guarded());
    const ready = use.ready();
    await host.close();
    await ready;
  });
});

describe("a kept sign-in", () => {
  test("is used by the next session, and renewed before it ends", async () => {
    const before = await signedIn(inHome());
    now += 3600_000 - 30_000;
    const { host, statuses } = open(undefined, inHome());
    expect(await echo(await started(host))).toBe("echo: hi");
    expect(statuses).toEqual(["pending", "connected"]);
    const after = inHome().read();
    expect(after?.tokens?.access_token).not.toBe(before.tokens?.access_token);
    expect(after?.tokens?.expiresAt).toBe(now + 3600_000);
  });

  test("that the server has ended early is renewed in the middle of a call", async () => {
    await signedIn(inHome());
    const { host, statuses } = open(undefined, inHome());
    const use = await started(host);
    oauth.expire();
    expect(await echo(use)).toBe("echo: hi");
    expect(statuses).toEqual(["pending", "connected"]);
  });

  test("is renewed once when fifty calls of two sessions find it ended", async () => {
    await signedIn(inHome());
    const uses = await Promise.all([1, 2].map(async () => await started(open(undefined, inHome()).host)));
    oauth.expire();
    const before = oauth.of("/token").length;
    const texts = await Promise.all(Array.from({ length: 50 }, (_, index) => echo(uses[index % 2] as McpUse)));
    expect(new Set(texts)).toEqual(new Set(["echo: hi"]));
    expect(oauth.of("/token").length - before).toBe(1);
  });

  test("is renewed however long that takes, because the handshake does not wait for it", async () => {
    await signedIn(inHome());
    oauth.expire();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    oauth.behaviour.beforeTokens = async () => void vi.advanceTimersByTime(40_000);
    const { host, statuses } = open(undefined, inHome());
    await started(host);
    expect(statuses).toEqual(["pending", "connected"]);
  });

  test("that was revoked makes the server needs-auth once, and the next call does not ask anybody", async () => {
    await signedIn(inHome());
    const { host, statuses } = open(undefined, inHome());
    const use = await started(host);
    oauth.revoke();
    // All of them say so, not only the first, which ends the connection of the others.
    for (const said of await Promise.all(Array.from({ length: 10 }, () => echo(use))))
      expect(said).toContain("'guarded': the server wants the user to sign in");
    expect(statuses).toEqual(["pending", "connected", "needs-auth"]);
    const before = oauth.requests.length;
    expect(await echo(use)).toContain("the server wants the user to sign in");
    await use.ready();
    expect(oauth.requests).toHaveLength(before);
    expect(inHome().read()?.tokens).toBeUndefined();
  });

  test("that was revoked is noticed by what is not a tool as well", async () => {
    await signedIn(inHome());
    const { host, statuses } = open(undefined, inHome());
    await started(host);
    oauth.revoke();
    await expect(host.with("guarded", (client) => client.ping())).rejects.toThrow("the server wants you to sign in");
    expect(statuses).toEqual(["pending", "connected", "needs-auth"]);
  });

  test("that another process makes is found by a session that is open already", async () => {
    const { host } = open(undefined, inHome());
    const use = await started(host);
    expect(statusOf(use)[0]).toMatch(/^needs-auth/);
    await signedIn(inHome());
    await use.ready();
    expect(await echo(use)).toBe("echo: hi");
  });

  test("stays when the authorization server is out of order, and the server has failed", async () => {
    await signedIn(inHome());
    oauth.expire();
    oauth.behaviour.tokenStatus = 503;
    const { host } = open(undefined, inHome());
    expect(statusOf(await started(host))[0]).toMatch(/^failed/);
    expect(inHome().read()?.tokens?.refresh_token).toBeDefined();
    oauth.behaviour.tokenStatus = 200;
    await host.restart("guarded");
    expect(isRunning(host, "guarded")).toBe(true);
  });

  test("that the server refuses however new it is leads to needs-auth, and not to a loop", async () => {
    await signedIn(inHome());
    oauth.behaviour.isShut = true;
    const { host } = open(undefined, inHome());
    const before = oauth.requests.length;
    expect(statusOf(await started(host))[0]).toMatch(/^needs-auth/);
    expect(oauth.requests.length - before).toBeLessThan(8);
  });

  test("that ends after half a minute is not renewed for each request", async () => {
    oauth.behaviour.expiresIn = 30;
    await signedIn(inHome());
    const use = await started(open(undefined, inHome()).host);
    for (let calls = 0; calls < 5; calls++) await echo(use);
    expect(oauth.of("/token")).toHaveLength(1);
    now += 20_000;
    await echo(use);
    expect(oauth.of("/token")).toHaveLength(2);
  });

  test.each(["http", "sse"] as const)(
    "and a key of the configuration are not sent to where %s sends us",
    async (type) => {
      await signedIn(inHome());
      await using other = await startOAuthServer();
      oauth.behaviour.movedTo = other.origin;
      const url = type === "sse" ? oauth.sseUrl : oauth.url;
      const use = await started(
        open(undefined, inHome()).host,
        guarded({ type, url, headers: { "x-key": "the-key" } }),
      );
      expect(statusOf(use)[0]).toContain("redirects to another origin");
      expect(other.requests).toEqual([]);
    },
  );

  test("is sent to its server and to nobody else", async () => {
    const { tokens } = await signedIn(inHome());
    await using other = await startOAuthServer();
    const elsewhere = placeInHome(folder, { name: "guarded", config: { type: "http", url: other.url } });
    const { host } = open(undefined, elsewhere);
    await started(host, guarded({ url: other.url }));
    await started(open(undefined, inHome()).host);
    expect(JSON.stringify(other.requests)).not.toContain(tokens?.access_token);
    const carried = oauth.requests.filter(({ authorization }) => authorization?.includes(tokens?.access_token ?? "-"));
    expect(new Set(carried.map(({ path }) => path))).toEqual(new Set(["/mcp"]));
  });
});
