/**
 * How one session proves to one remote MCP server for whom it acts: with a token of the host, or with the kept sign-in, which is renewed
 * when it expires or the server refuses it.
 *
 * A refusal that a renewal does not cure ends the attempt. Then the host is asked, if one wants to be asked, once for each attempt; without
 * an answer the server stays as it is until somebody signs in.
 */
import {
  type AuthProvider,
  discoverOAuthProtectedResourceMetadata,
  type FetchLike,
} from "@modelcontextprotocol/client";
import { AppError, type McpProbe, type McpSignInRequest, type McpTokenAnswer } from "@retinue/protocol";
import { addKnownValue } from "../../secrets/known-values.ts";
import { checkAddress, guardedFetch } from "../../tools/web/guarded-fetch.ts";
import type { RemoteServer } from "../server-config.ts";
import type { ClientSecret } from "./client-secret.ts";
import type { SignInPlace } from "./kept-sign-in.ts";
import { type Login, type LoginRequest, startLogin } from "./login.ts";
import { probed } from "./probe.ts";
import { type Refusal, refusalOf, scopeRefusal } from "./refusal.ts";
import { checkToken } from "./renewal.ts";
import { type GivenClient, SessionTokens } from "./session-tokens.ts";

export type HostRequest = Omit<McpSignInRequest, "requestId">;
/** A token, none, or the word that somebody has signed in elsewhere. */
export type HostAnswer = McpTokenAnswer | { kind: "elsewhere" };

export interface ServerSignInOptions {
  name: string;
  config: RemoteServer;
  place: SignInPlace;
  /** Of the configured client. Absent: nobody may keep one here. */
  secret?: ClientSecret;
  now(): number;
  /** Undefined: no client wants to be asked. */
  askHost?(request: () => Promise<HostRequest>): Promise<HostAnswer> | undefined;
}

interface LoginOptions extends Pick<LoginRequest, "isAnew" | "clientName" | "successMessage"> {
  client?: GivenClient;
  /** False: it must have a secret. */
  isPublic?: boolean;
}

export class ServerSignIn {
  readonly #options: ServerSignInOptions;
  readonly #closing = new AbortController();
  readonly #tokens: SessionTokens;
  /** With which token a request was sent that the server refused. */
  readonly #sentWith = new WeakMap<Response, string | undefined>();
  #hostToken: string | undefined;
  #refusal: Refusal = { reason: "initial" };
  /** The token that the server refused last. */
  #worthless: string | undefined;
  /** The handshake has little time, so nothing is renewed in the middle of it. */
  #isOpening = false;
  #asking: Promise<boolean> | undefined;

  constructor(options: ServerSignInOptions) {
    this.#options = options;
    this.#tokens = new SessionTokens(options, this.#closing.signal);
  }

  readonly provider: AuthProvider = {
    token: () => this.#token(),
    onUnauthorized: ({ response }) => this.#onRefused(response),
  };

  /** The transport's. Remembers with which token a refused request was sent. */
  watched(send: FetchLike): FetchLike {
    return async (url, init) => {
      const response = await send(url, init);
      if (response.status === 401) {
        const [, token] = /^Bearer (.+)$/.exec(new Headers(init?.headers).get("authorization") ?? "") ?? [];
        this.#sentWith.set(response, token);
      }
      return response;
    };
  }

  /** Before a connection is opened. */
  async prepare(): Promise<void> {
    this.#isOpening = false;
    await this.#token();
    this.#isOpening = true;
  }

  opened(): void {
    this.#isOpening = false;
  }

  /** Somebody has signed in since the server refused. */
  get hasNews(): boolean {
    const kept = this.#options.place.read()?.tokens?.access_token;
    return this.#hostToken === undefined && kept !== undefined && kept !== this.#worthless;
  }

