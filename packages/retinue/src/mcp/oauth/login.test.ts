import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RemoteServer } from "../server-config.ts";
import { placeInHome, placeInMemory, type SignInPlace } from "./kept-sign-in.ts";
import { type LoginRequest, startLogin } from "./login.ts";
import { type OAuthServer, startOAuthServer, visit } from "./test-oauth-server.ts";

let home: string;
let oauth: OAuthServer;
let leaving: AbortController;
beforeEach(async () => {
  home = mkdtempSync(path.join(tmpdir(), "retinue-oauth-"));
  oauth = await startOAuthServer();
  leaving = new AbortController();
});
afterEach(async () => {
  leaving.abort();
  await oauth[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const config = (more: Partial<RemoteServer> = {}): RemoteServer => ({ type: "http", url: oauth.url, ...more });

const inHome = (): SignInPlace => placeInHome(home, { name: "guarded", config: config() });

function login(place: SignInPlace, more: Partial<LoginRequest> = {}) {
  return startLogin({ place, config: config(), now: () => 1000, signal: leaving.signal, ...more });
}

const isTaken = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(true))
      .once("listening", () => server.close(() => resolve(false)))
      .listen(Number(new URL(address).port), "127.0.0.1");
  });

const redirectOf = (authorizationUrl: string): string =>
  new URL(authorizationUrl).searchParams.get("redirect_uri") ?? "";

test("a sign-in registers a client, proves itself with PKCE, and keeps the tokens for the owner alone", async () => {
  const place = inHome();
  const { authorizationUrl, done } = await login(place);
  const asked = new URL(authorizationUrl).searchParams;
  expect(asked.get("code_challenge_method")).toBe("S256");
  expect(asked.get("resource")).toBe(oauth.url);
  expect((await visit(authorizationUrl)).body).toContain("You are signed in.");
  await done;
  expect(place.read()).toMatchObject({
    server: oauth.url,
    authorizationServer: oauth.origin,
    client: { client_id: "client-1" },
    tokens: { access_token: expect.stringMatching(/^access-/), expiresAt: 1000 + 3600_000 },
  });
  const folder = path.join(home, "mcp-oauth");
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  expect(files).toHaveLength(1);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const file of readdirSync(folder)) expect(statSync(path.join(folder, file)).mode & 0o777).toBe(0o600);
  expect(await isTaken(redirectOf(authorizationUrl))).toBe(false);
});

test("a second sign-in registers no second client when its port is still free", async () => {
  const place = inHome();
  for (const _ of [1, 2]) {
    const { authorizationUrl, done } = await login(place);
    await visit(authorizationUrl);
    await done;
  }
  expect(oauth.registered).toEqual(["client-1"]);
  const { authorizationUrl } = await login(place, { isAnew: true });
  expect(new URL(authorizationUrl).searchParams.get("client_id")).toBe("client-2");
});

test("sign-ins to one server at the same time share one address, and end when the last who wants it has gone", async () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const logins = await Promise.all([
    login(inHome(), { signal: first.signal }),
    login(inHome(), { signal: second.signal }),
  ]);
  expect(logins[0].authorizationUrl).toBe(logins[1].authorizationUrl);
  first.abort();
  expect(await isTaken(redirectOf(logins[0].authorizationUrl))).toBe(true);
  second.abort();
  await expect(logins[1].done).rejects.toThrow("the sign-in was given up");
  expect(await isTaken(redirectOf(logins[0].authorizationUrl))).toBe(false);
});

test("a browser that comes with another state is refused, and the sign-in goes on", async () => {
  const place = placeInMemory();
  const { authorizationUrl, done } = await login(place);
  const forged = `${redirectOf(authorizationUrl)}?code=stolen&state=guessed&iss=${encodeURIComponent(oauth.origin)}`;
  expect((await visit(forged)).status).toBe(404);
  expect(oauth.of("/token")).toEqual([]);
  expect((await visit(authorizationUrl)).status).toBe(200);
  await done;
  expect(place.read()?.tokens).toBeDefined();
});

test("a person who says no in the browser ends the sign-in, and nothing is kept", async () => {
  oauth.behaviour.isDenied = true;
  const place = placeInMemory();
  const { authorizationUrl, done } = await login(place);
  const refused = expect(done).rejects.toThrow("the sign-in failed: it was not allowed in the browser");
  expect((await visit(authorizationUrl)).status).toBe(400);
  await refused;
  expect(place.read()).toBeUndefined();
});

test("a configured client is used as it is, and none is registered", async () => {
  const { authorizationUrl } = await login(placeInMemory(), { config: config({ oauthClientId: "mine" }) });
  expect(new URL(authorizationUrl).searchParams.get("client_id")).toBe("mine");
  expect(oauth.registered).toEqual([]);
});

test("the message of the last page is shown as text", async () => {
  const { authorizationUrl } = await login(placeInMemory(), { successMessage: "Back to <b>Shop</b>" });
  expect((await visit(authorizationUrl)).body).toContain("Back to &#60;b&#62;Shop&#60;/b&#62;");
});

