/**
 * The sign-ins to the MCP servers of one session tree: where they are kept, and which of them the host is asked for.
 *
 * A request lives as long as the session, in memory: its answer is a token, which is for this session alone and never stored.
 */
import { type McpServerConfig, type McpServerStatus, type McpSignInRequest, visible } from "@retinue/protocol";
import { retrySignIns, takeOwnTokens } from "../mcp/by-name.ts";
import type { McpHost } from "../mcp/host.ts";
import type { HostAnswer, HostRequest, ServerSignIn } from "../mcp/oauth/server-sign-in.ts";
import { shellWord } from "../project/shown.ts";
import type { Session } from "../session/session.ts";

export interface ServerSignInsOptions {
  root: Session;
  home: string;
  /** Whether sign-ins are kept in the home folder, where other sessions find them. */
  isPersistent(): boolean;
  /** Whether a client that is attached has registered for these events. */
  isWanted(eventType: string): boolean;
  /** Undefined: there is no server yet. */
  host(): Promise<McpHost | undefined>;
  /** The next prompt waits for servers that start now. */
  onRetry(): void;
}

interface Pending {
  request?: McpSignInRequest;
  settle(answer: HostAnswer): void;
}

export class ServerSignIns {
  readonly #options: ServerSignInsOptions;
  readonly #pending = new Map<string, Pending>();
  /** Servers about which somebody was told what to do. */
  readonly #told = new Set<string>();

  constructor(options: ServerSignInsOptions) {
    this.#options = options;
  }

  /** Undefined for a server that needs none: a process, or one with a key of its own. */
  async of(name: string, config: McpServerConfig): Promise<ServerSignIn | undefined> {
    if ("command" in config) return undefined;
    const [{ ServerSignIn, wantsSignIn }, { placeInHome, placeInMemory }, { secretInHome }] = await Promise.all([
      import("../mcp/oauth/server-sign-in.ts"),
      import("../mcp/oauth/kept-sign-in.ts"),
      import("../mcp/oauth/client-secret.ts"),
    ]);
    if (!wantsSignIn(config)) return undefined;
    const { root, home, isPersistent } = this.#options;
    const server = { name, config };
    const kept = isPersistent()
      ? { place: placeInHome(home, server), secret: secretInHome(home, server) }
      : { place: placeInMemory() };
    return new ServerSignIn({
      ...server,
      ...kept,
      now: () => root.world.now(),
      askHost: (request) => this.#ask(request),
    });
  }

  /** Says once what to do about a server that wants a sign-in, unless a host is asked for it. */
  follow({ serverName, status, error }: { serverName: string; status: McpServerStatus; error?: string }): void {
    const { root, isPersistent } = this.#options;
    if (status === "connected") this.#told.delete(serverName);
    const isFinal = status === "needs-auth" && error !== undefined;
    if (!isFinal || this.#told.has(serverName) || this.#options.isWanted("mcp.oauth_required")) return;
    this.#told.add(serverName);
    const how = isPersistent() ? `retinue mcp login ${shellWord(serverName)}` : "session.mcp.oauth.login in a program";
    const message = `The MCP server ${visible(serverName)} wants you to sign in. To do so: ${how}`;
    root.announce("session.warning", { warningType: "server_sign_in", message });
  }

  /** A client wants to be asked from now on: about what is open, and about servers that were refused before it came. */
  async offer(): Promise<void> {
    for (const { request } of this.#pending.values()) if (request) this.#announce(request);
    const host = await this.#options.host();
    if (!host) return;
    void retrySignIns(host);
    this.#options.onRetry();
  }

  /**
   * Somebody has signed in to this server, or to one of them: those that want it are tried again. With a token that no other session has, if
   * that is wanted.
   */
  async signedIn(serverName?: string, { isOwnToken = false } = {}): Promise<void> {
    const host = await this.#options.host();
    if (host && isOwnToken) await takeOwnTokens(host, serverName);
    for (const [requestId, { request }] of this.#pending) {
      if (serverName === undefined || request?.serverName === serverName) this.respond(requestId);
    }
    if (host) await retrySignIns(host, serverName);
  }

  /** False: there is no such request any more. */
  answer(requestId: string, answer: HostAnswer): boolean {
    const pending = this.#pending.get(requestId);
    if (!pending) return false;
    this.#pending.delete(requestId);
    this.#options.root.announce("mcp.oauth_completed", {
      requestId,
      outcome: answer.kind === "cancelled" ? "cancelled" : "token",
    });
    pending.settle(answer);
    return true;
  }

  /** Somebody has signed in elsewhere. */
  respond(requestId: string): boolean {
    return this.answer(requestId, { kind: "elsewhere" });
  }

  close(): void {
    for (const requestId of [...this.#pending.keys()]) this.answer(requestId, { kind: "cancelled" });
  }

  #ask(makeRequest: () => Promise<HostRequest>): Promise<HostAnswer> | undefined {
    const { root, isWanted } = this.#options;
    if (!isWanted("mcp.oauth_required")) return undefined;
    const requestId = root.world.newId();
    return new Promise((settle, reject) => {
      const pending: Pending = { settle };
      this.#pending.set(requestId, pending);
      makeRequest().then((request) => {
        if (!this.#pending.has(requestId)) return;
        pending.request = { ...request, requestId };
        this.#announce(pending.request);
      }, reject);
    });
  }

  #announce(request: McpSignInRequest): void {
    this.#options.root.announce("mcp.oauth_required", request);
  }
}
