import { existsSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OAuthServer, startOAuthServer, visit } from "../../mcp/oauth/test-oauth-server.ts";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

let oauth: OAuthServer;
beforeEach(async () => {
  oauth = await startOAuthServer();
});
afterEach(async () => await oauth[Symbol.asyncDispose]());

const servers = () => ({ mcpServers: { guarded: { type: "http" as const, url: oauth.url } } });
const serverName = "guarded";

type World = Parameters<Parameters<typeof inSmallWorld>[1]>[0];

async function interested({ client }: World, sessionId: string): Promise<void> {
  await client.call("session.eventLog.registerInterest", { sessionId, eventType: "mcp.oauth_required" });
}

async function becomes({ client }: World, status: string): Promise<void> {
  await client.until(({ type, data }) => type === "session.mcp_server_status_changed" && data.status === status);
}

test("a client that wants to be asked gets mcp.oauth_required, and its token lets the agent call the server's tool", async () => {
  const accessToken = oauth.grant();
  // The server repeats what it was sent; so might any other.
  const turns = [[call("guarded-echo", { text: `hi ${accessToken}` })], [say("done")]];
  await inSmallWorld(turns, async (world) => {
    const { client, create, send } = world;
    const sessionId = await create(servers());
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await interested(world, sessionId);
    const started = client.call("session.mcp.startServer", { sessionId, serverName });
    await client.received("mcp.oauth_required");
    const [request] = client.of("mcp.oauth_required");
    expect(request).toMatchObject({ serverName, serverUrl: oauth.url, reason: "initial" });
    const { requestId = "" } = request ?? {};
    const answer = { sessionId, requestId, result: { kind: "token" as const, accessToken } };
    expect(await client.call("session.mcp.oauth.handlePendingRequest", answer)).toEqual({ success: true });
    expect(await client.call("session.mcp.oauth.handlePendingRequest", answer)).toEqual({ success: false });
    await started;
    expect(client.of("mcp.oauth_completed")).toEqual([{ requestId, outcome: "token" }]);
    await send(sessionId, "call it");
    expect(client.of("tool.execution_complete")).toMatchObject([
      { success: true, result: { content: "echo: hi [redacted secret]" } },
    ]);
    expect(JSON.stringify(client.events)).not.toContain(accessToken);
  });
});

test("a client that registers its interest late is asked about a server that was refused before", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create } = world;
    const sessionId = await create(servers());
    await client.call("session.mcp.startServer", { sessionId, serverName });
    expect(client.of("mcp.oauth_required")).toEqual([]);
    await interested(world, sessionId);
    await client.received("mcp.oauth_required");
    const { servers: listed } = await client.call("session.mcp.list", { sessionId });
    expect(listed).toMatchObject([{ name: serverName, status: "needs-auth" }]);
  });
});

test("a login gives the address for a browser, and the server is connected when the person has signed in", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create, home } = world;
    const sessionId = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    const { authorizationUrl } = await client.call("session.mcp.oauth.login", { sessionId, serverName });
    expect((await visit(authorizationUrl)).status).toBe(200);
    await becomes(world, "connected");
    expect(await client.call("session.mcp.oauth.login", { sessionId, serverName })).toEqual({});
    expect(existsSync(path.join(home, "home", "mcp-oauth"))).toBe(true);
    const other = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    await client.call("session.mcp.startServer", { sessionId: other, serverName });
    expect(await client.call("session.mcp.isServerRunning", { sessionId: other, serverName })).toEqual({
      running: true,
    });
  });
});

test("without persistent storage a sign-in is for one session, and leaves no file", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create, home } = world;
    const sessionId = await create(servers());
    const { authorizationUrl } = await client.call("session.mcp.oauth.login", { sessionId, serverName });
    await visit(authorizationUrl);
    await becomes(world, "connected");
    expect(existsSync(path.join(home, "home", "mcp-oauth"))).toBe(false);
    const other = await create(servers());
    const probe = await client.call("session.mcp.oauth.probe", { sessionId: other, serverName });
    expect(probe).toMatchObject({ status: "needs-auth", reason: "initial" });
  });
});

test("a login with the credentials of a client needs no browser", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create(servers());
    const login = { sessionId, serverName, grantType: "client_credentials" as const };
    await expect(client.call("session.mcp.oauth.login", login)).rejects.toThrow("needs clientId and clientSecret");
    const credentials = { clientId: "machine", clientSecret: "a-secret-of-machines" };
    expect(await client.call("session.mcp.oauth.login", { ...login, ...credentials })).toEqual({});
    expect(await client.call("session.mcp.isServerRunning", { sessionId, serverName })).toEqual({ running: true });
    expect(await client.call("session.mcp.oauth.probe", { sessionId, serverName })).toMatchObject({
      status: "authenticated",
      httpResponse: { statusCode: 200 },
    });
  });
});