test("the secret of a client that is lent for one sign-in is not kept", async () => {
  const place = inHome();
  const { authorizationUrl, done } = await login(place, {
    client: { id: "lent", secretFor: () => "secret-of-the-host" },
  });
  await visit(authorizationUrl);
  await done;
  const [file = ""] = readdirSync(path.join(home, "mcp-oauth")).filter((name) => name.endsWith(".json"));
  expect(readFileSync(path.join(home, "mcp-oauth", file), "utf8")).not.toContain("secret-of-the-host");
});

describe("what a hostile server says is not believed", () => {
  const attempts: [string, (server: OAuthServer) => void, string | RegExp][] = [
    ["another resource", ({ behaviour }) => (behaviour.resource = "https://bank.example/mcp"), "which it is not"],
    [
      "another issuer than the one asked",
      ({ behaviour }) => (behaviour.issuer = "https://bank.example"),
      "another authorization server",
    ],
    [
      "a browser address that is not encrypted",
      ({ behaviour }) => (behaviour.authorizationEndpoint = "http://bank.example/authorize"),
      "http://bank.example is not used, because it is not encrypted (https)",
    ],
    [
      "a browser address that is a program",
      ({ behaviour }) => (behaviour.authorizationEndpoint = "file:///etc/passwd"),
      /authorization_endpoint|not encrypted/,
    ],
    [
      "an authorization server that is not encrypted",
      ({ behaviour }) => (behaviour.authorizationServer = "http://auth.example"),
      "http://auth.example is not used",
    ],
    [
      "metadata at the address of a cloud",
      ({ behaviour }) => (behaviour.metadataUrl = "http://169.254.169.254/latest/meta-data"),
      "http://169.254.169.254 is not used",
    ],
    [
      "no way to register",
      ({ behaviour }) => (behaviour.hasRegistration = false),
      /registers no client by itself .*oauthClientId/,
    ],
  ];

  test.each(attempts)("%s", async (_, change, words) => {
    change(oauth);
    const challenge = { resourceMetadataUrl: oauth.behaviour.metadataUrl };
    await expect(login(placeInMemory(), { challenge })).rejects.toThrow(words);
  });

  test("a token endpoint elsewhere gets no code", async () => {
    oauth.behaviour.tokenEndpoint = "http://bank.example/token";
    const { authorizationUrl, done } = await login(placeInMemory());
    const refused = expect(done).rejects.toThrow("bank.example");
    await visit(authorizationUrl);
    await refused;
  });
});

test("a server that is not encrypted and not on this machine is not signed in to", async () => {
  await expect(login(placeInMemory(), { config: config({ url: "http://mcp.example/mcp" }) })).rejects.toThrow(
    "http://mcp.example is not used, because it is not encrypted (https)",
  );
});

test("a server that has no resource metadata is its own authorization server", async () => {
  oauth.behaviour.hasResourceMetadata = false;
  const place = placeInMemory();
  const { authorizationUrl, done } = await login(place);
  await visit(authorizationUrl);
  await done;
  expect(place.read()?.resource).toBe(oauth.url);
});

test("a broken file is no sign-in, and the next sign-in replaces it", async () => {
  const place = inHome();
  const first = await login(place);
  await visit(first.authorizationUrl);
  await first.done;
  const [file = ""] = readdirSync(path.join(home, "mcp-oauth")).filter((name) => name.endsWith(".json"));
  writeFileSync(path.join(home, "mcp-oauth", file), '{"version": 1, "server": ');
  expect(place.read()).toBeUndefined();
  const second = await login(place);
  await visit(second.authorizationUrl);
  await second.done;
  expect(place.read()?.tokens).toBeDefined();
});

test.each(["//", "http://["])(
  "a stranger who asks the listener for %s is refused, and the sign-in goes on",
  async (target) => {
    const { authorizationUrl, done } = await login(placeInMemory());
    const stranger = createConnection(Number(new URL(redirectOf(authorizationUrl)).port), "127.0.0.1");
    stranger.write(`GET ${target} HTTP/1.1\r\nhost: here\r\n\r\n`);
    const [answer] = await once(stranger, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
    expect((await visit(authorizationUrl)).status).toBe(200);
    await done;
  },
);

test("strangers who hold the listener's connections open do not keep it after the sign-in", async () => {
  const { authorizationUrl, done } = await login(placeInMemory());
  const stranger = createConnection(Number(new URL(redirectOf(authorizationUrl)).port), "127.0.0.1");
  await once(stranger, "connect");
  stranger.on("error", () => undefined);
  stranger.write("GET /callback HTTP/1.1\r\n");
  expect((await visit(authorizationUrl)).body).toContain("You are signed in.");
  await done;
  stranger.resume();
  await once(stranger, "close");
});

test("a token of another type than bearer is refused, and not kept", async () => {
  oauth.behaviour.tokenType = "DPoP";
  const place = placeInMemory();
  const { authorizationUrl, done } = await login(place);
  const refused = expect(done).rejects.toThrow("tokens of the type DPoP are not supported, only bearer");
  await visit(authorizationUrl);
  await refused;
  expect(place.read()).toBeUndefined();
});

test("a server whose documents never come is left when whoever asked has gone", async () => {
  oauth.behaviour.isSilent = true;
  const starting = expect(login(placeInMemory())).rejects.toThrow("could not be asked");
  leaving.abort();
  await starting;
});
