/**
 * The client: what a program asks of a runtime, outside of a session.
 *
 * Owns the public interface and connects its parts: runtime-keeper.ts keeps the connection, open-sessions.ts the
 * sessions, and inbound.ts takes what the runtime sends.
 */
import { AppError, type ModelInfo, type SessionEvent } from "@retinue/protocol";
import type { Attached } from "./attached.ts";
import type { Resolved, SubagentInstance } from "./children.ts";
import { RuntimeConnection } from "./connection.ts";
import type { ClientInfo } from "./handshake.ts";
import { deliver, type InboundHost, inbound } from "./inbound.ts";
import type { LaunchOptions } from "./launch.ts";
import {
  filterForWire,
  lifecycleEvent,
  type SessionLifecycleEventType,
  type SessionLifecycleHandler,
  type SessionListFilter,
  type SessionMetadata,
  sessionMetadata,
} from "./lifecycle.ts";
import { OpenSessions } from "./open-sessions.ts";
import type { ReconnectOptions } from "./reconnect.ts";
import { rejoin } from "./rejoin.ts";
import { type Call, type CallResult, type Send, type ServerRpc, serverRpc, typedCall } from "./rpc.ts";
import { type ClientState, RuntimeKeeper } from "./runtime-keeper.ts";
import type { Session } from "./session.ts";
import type { ResumeSessionConfig, SessionConfig } from "./session-config.ts";
import { outlasting } from "./store-outage.ts";

export interface RetinueClientOptions extends LaunchOptions {
  /** Where the runtime is. Default: `RuntimeConnection.forStdio()`, a runtime of our own over standard streams. */
  connection?: RuntimeConnection;
  /** The name and version of your program, for the log of the runtime. Default: none. */
  clientInfo?: ClientInfo;
  /** Takes the place of the runtime's list of models. Default: the runtime is asked. */
  onListModels?: () => ModelInfo[] | Promise<ModelInfo[]>;
  /** Trace context (W3C) that goes along with new sessions. Default: none. */
  onGetTraceContext?: () => TraceContext | Promise<TraceContext>;
  /** Whether and how to come back after a lost connection. Default: over TCP with 5 tries, and not otherwise. */
  reconnect?: boolean | ReconnectOptions;
  /** Called with what a handler or listener of the host throws, when nobody else gets it. Default: the console. */
  onError?: (error: unknown) => void;
}

export interface TraceContext {
  traceparent?: string;
  tracestate?: string;
}

export class RetinueClient implements AsyncDisposable {
  /** Every method of the runtime that is not a session's. */
  readonly rpc: ServerRpc;
  readonly #options: RetinueClientOptions;
  readonly #keeper: RuntimeKeeper;
  readonly #sessions: OpenSessions;
  readonly #lifecycle = new Map<SessionLifecycleHandler, SessionLifecycleEventType | undefined>();
  readonly #call: Call;

  constructor(options: RetinueClientOptions = {}) {
    const { connection = RuntimeConnection.forStdio(), ...launch } = options;
    if (connection.kind === "uri" && (options.gitHubToken !== undefined || options.useLoggedInUser !== undefined)) {
      throw new AppError("not_configured", "a runtime that runs already has its own login: give no token to forUri");
    }
    this.#options = options;
    const send: Send = async (method, params, given) => (await this.#keeper.get()).call(method, params, given);
    this.#call = typedCall(send);
    this.rpc = serverRpc(send);
    const reconnect = reconnectOptions(options.reconnect, connection);
    const onError = (error: unknown) => this.#report(error);
    const version = () => this.#keeper.current?.version ?? 3;
    const hand = (session: Attached, event: SessionEvent) => deliver(host, session, event);
    this.#sessions = new OpenSessions({ send, version, catchesUp: reconnect !== undefined, onError, deliver: hand });
    const host: InboundHost = {
      children: this.#sessions.children,
      gitHubTokens: this.#sessions.gitHubTokens,
      onError,
      answer: (session, ...answer) => this.#answer(session, () => send(...answer)),
      findChildren: (session) => this.#sessions.findChildren(session),
      asksByEvent: () => version() === 3,
      lifecycle: (notice) => this.#onLifecycle(notice),
    };
    this.#keeper = new RuntimeKeeper({
      runtime: { ...launch, connection, dispatch: inbound(host) },
      reconnect,
      gaveUp: (error) => this.#sessions.forgetAll(error),
      rejoin: (runtime, how) => rejoin(runtime, this.#sessions.all(), { ...how, deliver: hand }),
    });
  }

  get state(): ClientState {
    return this.#keeper.state;
  }

  /** The process of a runtime that this client started. */
  get runtimePid(): number | undefined {
    return this.#keeper.current?.pid;
  }

  /** The port on which a runtime that this client started listens. */
  get runtimePort(): number | undefined {
    return this.#keeper.current?.port;
  }

  /** Which session answers for each child session. */
  get childToParent(): ReadonlyMap<string, string> {
    return this.#sessions.children.childToParent;
  }

  /** Which agent runs in each child session. */
  get childToAgent(): ReadonlyMap<string, string> {
    return this.#sessions.children.childToAgent;
  }

  /** Sub-agents that have not ended, by session and by the call that launched them. */
  get subagentInstances(): ReadonlyMap<string, ReadonlyMap<string, SubagentInstance>> {
    return this.#sessions.children.subagentInstances;
  }