test("a session that must have a token of its own gets one, and the others keep theirs", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create } = world;
    const sessionId = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    const { authorizationUrl } = await client.call("session.mcp.oauth.login", { sessionId, serverName });
    await visit(authorizationUrl);
    await becomes(world, "connected");
    const other = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    await client.call("session.mcp.startServer", { sessionId: other, serverName });
    const shared = oauth.of("/mcp").at(-1)?.authorization;
    const changed = { sessionId: other, serverName, refreshSessionToken: true };
    await client.call("session.mcp.oauth.authenticationStateChanged", changed);
    await client.call("session.mcp.restartServer", { sessionId: other, serverName });
    expect(oauth.of("/mcp").at(-1)?.authorization).not.toBe(shared);
    await client.call("session.mcp.restartServer", { sessionId, serverName });
    expect(oauth.of("/mcp").at(-1)?.authorization).toBe(shared);
  });
});

test("a probe says what a server wants and changes nothing", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ ...servers(), disabledMcpServers: [serverName] });
    const probe = await client.call("session.mcp.oauth.probe", { sessionId, serverName });
    expect(probe).toMatchObject({ status: "needs-auth", reason: "initial", wwwAuthenticateParams: { scope: "use" } });
    expect(oauth.requests).toHaveLength(1);
    expect(client.of("session.mcp_server_status_changed")).toEqual([]);
  });
});

test("a request that is responded to, because somebody signed in elsewhere, is closed and the server tried again", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create } = world;
    const sessionId = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    await interested(world, sessionId);
    void client.call("session.mcp.startServer", { sessionId, serverName });
    await client.received("mcp.oauth_required");
    const elsewhere = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    const { authorizationUrl } = await client.call("session.mcp.oauth.login", { sessionId: elsewhere, serverName });
    await visit(authorizationUrl);
    await becomes(world, "connected");
    const { requestId = "" } = client.of("mcp.oauth_required")[0] ?? {};
    expect(await client.call("session.mcp.oauth.respond", { sessionId, requestId })).toEqual({ success: true });
    const isConnected = () =>
      client.of("session.mcp_server_status_changed").filter(({ status }) => status === "connected").length === 2;
    await client.until(isConnected);
    expect(await client.call("session.mcp.isServerRunning", { sessionId, serverName })).toEqual({ running: true });
  });
});

test("a session that is told of a new sign-in connects the server before it answers", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create } = world;
    const sessionId = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    await client.call("session.mcp.startServer", { sessionId, serverName });
    const elsewhere = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    const { authorizationUrl } = await client.call("session.mcp.oauth.login", { sessionId: elsewhere, serverName });
    await visit(authorizationUrl);
    await becomes(world, "connected");
    expect(await client.call("session.mcp.oauth.authenticationStateChanged", { sessionId })).toBeNull();
    expect(await client.call("session.mcp.isServerRunning", { sessionId, serverName })).toEqual({ running: true });
  });
});

test("a client that is asked for a token may begin a sign-in with a browser instead", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create } = world;
    const sessionId = await create(servers());
    await interested(world, sessionId);
    const { requestId } = await client.received("mcp.oauth_required");
    const { authorizationUrl } = await client.call("session.mcp.oauth.login", { sessionId, serverName });
    await visit(authorizationUrl);
    await becomes(world, "connected");
    expect(client.of("mcp.oauth_completed")).toEqual([{ requestId, outcome: "token" }]);
  });
});

test("closing a session ends its sign-in and takes the request back", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create } = world;
    const sessionId = await create(servers());
    await interested(world, sessionId);
    void client.call("session.mcp.startServer", { sessionId, serverName }).catch(() => undefined);
    await client.received("mcp.oauth_required");
    const { authorizationUrl = "" } = await client.call("session.mcp.oauth.login", {
      sessionId,
      serverName,
      forceReauth: true,
    });
    await client.call("session.destroy", { sessionId });
    expect(client.of("mcp.oauth_completed")).toMatchObject([{ outcome: "cancelled" }]);
    await expect(visit(authorizationUrl)).rejects.toThrow();
  });
});

test("a session whose server wants a sign-in says once what to do about it, in words that fit where the sign-in is kept", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send }) => {
    const sessionId = await create({ ...servers(), mcpOAuthTokenStorage: "persistent" });
    await send(sessionId, "first");
    await client.call("session.mcp.startServer", { sessionId, serverName });
    await send(sessionId, "second");
    const warnings = client.of("session.warning").filter(({ warningType }) => warningType === "server_sign_in");
    const words = "The MCP server guarded wants you to sign in. To do so: retinue mcp login guarded";
    expect(warnings.map(({ message }) => message)).toEqual([words]);
  });
});