  /** After an attempt that failed for want of a sign-in. True: it is worth another one. Those who wait share one request to the host. */
  async recover(error: unknown, { signal, onAsk }: { signal: AbortSignal; onAsk?(): void }): Promise<boolean> {
    const moreRights = scopeRefusal(error);
    this.#refusal = moreRights ?? this.#refusal;
    if (moreRights) this.#worthless = this.#options.place.read()?.tokens?.access_token;
    else if (this.#isOpening && (await this.#hasCure(this.#worthless))) return true;
    this.#asking ??= this.#ask();
    if (!this.#asking) return false;
    onAsk?.();
    const gone = new Promise<false>((resolve) => {
      if (signal.aborted) resolve(false);
      signal.addEventListener("abort", () => resolve(false), { once: true });
    });
    return await Promise.race([this.#asking, gone]);
  }

  async login({ isPublic, client: given, ...options }: LoginOptions): Promise<Login> {
    const { config, place, now } = this.#options;
    const client = this.#tokens.clientOf(given);
    if (isPublic === false && !client?.secretFor)
      throw new AppError("invalid_params", "a client that is not public needs clientSecret, because none is kept");
    if (options.isAnew) await this.#signOut();
    const challenge = this.#refusal.wwwAuthenticateParams ?? (await this.#challenge());
    const { signal } = this.#closing;
    const login = await startLogin({ ...options, client, config, place, now, challenge, signal });
    login.done.then(
      () => {
        this.#hostToken = undefined;
        this.#tokens.forgetOwn();
      },
      () => undefined,
    );
    return login;
  }

  /** With the secret of a client that is itself the owner of the account. The token is for this session, and a secret that is given is not kept. */
  async loginAsClient(given: GivenClient): Promise<void> {
    if (!this.#refusal.wwwAuthenticateParams) this.#tokens.metadataUrl = (await this.#challenge())?.resourceMetadataUrl;
    const tokens = await this.#tokens.ofClient(given);
    this.#keepHostToken(tokens.access_token);
  }

  /** From now on with a token that no other session has, as long as the kept sign-in lets us have one. */
  async useOwnToken(): Promise<void> {
    await this.#tokens.takeOwn();
  }

  /** Whether the server lets us in with what there is, renewed if necessary. */
  async isIn(): Promise<boolean> {
    const token = await this.#token();
    const isFine = async (sent?: string) => {
      const probe = await probed(this.#options.config, { token: sent, signal: this.#closing.signal });
      if (probe.status === "needs-auth") this.#tokens.metadataUrl = probe.wwwAuthenticateParams?.resourceMetadataUrl;
      return probe.status === "authenticated" || probe.status === "no-auth-required";
    };
    if (await isFine(token)) return true;
    const fresh = token !== undefined && token === this.#hostToken ? undefined : await this.#tokens.renew(token);
    return fresh !== undefined && fresh.access_token !== token && (await isFine(fresh.access_token));
  }

  /** One request, which changes nothing here. */
  async probe(): Promise<McpProbe> {
    const kept = this.#options.place.read()?.tokens?.access_token;
    return await probed(this.#options.config, { token: this.#hostToken ?? kept, signal: this.#closing.signal });
  }

  /** Nobody waits any more, and no sign-in of this session goes on. */
  close(): void {
    this.#closing.abort();
  }

  async #signOut(): Promise<void> {
    const { place } = this.#options;
    this.#hostToken = undefined;
    this.#tokens.forgetOwn();
    await place.locked(async () => place.write(undefined));
  }

  async #token(): Promise<string | undefined> {
    if (this.#hostToken !== undefined) return this.#hostToken;
    return await this.#tokens.current({ mayRenew: !this.#isOpening });
  }

  /** Returns when the request is worth repeating. */
  async #onRefused(response: Response): Promise<void> {
    const sent = this.#sentWith.get(response);
    const isHostToken = sent !== undefined && sent === this.#hostToken;
    const reason = sent === undefined ? "initial" : isHostToken ? "refresh" : "reauth";
    this.#refusal = await refusalOf(response, reason);
    this.#tokens.metadataUrl = this.#refusal.wwwAuthenticateParams?.resourceMetadataUrl;
    this.#worthless = sent;
    if (isHostToken) this.#hostToken = undefined;
    if (!this.#isOpening && (await this.#hasCure(sent))) return;
    throw new AppError("authentication_required", "the server wants you to sign in");
  }

  /** Whether there is another token by now than the one that was sent, renewed if necessary. */
  async #hasCure(sent: string | undefined): Promise<boolean> {
    if (this.#hostToken !== undefined) return true;
    const fresh = await this.#tokens.renew(sent);
    return fresh !== undefined && fresh.access_token !== sent;
  }

  /** Undefined: there is nobody to ask. */
  #ask(): Promise<boolean> | undefined {
    const asked = this.#options.askHost?.(async () => ({
      ...this.#refusal,
      serverName: this.#options.name,
      serverUrl: this.#options.config.url,
      resourceMetadata: await this.#resourceMetadata(),
      staticClientConfig: staticClient(this.#options.config),
    }));
    return asked
      ?.then((answer) => {
        if (answer.kind === "token") this.#keepHostToken(answer.accessToken, answer.tokenType);
        return answer.kind !== "cancelled" && (this.#hostToken !== undefined || this.hasNews);
      })
      .finally(() => {
        this.#asking = undefined;
      });
  }

  #keepHostToken(token: string, type?: string): void {
    addKnownValue(token);
    checkToken(token, type);
    this.#hostToken = token;
  }

  /** For the host, which may want to sign in by itself. A server that has none is no mistake here. */
  async #resourceMetadata(): Promise<string | undefined> {
    const { url } = this.#options.config;
    const { resourceMetadataUrl } = this.#refusal.wwwAuthenticateParams ?? {};
    const guarded = guardedFetch(url, this.#closing.signal);
    try {
      checkAddress(url, url);
      const found = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl }, guarded.fetch);
      return JSON.stringify(found);
    } catch {
      return undefined;
    }
  }

  async #challenge(): Promise<Refusal["wwwAuthenticateParams"]> {
    const probe = await probed(this.#options.config, { signal: this.#closing.signal });
    return probe.status === "needs-auth" ? probe.wwwAuthenticateParams : undefined;
  }
}

function staticClient({
  oauthClientId,
  oauthGrantType,
  oauthPublicClient,
}: RemoteServer): HostRequest["staticClientConfig"] {
  if (oauthClientId === undefined) return undefined;
  const grantType = oauthGrantType === "client_credentials" ? oauthGrantType : undefined;
  return { clientId: oauthClientId, grantType, publicClient: oauthPublicClient };
}

/** A server that was given a key of its own, or that nobody is to be signed in to, has none. */
export function wantsSignIn({ auth, headers = {} }: RemoteServer): boolean {
  return auth !== false && !Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}
