import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { withoutKnownValues } from "../../secrets/known-values.ts";
import { McpHost } from "../host.ts";
import type { RemoteServer } from "../server-config.ts";
import { secretInHome } from "./client-secret.ts";
import { placeInHome } from "./kept-sign-in.ts";
import { ServerSignIn } from "./server-sign-in.ts";
import { type OAuthServer, startOAuthServer, visit } from "./test-oauth-server.ts";

const SECRET = "k3pt:by/the=Owner%alone";
let home: string;
let oauth: OAuthServer;
let now: number;
let opened: (McpHost | ServerSignIn)[];
beforeEach(async () => {
  home = mkdtempSync(path.join(tmpdir(), "retinue-oauth-"));
  oauth = await startOAuthServer();
  now = 1_000_000;
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await oauth[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const server = (more: Partial<RemoteServer> = {}) => ({
  name: "guarded",
  config: { type: "http" as const, url: oauth.url, oauthClientId: "mine", ...more },
});
const secretOf = (more: Partial<RemoteServer> = {}) => secretInHome(home, server(more));
const placeOf = (more: Partial<RemoteServer> = {}) => placeInHome(home, server(more));
const wants = (method: "client_secret_basic" | "client_secret_post", secret = SECRET) =>
  oauth.behaviour.secrets.set("mine", { secret, method });
const tokenOf = () => placeOf().read()?.tokens?.access_token;

function signInTo(more: Partial<RemoteServer> = {}): ServerSignIn {
  const kept = { place: placeOf(more), secret: secretOf(more) };
  const signIn = new ServerSignIn({ ...server(more), ...kept, now: () => now });
  opened.push(signIn);
  return signIn;
}

async function login(signIn: ServerSignIn): Promise<void> {
  const { authorizationUrl, done } = await signIn.login({});
  await visit(authorizationUrl);
  await done;
}

/** Starts the server as a session does, and says what became of it. */
async function started(more: Partial<RemoteServer>): Promise<string[]> {
  const statuses: string[] = [];
  const host = new McpHost({
    workingDirectory: home,
    clientVersion: "0.0.0",
    onStatus: ({ status }) => statuses.push(status),
    signIn: async () => signInTo(more),
  });
  opened.push(host);
  await host.use({ guarded: server(more).config }).ready();
  return statuses;
}

describe("a configured client with a secret", () => {
  test.each(["client_secret_basic", "client_secret_post"] as const)(
    "signs in and is renewed with %s, and the secret is in no file but its own, which only the owner reads",
    async (method) => {
      wants(method);
      secretOf().keep(SECRET);
      const signIn = signInTo({ oauthPublicClient: false });
      await login(signIn);
      const first = tokenOf();
      now += 3600_000;
      await signIn.prepare();
      expect(tokenOf()).not.toBe(first);
      expect(oauth.of("/token").map(({ body }) => new URLSearchParams(body).get("grant_type"))).toEqual([
        "authorization_code",
        "refresh_token",
      ]);
      const folder = path.join(home, "mcp-oauth");
      const holders = readdirSync(folder).filter((name) =>
        readFileSync(path.join(folder, name), "utf8").includes(SECRET),
      );
      expect(holders).toEqual([expect.stringMatching(/\.client\.json$/)]);
      expect(holders.map((name) => statSync(path.join(folder, name)).mode & 0o777)).toEqual([0o600]);
    },
  );

  test("that is wrong is refused by name, and neither is in the words", async () => {
    wants("client_secret_basic", "another");
    secretOf().keep(SECRET);
    const { authorizationUrl, done } = await signInTo().login({});
    await visit(authorizationUrl);
    const problem: unknown = await done.catch((error: unknown) => error);
    expect(String(problem)).toContain("the sign-in failed");
    expect(String(problem)).not.toContain(SECRET);
    expect(withoutKnownValues(`it said ${SECRET}`)).toBe("it said [redacted secret]");
  });

  test("that nobody has given is asked for before a browser is", async () => {
    await expect(signInTo({ oauthPublicClient: false }).login({})).rejects.toThrow("needs a client secret");
  });

  test("that is lost leaves the tokens alone until they end, and asks nobody in vain", async () => {
    wants("client_secret_basic");
    secretOf().keep(SECRET);
    await login(signInTo({ oauthPublicClient: false }));
    secretOf().forget();
    now += 3600_000;
    const asked = oauth.of("/token").length;
    await signInTo({ oauthPublicClient: false }).prepare();
    expect(oauth.of("/token")).toHaveLength(asked);
    expect(tokenOf()).toBeDefined();
  });

  test("is never sent to another authorization server than the first", async () => {
    wants("client_secret_basic");
    secretOf().keep(SECRET);
    await login(signInTo());
    await using other = await startOAuthServer();
    oauth.behaviour.authorizationServer = other.origin;
    await expect(signInTo().login({})).rejects.toThrow("kept for another authorization server");
    expect(other.of("/token")).toEqual([]);
    secretOf().keep(SECRET);
    await expect(signInTo().login({})).resolves.toMatchObject({
      authorizationUrl: expect.stringContaining(other.origin),
    });
  });

  test("is for one server, one address and one client", () => {
    secretOf().keep(SECRET);
    expect(secretOf().isKept).toBe(true);
    expect(secretOf({ oauthClientId: "yours" }).isKept).toBe(false);
    expect(secretOf({ url: "https://elsewhere.example/mcp" }).isKept).toBe(false);
    expect(() => secretOf({ oauthClientId: undefined }).keep(SECRET)).toThrow("no oauthClientId");
  });
});

describe("a client that acts for itself", () => {
  const machine = { oauthGrantType: "client_credentials" as const };

  test("gets its token without a browser when the server starts, and another when that ends", async () => {
    wants("client_secret_post");
    secretOf(machine).keep(SECRET);
    expect(await started(machine)).toContain("connected");
    const first = tokenOf();
    now += 3600_000;
    const signIn = signInTo(machine);
    await signIn.prepare();
    expect(tokenOf()).not.toBe(first);
    oauth.expire();
    expect(await signIn.isIn()).toBe(true);
    expect(oauth.of("/token").map(({ body }) => new URLSearchParams(body).get("grant_type"))).toEqual(
      Array.from({ length: 3 }, () => "client_credentials"),
    );
  });

  test("that the authorization server does not know needs a sign-in, and is asked once", async () => {
    wants("client_secret_basic", "another");
    secretOf(machine).keep(SECRET);
    expect((await started(machine)).at(-1)).toBe("needs-auth");
    expect(oauth.of("/token")).toHaveLength(1);
  });

  test("without its secret needs a sign-in, and nobody is asked for a token", async () => {
    expect((await started(machine)).at(-1)).toBe("needs-auth");
    expect(oauth.of("/token")).toEqual([]);
  });

  test("in two sessions at once gets one token for both", async () => {
    secretOf(machine).keep(SECRET);
    const all = await Promise.all([started(machine), started(machine)]);
    expect(all.map((statuses) => statuses.at(-1))).toEqual(["connected", "connected"]);
    expect(oauth.of("/token")).toHaveLength(1);
  });
});

describe("a token for one session alone", () => {
  test("is another one than the kept one, and is renewed by itself", async () => {
    const [shared, own] = [signInTo(), signInTo()];
    await login(shared);
    const kept = tokenOf();
    await own.useOwnToken();
    const sent = await own.provider.token();
    expect([tokenOf(), await shared.provider.token()]).toEqual([kept, kept]);
    expect(sent).not.toBe(kept);
    now += 3600_000;
    const next = await own.provider.token();
    expect([kept, sent]).not.toContain(next);
    // The refresh token was changed twice, and whoever shares the kept one still has the right one.
    expect(await shared.provider.token()).not.toBe(kept);
    expect(tokenOf()).not.toBe(next);
  });

  test("cannot be had where the sign-in cannot be renewed, which is said", async () => {
    oauth.behaviour.givesRefreshToken = false;
    const signIn = signInTo();
    await login(signIn);
    await expect(signIn.useOwnToken()).rejects.toThrow("no token for this session alone");
  });

  test("is not asked for where nobody is signed in", async () => {
    await signInTo().useOwnToken();
    expect(oauth.requests).toEqual([]);
  });
});