  /** The session of this client that answers for an id; throws when there is none. */
  resolveSession(sessionId: string): Resolved<{ readonly sessionId: string }> {
    return this.#sessions.children.resolveSession(sessionId);
  }

  isToolAllowedForChild(childSessionId: string, toolName: string): boolean {
    return this.#sessions.children.isToolAllowedForChild(childSessionId, toolName);
  }

  /** Opens the connection; a call that needs it does so by itself. */
  async start(): Promise<void> {
    await this.#keeper.get();
  }

  /** Leaves all sessions and ends a runtime that this client started. Resolves with what went wrong on the way. */
  async stop(): Promise<Error[]> {
    const runtime = await this.#keeper.take();
    const left = runtime && !runtime.isLost ? await this.#sessions.leaveAll(runtime) : [];
    this.#sessions.forgetAll();
    return [...left, ...((await runtime?.end()) ?? [])];
  }

  /** Ends everything at once, without notifying the runtime. */
  async forceStop(): Promise<void> {
    const runtime = await this.#keeper.take();
    runtime?.kill();
    this.#sessions.forgetAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async createSession(config: SessionConfig = {}): Promise<Session> {
    const sessionId = config.sessionId ?? crypto.randomUUID();
    const extra = (await this.#options.onGetTraceContext?.()) ?? {};
    return this.#sessions.join({ method: "session.create", sessionId, config, extra });
  }

  async resumeSession(sessionId: string, config: ResumeSessionConfig = {}): Promise<Session> {
    const extra = (await this.#options.onGetTraceContext?.()) ?? {};
    return this.#sessions.join({ method: "session.resume", sessionId, config, extra });
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.#sessions.delete(sessionId);
  }

  async listSessions(filter?: SessionListFilter): Promise<SessionMetadata[]> {
    const { sessions } = await this.#call("session.list", filter ? { filter: filterForWire(filter) } : {});
    return sessions.map(sessionMetadata);
  }

  async getSessionMetadata(sessionId: string): Promise<SessionMetadata | undefined> {
    const { session } = await this.#call("session.getMetadata", { sessionId });
    return session && sessionMetadata(session);
  }

  async getLastSessionId(): Promise<string | undefined> {
    return (await this.#call("session.getLastId", {})).sessionId;
  }

  async getForegroundSessionId(): Promise<string | undefined> {
    return (await this.#call("session.getForeground", {})).sessionId;
  }

  async setForegroundSessionId(sessionId: string): Promise<void> {
    const { success, error } = await this.#call("session.setForeground", { sessionId });
    if (!success) throw new AppError("internal", error ?? "the runtime has no terminal");
  }

  ping(message?: string): Promise<CallResult<"ping">> {
    return this.#call("ping", message === undefined ? {} : { message });
  }

  getStatus(): Promise<CallResult<"status.get">> {
    return this.#call("status.get", {});
  }

  getAuthStatus(): Promise<CallResult<"auth.getStatus">> {
    return this.#call("auth.getStatus", {});
  }

  async listModels(): Promise<ModelInfo[]> {
    const { onListModels } = this.#options;
    return onListModels ? onListModels() : (await this.#call("models.list", {})).models;
  }

  /** Calls the handler when a session is created, changed or deleted, by any client. */
  onLifecycle(eventType: SessionLifecycleEventType, handler: SessionLifecycleHandler): () => void;
  onLifecycle(handler: SessionLifecycleHandler): () => void;
  onLifecycle(
    first: SessionLifecycleEventType | SessionLifecycleHandler,
    second?: SessionLifecycleHandler,
  ): () => void {
    const [type, handler] = typeof first === "string" ? [first, second] : [undefined, first];
    // A wrapper for each registration: one handler can be registered twice, and each registration removed alone.
    const listener: SessionLifecycleHandler = (event) => handler?.(event);
    this.#lifecycle.set(listener, type);
    return () => this.#lifecycle.delete(listener);
  }

  #onLifecycle(notice: Record<string, unknown>): void {
    const event = lifecycleEvent(notice);
    if (!event) return;
    for (const [handler, type] of [...this.#lifecycle]) {
      if (type !== undefined && type !== event.type) continue;
      try {
        handler(event);
      } catch (error) {
        this.#report(error);
      }
    }
  }

  /** An answer that was cut off or not recorded is sent again: the runtime takes the first one and refuses the second. */
  async #answer(session: Attached, send: () => Promise<unknown>): Promise<unknown> {
    const { hub } = session;
    if (hub.ended) return undefined;
    try {
      return await outlasting(session, send);
    } catch (error) {
      if (hub.ended) return undefined; // The runtime is gone, and whoever waited for it has the error.
      if (this.state !== "reconnecting") throw error;
      return outlasting(session, send);
    }
  }

  #report(error: unknown): void {
    const { onError } = this.#options;
    if (onError) onError(error);
    else console.error("retinue: a handler failed:", error);
  }
}

function reconnectOptions(
  given: boolean | ReconnectOptions | undefined,
  { kind }: RuntimeConnection,
): ReconnectOptions | undefined {
  const wanted = given ?? (kind === "tcp" || kind === "uri");
  if (wanted === false) return undefined;
  return wanted === true ? {} : wanted;
}
