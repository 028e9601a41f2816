/**
 * The tokens that one session sends to one server: the kept ones, those that no other session has, or those of a client that acts for itself.
 *
 * Knows how each kind is renewed. A token of the host is none of them.
 */
import { AppError } from "@retinue/protocol";
import { addKnownValue } from "../../secrets/known-values.ts";
import type { RemoteServer } from "../server-config.ts";
import type { ClientSecret } from "./client-secret.ts";
import type { SignInPlace, Tokens } from "./kept-sign-in.ts";
import type { LoginRequest } from "./login.ts";
import { EARLY_MS, renewed } from "./renewal.ts";

export interface SessionTokensOptions {
  config: RemoteServer;
  place: SignInPlace;
  /** Of the configured client. Absent: nobody may keep one here. */
  secret?: ClientSecret;
  now(): number;
}

/** A client that is named for one sign-in. Its secret is not kept. */
export interface GivenClient {
  id?: string;
  secret?: string;
}

export class SessionTokens {
  readonly #options: SessionTokensOptions;
  readonly #signal: AbortSignal;
  /** Those of this session alone, in place of the kept ones. */
  #own: Tokens | undefined;
  /** Where the server says who gives tokens for it. */
  metadataUrl: string | undefined;

  constructor(options: SessionTokensOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async current({ mayRenew }: { mayRenew: boolean }): Promise<string | undefined> {
    const { place, now } = this.#options;
    const tokens = this.#own ?? place.read()?.tokens;
    if (!tokens) return undefined;
    const { access_token: stale, expiresAt = Infinity, refresh_token } = tokens;
    const isRenewable = refresh_token !== undefined || this.#own !== undefined || this.#actsAsClient();
    if (!mayRenew || !isRenewable || now() < expiresAt - EARLY_MS) return stale;
    // One that cannot be renewed now may still be good for its last minute.
    const fresh = await this.renew(stale).catch(() => tokens);
    return fresh?.access_token;
  }

  /** In place of this token, or of none. Undefined: somebody has to sign in. Throws when nobody could be asked. */
  async renew(stale: string | undefined): Promise<Tokens | undefined> {
    if (this.#own) {
      if (this.#own.access_token === stale) this.#own = await this.#mint();
      return this.#own;
    }
    const { place } = this.#options;
    if (this.#actsAsClient()) {
      const { renewedAsClient } = await import("./client-token.ts");
      return await renewedAsClient(place, this.#acting(), { ...this.#request(), stale });
    }
    return stale === undefined ? place.read()?.tokens : await renewed(place, { ...this.#request(), stale });
  }

  /** From now on with a token that no other session has. Nothing changes when nobody is signed in. */
  async takeOwn(): Promise<void> {
    if (!this.#own && !this.#actsAsClient() && !this.#options.place.read()?.tokens) return;
    this.#own = await this.#mint();
    if (this.#own) return;
    const words = "the sign-in to this server cannot be renewed, so there is no token for this session alone";
    throw new AppError("authentication_required", words);
  }

  forgetOwn(): void {
    this.#own = undefined;
  }

  /** Those of a client that acts for itself, which are not kept. */
  async ofClient(given: GivenClient): Promise<Tokens> {
    const { signInOfClient } = await import("./client-token.ts");
    return (await signInOfClient(this.#acting(given), this.#request())).tokens;
  }

  /** The client that is given, or else the configured one, with what is kept of it. */
  clientOf({ id, secret }: GivenClient = {}): LoginRequest["client"] {
    const { config, secret: kept } = this.#options;
    const named = id ?? config.oauthClientId;
    if (named === undefined) return undefined;
    if (secret !== undefined) {
      addKnownValue(secret);
      return { id: named, secretFor: () => secret };
    }
    return { id: named, secretFor: kept?.isKept && named === config.oauthClientId ? kept.for : undefined };
  }

  /** Undefined: none can be had. */
  async #mint(): Promise<Tokens | undefined> {
    return this.#actsAsClient() ? await this.ofClient({}) : await renewed(this.#options.place, this.#request());
  }

  #request() {
    const { config, secret, now } = this.#options;
    const needsSecret = config.oauthPublicClient === false;
    const { metadataUrl } = this;
    return { url: config.url, metadataUrl, needsSecret, secretFor: secret?.for, now, signal: this.#signal };
  }

  /** It needs nobody in front of a browser. */
  #actsAsClient(): boolean {
    const { config, secret } = this.#options;
    return config.oauthGrantType === "client_credentials" && secret?.isKept === true;
  }

  #acting(given: GivenClient = {}) {
    const { id, secretFor } = this.clientOf(given) ?? {};
    if (id !== undefined && secretFor) return { id, secretFor };
    throw new AppError("invalid_params", "client_credentials needs clientId and clientSecret");
  }
}
