/**
 * The sign-ins to the MCP servers of one session tree: where they are kept, and which of them the host is asked for.
 *
 * A request lives as long as the session, in memory: its answer is a token, which is for this session alone and never stored.
 */
import type { McpServerConfig, McpSignInRequest, McpTokenAnswer } from "@retinue/protocol";
import { retrySignIns } from "../mcp/by-name.ts";
import type { McpHost } from "../mcp/host.ts";
import type { HostRequest, ServerSignIn } from "../mcp/oauth/server-sign-in.ts";
import type { Session } from "../session/session.ts";
import { hasInterest } from "./interests.ts";

export interface ServerSignInsOptions {
  root: Session;
  home: string;
  /** Whether sign-ins are kept in the home folder, where other sessions find them. */
  isPersistent(): boolean;
  hasClients(): boolean;
  /** Undefined: there is no server yet. */
  host(): Promise<McpHost | undefined>;
}

interface Pending {
  request?: McpSignInRequest;
  settle(answer: McpTokenAnswer): void;
}

export class ServerSignIns {
  readonly #options: ServerSignInsOptions;
  readonly #pending = new Map<string, Pending>();

  constructor(options: ServerSignInsOptions) {
    this.#options = options;
  }

  /** Undefined for a server that needs none: a process, or one with a key of its own. */
  async of(name: string, config: McpServerConfig): Promise<ServerSignIn | undefined> {
    if ("command" in config) return undefined;
    const [{ ServerSignIn, wantsSignIn }, { placeInHome, placeInMemory }] = await Promise.all([
      import("../mcp/oauth/server-sign-in.ts"),
      import("../mcp/oauth/kept-sign-in.ts"),
    ]);
    if (!wantsSignIn(config)) return undefined;
    const { root, home, isPersistent } = this.#options;
    return new ServerSignIn({
      name,
      config,
      place: isPersistent() ? placeInHome(home, { name, config }) : placeInMemory(),
      now: () => root.world.now(),
      askHost: (request) => this.#ask(request),
    });
  }

  /** A client wants to be asked from now on: about what is open, and about servers that were refused before it came. */
  offer(): void {
    for (const { request } of this.#pending.values()) if (request) this.#announce(request);
    void this.retry();
  }

  /** Tries servers again that want a sign-in: this one, or all. */
  async retry(serverName?: string): Promise<void> {
    const host = await this.#options.host();
    if (host) await retrySignIns(host, serverName);
  }

  /** False: there is no such request any more. */
  answer(requestId: string, answer: McpTokenAnswer): boolean {
    const pending = this.#pending.get(requestId);
    if (!pending) return false;
    this.#pending.delete(requestId);
    this.#options.root.announce("mcp.oauth_completed", {
      requestId,
      outcome: answer.kind === "token" ? "token" : "cancelled",
    });
    pending.settle(answer);
    return true;
  }

  /** Somebody has signed in elsewhere. */
  respond(requestId: string): boolean {
    const serverName = this.#pending.get(requestId)?.request?.serverName;
    const isOpen = this.answer(requestId, { kind: "cancelled" });
    if (isOpen) void this.retry(serverName);
    return isOpen;
  }

  close(): void {
    for (const requestId of [...this.#pending.keys()]) this.answer(requestId, { kind: "cancelled" });
  }

  #ask(makeRequest: () => Promise<HostRequest>): Promise<McpTokenAnswer> | undefined {
    const { root, hasClients } = this.#options;
    if (!hasClients() || !hasInterest(root, "mcp.oauth_required")) return undefined;
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
