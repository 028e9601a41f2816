/**
 * A sign-in with a browser: authorization code with PKCE, for a client that is registered on the way unless one is configured.
 *
 * It opens nothing. Whoever starts it gets the address for the browser, and waits. Everybody who wants to sign in to the same server
 * at the same time gets the same address.
 */
import { randomBytes } from "node:crypto";
import {
  type AuthorizationServerMetadata,
  exchangeAuthorization,
  type OAuthServerInfo,
  registerClient,
  startAuthorization,
} from "@modelcontextprotocol/client";
import { AppError, messageOf, timeoutSignal, visible } from "@retinue/protocol";
import { checkAddress, type GuardedFetch, guardedFetch } from "../../tools/web/guarded-fetch.ts";
import type { RemoteServer } from "../server-config.ts";
import { discovered, failed, resourceOf } from "./discovery.ts";
import type { SignIn, SignInPlace } from "./kept-sign-in.ts";
import { listenForRedirect, type RedirectListener } from "./redirect-listener.ts";
import { datedTokens } from "./renewal.ts";

const LIMIT_MS = 10 * 60_000;
const SUCCESS = "You are signed in. You can close this page and go back to the program that asked.";

export interface LoginRequest {
  place: SignInPlace;
  config: RemoteServer;
  now(): number;
  /** Aborted: whoever asked is gone. The sign-in ends with the last of them. */
  signal: AbortSignal;
  /** What the server said when it did not let us in. */
  challenge?: { resourceMetadataUrl?: string; scope?: string };
  /** Registers a new client, even if there is one. */
  isAnew?: boolean;
  clientName?: string;
  successMessage?: string;
  /** A client that was registered beforehand, for this sign-in. */
  client?: {
    id: string;
    /** Absent: a public one. Throws where that authorization server must not get it. */
    secretFor?(authorizationServer: string): string | undefined;
  };
}

export interface Login {
  authorizationUrl: string;
  /** Resolves when the tokens are kept. Rejects when the sign-in failed, took too long, or nobody wants it any more. */
  done: Promise<void>;
}

interface Shared {
  login: Promise<Login>;
  join(signal: AbortSignal): void;
}

const running = new Map<string, Shared>();

export async function startLogin(request: LoginRequest): Promise<Login> {
  const known = running.get(keyOf(request)) ?? begin(request);
  known.join(request.signal);
  return await known.login;
}

const keyOf = (request: LoginRequest): string => JSON.stringify([request.place.id, ownClientId(request) ?? null]);

function begin(request: LoginRequest): Shared {
  const id = keyOf(request);
  const waiting = new Set<AbortSignal>();
  const everybodyLeft = new AbortController();
  const login = prepare(request, AbortSignal.any([everybodyLeft.signal, timeoutSignal(LIMIT_MS)]));
  const join = (signal: AbortSignal): void => {
    waiting.add(signal);
    const leave = (): void => {
      waiting.delete(signal);
      if (waiting.size === 0) everybodyLeft.abort(new AppError("connection_closed", "the sign-in was given up"));
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  };
  const shared = { login, join };
  running.set(id, shared);
  const forget = (): void => {
    if (running.get(id) === shared) running.delete(id);
  };
  login.then(({ done }) => done).then(forget, forget);
  return shared;
}

async function prepare(request: LoginRequest, signal: AbortSignal): Promise<Login> {
  const { config, place, challenge } = request;
  refuseUnsupported(request);
  const guarded = guardedFetch(config.url, signal);
  const info = await discovered(config.url, guarded, challenge?.resourceMetadataUrl);
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = info;
  const kept = request.isAnew ? undefined : place.read();
  const fixedPort = typeof config.auth === "object" ? config.auth.redirectPort : undefined;
  const listener = await listenForRedirect({ port: fixedPort ?? portOf(kept), isFixed: fixedPort !== undefined });
  try {
    const scope = challenge?.scope ?? info.resourceMetadata?.scopes_supported?.join(" ");
    const resource = resourceOf(config.url, info);
    const client = await clientFor(request, { info, kept, listener, guarded, scope });
    const state = randomBytes(32).toString("base64url");
    const { authorizationUrl, codeVerifier } = await startAuthorization(authorizationServerUrl, {
      metadata,
      clientInformation: client,
      redirectUrl: listener.url,
      scope: withOfflineAccess(scope, metadata),
      state,
      resource,
    });
    checkAddress(authorizationUrl.href, config.url);
    const redeem = async (params: URLSearchParams): Promise<void> => {
      const tokens = await exchangeAuthorization(authorizationServerUrl, {
        metadata,
        clientInformation: client,
        authorizationCode: codeIn(params),
        iss: params.get("iss") ?? undefined,
        codeVerifier,
        redirectUri: listener.url,
        resource,
        fetchFn: guarded.fetch,
      });
      const redirectUrl = ownClientId(request) === undefined ? listener.url : undefined;
      const signIn: SignIn = {
        version: 1,
        server: config.url,
        authorizationServer: authorizationServerUrl,
        resource,
        client,
        redirectUrl,
        tokens: datedTokens(tokens, request.now()),
      };
      await place.locked(async () => place.write(withoutBorrowed(signIn, request)));
    };
    return { authorizationUrl: authorizationUrl.href, done: settled(listener, { state, redeem, signal, request }) };
  } catch (error) {
    listener.close();
    throw error;
  }
}

function settled(
  listener: RedirectListener,
  {
    state,
    redeem,
    signal,
    request,
  }: { state: string; redeem(params: URLSearchParams): Promise<void>; signal: AbortSignal; request: LoginRequest },
): Promise<void> {
  const done = new Promise<void>((resolve, reject) => {
    const giveUp = (): void => {
      const isLate = signal.reason instanceof DOMException;
      reject(isLate ? new AppError("timed_out", "nobody signed in within ten minutes") : signal.reason);
    };
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    listener.serve(state, {
      success: request.successMessage ?? SUCCESS,
      finish: async (params) => {
        const finished = redeem(params);
        finished.then(resolve, (error) => reject(failed(error)));
        await finished;
      },
    });
  }).finally(() => listener.close());
  // Whoever wants to know waits for it; nobody has to.
  done.catch(() => undefined);
  return done;
}

async function clientFor(
  request: LoginRequest,
  found: { info: OAuthServerInfo; kept?: SignIn; listener: RedirectListener; guarded: GuardedFetch; scope?: string },
): Promise<SignIn["client"]> {
  const { info, kept, listener, guarded, scope } = found;
  const id = ownClientId(request);
  const secret = request.client?.secretFor?.(info.authorizationServerUrl);
  if (id !== undefined) return { client_id: id, client_secret: secret };
  const isKnown = kept?.authorizationServer === info.authorizationServerUrl && kept.redirectUrl === listener.url;
  if (isKnown) return kept.client;
  try {
    const registered = await registerClient(info.authorizationServerUrl, {
      metadata: info.authorizationServerMetadata,
      clientMetadata: {
        client_name: request.clientName ?? "Retinue",
        redirect_uris: [listener.url],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        application_type: "native",
      },
      scope,
      fetchFn: guarded.fetch,
    });
    const { client_id, client_secret, token_endpoint_auth_method } = registered;
    return { client_id, client_secret, token_endpoint_auth_method };
  } catch (error) {
    guarded.throwRefusal();
    throw failed(unregistered(error));
  }
}

/** The person can do something about it. */
const unregistered = (error: unknown): Error =>
  new Error(
    `its authorization server registers no client by itself (${messageOf(error)}); register one there, and name it as oauthClientId in the server's configuration`,
    { cause: error },
  );

/** Otherwise some servers give no refresh token. */
function withOfflineAccess(scope: string | undefined, metadata?: AuthorizationServerMetadata): string | undefined {
  const isOffered = metadata?.scopes_supported?.includes("offline_access") ?? false;
  return scope && isOffered && !scope.split(" ").includes("offline_access") ? `${scope} offline_access` : scope;
}

function codeIn(params: URLSearchParams): string {
  const code = params.get("code");
  if (code) return code;
  const error = visible(params.get("error") ?? "no code").slice(0, 100);
  throw new Error(
    error === "access_denied" ? "it was not allowed in the browser" : `the browser came back with ${error}`,
  );
}

function refuseUnsupported({ config, client }: LoginRequest): void {
  checkAddress(config.url, config.url);
  if (config.auth === false) throw failed(new Error("its configuration says auth: false"));
  if (config.oauthGrantType === "client_credentials")
    throw failed(new Error("its configuration says client_credentials, which needs no browser but a client secret"));
  if (config.oauthPublicClient === false && !client?.secretFor && config.oauthClientId !== undefined)
    throw failed(new Error(`the client ${visible(config.oauthClientId)} needs a client secret`));
}

const ownClientId = ({ client, config }: LoginRequest): string | undefined => client?.id ?? config.oauthClientId;

/** A secret is not kept with the tokens: it was lent for one sign-in, or is kept apart. */
function withoutBorrowed(signIn: SignIn, { client }: LoginRequest): SignIn {
  return client ? { ...signIn, client: { ...signIn.client, client_secret: undefined } } : signIn;
}

function portOf(kept: SignIn | undefined): number | undefined {
  return kept?.redirectUrl === undefined ? undefined : Number(new URL(kept.redirectUrl).port);
}
