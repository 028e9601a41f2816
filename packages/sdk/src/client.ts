/**
 * The client: one runtime, its sessions, and what the runtime can be asked outside of a session.
 *
 * Owns the life of the connection and the table of sessions. How to reach a runtime is in connection.ts and runtime.ts,
 * who answers for child sessions in children.ts, what is missed while a connection is down in reconnect.ts.
 */
import { AppError, type ModelInfo } from "@retinue/protocol";
import { type Attached, attach, release } from "./attached.ts";
import { Children, type Resolved, type SubagentInstance } from "./children.ts";
import { RuntimeConnection } from "./connection.ts";
import { EventHub } from "./event-hub.ts";
import { type ClientInfo, isUnknownMethod } from "./handshake.ts";
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
import type { GitHubTokenProvider } from "./providers.ts";
import { hearTail, type ReconnectOptions } from "./reconnect.ts";
import { rejoin } from "./rejoin.ts";
import { type Call, type CallResult, type Send, type ServerRpc, serverRpc, typedCall } from "./rpc.ts";
import { Runtime } from "./runtime.ts";
import { Session } from "./session.ts";
import { configForWire, type ResumeSessionConfig, type SessionConfig } from "./session-config.ts";

export interface RetinueClientOptions extends LaunchOptions {
  /** Default: a runtime of our own over standard streams. */
  connection?: RuntimeConnection;
  clientInfo?: ClientInfo;
  /** Takes the place of the runtime's list of models. */
  onListModels?: () => ModelInfo[] | Promise<ModelInfo[]>;
  /** Trace context that goes along with new sessions. */
  onGetTraceContext?: () => TraceContext | Promise<TraceContext>;
  /** Whether and how to come back after a lost connection. Default: yes over TCP, no otherwise. */
  reconnect?: boolean | ReconnectOptions;
  /** Hears what a handler or listener of the host throws, where nobody else does. Default: the console. */
  onError?: (error: unknown) => void;
}

export interface TraceContext {
  traceparent?: string;
  tracestate?: string;
}

export type ClientState = "disconnected" | "connecting" | "connected" | "reconnecting";

const LEAVE_TRIES = 3;

export class RetinueClient implements AsyncDisposable {
  readonly #options: RetinueClientOptions;
  readonly #connection: RuntimeConnection;
  readonly #sessions = new Map<string, Attached>();
  readonly #children = new Children<Attached>(this.#sessions);
  readonly #gitHubTokens = new Map<string, GitHubTokenProvider>();
  readonly #lifecycle = new Map<SessionLifecycleHandler, SessionLifecycleEventType | undefined>();
  readonly #host: InboundHost;
  /** The runtime, once it is open; while a lost one is opened again, that. */
  #runtime: Promise<Runtime> | undefined;
  #state: ClientState = "disconnected";
  #stop = new AbortController();
  readonly #call: Call;
  /** Every method of the runtime that is not a session's. */
  readonly rpc: ServerRpc;

  constructor(options: RetinueClientOptions = {}) {
    this.#options = options;
    this.#connection = options.connection ?? RuntimeConnection.forStdio();
    if (
      this.#connection.kind === "uri" &&
      (options.gitHubToken !== undefined || options.useLoggedInUser !== undefined)
    ) {
      throw new AppError(
        "not_configured",
        "a runtime that runs already has its own login: give no gitHubToken to forUri",
      );
    }
    const send = (method: string, params: object, call?: { signal?: AbortSignal }) => this.#send(method, params, call);
    this.#call = typedCall(send);
    this.rpc = serverRpc(send);
    this.#host = {
      children: this.#children,
      gitHubTokens: this.#gitHubTokens,
      onError: (error) => this.#report(error),
      answer: (method, params) => this.#answer(method, params),
      findChildren: (session) => this.#findChildren(session),
      asksByEvent: () => this.#version === 3,
      lifecycle: (notice) => this.#onLifecycle(notice),
    };
  }

  #opened: Runtime | undefined;

  get state(): ClientState {
    return this.#state;
  }

  /** The process of a runtime that this client started. */
  get runtimePid(): number | undefined {
    return this.#opened?.pid;
  }

  /** The port on which a runtime that this client started listens. */
  get runtimePort(): number | undefined {
    return this.#opened?.port;
  }

  /** Which session answers for each child session. */
  get childToParent(): ReadonlyMap<string, string> {
    return this.#children.childToParent;
  }

  /** Which agent runs in each child session. */
  get childToAgent(): ReadonlyMap<string, string> {
    return this.#children.childToAgent;
  }

  /** Sub-agents that have not ended, by session and by the call that launched them. */
  get subagentInstances(): ReadonlyMap<string, ReadonlyMap<string, SubagentInstance>> {
    return this.#children.subagentInstances;
  }

  /** The session of this client that answers for an id; throws when there is none. */
  resolveSession(sessionId: string): Resolved<{ readonly sessionId: string }> {
    return this.#children.resolveSession(sessionId);
  }

  isToolAllowedForChild(childSessionId: string, toolName: string): boolean {
    return this.#children.isToolAllowedForChild(childSessionId, toolName);
  }

  /** Opens the connection; a call that needs it does so by itself. */
  async start(): Promise<void> {
    await this.#open();
  }

  /** Leaves all sessions and ends a runtime that this client started. Resolves with what went wrong on the way. */
  async stop(): Promise<Error[]> {
    this.#stop.abort();
    const runtime = await this.#takeRuntime();
    const failures: Error[] = [];
    if (runtime && !runtime.isLost) {
      for (const session of this.#sessions.values()) failures.push(...(await this.#tryLeave(runtime, session)));
    }
    this.#forgetAll();
    if (runtime) failures.push(...(await runtime.end()));
    this.#state = "disconnected";
    return failures;
  }

  /** Ends everything at once, without a word to the runtime. */
  async forceStop(): Promise<void> {
    this.#stop.abort();
    const runtime = await this.#takeRuntime();
    runtime?.kill();
    this.#forgetAll();
    this.#state = "disconnected";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async createSession(config: SessionConfig = {}): Promise<Session> {
    const sessionId = config.sessionId ?? crypto.randomUUID();
    return this.#join("session.create", config, this.#attach(sessionId, config, false));
  }

  async resumeSession(sessionId: string, config: ResumeSessionConfig = {}): Promise<Session> {
    return this.#join("session.resume", config, this.#attach(sessionId, config, true));
  }

  async deleteSession(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    try {
      const { success, error } = await this.#call("session.delete", { sessionId });
      if (!success) throw new AppError("session_not_found", error ?? `session ${sessionId} could not be deleted`);
    } catch (error) {
      if (session) this.#sessions.set(sessionId, session);
      throw error;
    }
    this.#children.forget(sessionId);
    if (session) release(session);
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

  /** Hears of sessions that are created, changed or deleted, whoever does it. */
  onLifecycle(eventType: SessionLifecycleEventType, handler: SessionLifecycleHandler): () => void;
  onLifecycle(handler: SessionLifecycleHandler): () => void;
  onLifecycle(
    first: SessionLifecycleEventType | SessionLifecycleHandler,
    second?: SessionLifecycleHandler,
  ): () => void {
    const [type, handler] = typeof first === "string" ? [first, second] : [undefined, first];
    // A wrapper of its own, so that one handler can be registered twice and each registration be taken back alone.
    const listener: SessionLifecycleHandler = (event) => handler?.(event);
    this.#lifecycle.set(listener, type);
    return () => this.#lifecycle.delete(listener);
  }

  get #version(): 2 | 3 {
    return this.#opened?.version ?? 3;
  }

  #open(): Promise<Runtime> {
    if (this.#runtime) return this.#runtime;
    this.#stop = new AbortController();
    this.#state = "connecting";
    const opening = Runtime.open({
      ...this.#options,
      connection: this.#connection,
      dispatch: inbound(this.#host),
      lost: (error) => this.#onLost(error),
    });
    this.#runtime = opening.then(
      (runtime) => {
        this.#opened = runtime;
        this.#state = "connected";
        return runtime;
      },
      (error: unknown) => {
        this.#runtime = undefined;
        this.#state = "disconnected";
        throw error;
      },
    );
    return this.#runtime;
  }

  async #send(method: string, params: object, options?: { signal?: AbortSignal }): Promise<unknown> {
    return (await this.#open()).call(method, params, options);
  }

  /** A session that was left stays left: its calls do not start a runtime anew. */
  async #sendIn({ hub }: Attached, ...call: Parameters<Send>): Promise<unknown> {
    if (hub.ended) throw hub.ended;
    return this.#send(...call);
  }

  /** An answer that was cut off is sent again: the runtime takes the first and says so to the second. */
  async #answer(method: string, params: object): Promise<unknown> {
    try {
      return await this.#send(method, params);
    } catch (error) {
      if (this.#state !== "reconnecting") throw error;
      return this.#send(method, params);
    }
  }

  #attach(sessionId: string, config: SessionConfig, isResumed: boolean): Attached {
    const hub = new EventHub((error) => this.#report(error));
    if (config.onEvent) hub.listen(config.onEvent);
    return attach(sessionId, config, { hub, isResumed });
  }

  /** The session answers from the moment it is asked for: the runtime may ask before it answers. */
  async #join(method: "session.create" | "session.resume", config: SessionConfig, wanted: Attached): Promise<Session> {
    const replaced = this.#sessions.get(wanted.sessionId);
    const params = { ...configForWire(config), ...(await this.#extras(config)), sessionId: wanted.sessionId };
    this.#sessions.set(wanted.sessionId, wanted);
    try {
      const opened = await this.#call(method, params);
      const attached = opened.sessionId === wanted.sessionId ? wanted : this.#rename(wanted, opened.sessionId);
      if (replaced) release(replaced, new AppError("cancelled", "the session was opened again by this client"));
      if (attached.isResumed && this.#reconnects) await hearTail(this.#call, attached.sessionId, attached.heard);
      return new Session({
        attached,
        opened,
        send: (name, given, options) => this.#sendIn(attached, name, given, options),
        leave: (how) => this.#leave(attached, how),
      });
    } catch (error) {
      if (replaced) this.#sessions.set(wanted.sessionId, replaced);
      else this.#sessions.delete(wanted.sessionId);
      throw error;
    }
  }

  async #extras({ gitHubTokenProvider }: SessionConfig): Promise<object> {
    const trace = (await this.#options.onGetTraceContext?.()) ?? {};
    if (!gitHubTokenProvider) return trace;
    const registration = crypto.randomUUID();
    this.#gitHubTokens.set(registration, gitHubTokenProvider);
    return { ...trace, gitHubTokenProviderRegistrationId: registration };
  }

  /** Only servers of protocol 2 choose the id themselves. */
  #rename(attached: Attached, sessionId: string): Attached {
    if (this.#version !== 2) {
      throw new AppError(
        "session_invalid",
        `the runtime opened ${sessionId} where ${attached.sessionId} was asked for`,
      );
    }
    const renamed = { ...attached, sessionId };
    this.#sessions.delete(attached.sessionId);
    this.#sessions.set(sessionId, renamed);
    return renamed;
  }

  async #leave(session: Attached, how: "detach" | "destroy"): Promise<void> {
    const { sessionId, hub } = session;
    if (hub.ended) return;
    await this.#call(this.#version === 2 ? "session.destroy" : `session.${how}`, { sessionId });
    this.#drop(session);
  }

  async #tryLeave(runtime: Runtime, session: Attached): Promise<Error[]> {
    const method = runtime.version === 2 ? "session.destroy" : "session.detach";
    let failure: Error | undefined;
    for (let tried = 0; tried < LEAVE_TRIES && !runtime.isLost; tried += 1) {
      try {
        await runtime.call(method, { sessionId: session.sessionId });
        return [];
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
      }
    }
    return failure ? [failure] : [];
  }

  #drop(session: Attached, error?: Error): void {
    if (this.#sessions.get(session.sessionId) === session) this.#sessions.delete(session.sessionId);
    const running = this.#children.forget(session.sessionId);
    release(session, error);
    try {
      session.config.onCleanup?.(running);
    } catch (failure) {
      this.#report(failure);
    }
  }

  #forgetAll(error?: Error): void {
    for (const session of [...this.#sessions.values()]) this.#drop(session, error);
    this.#children.clear();
    this.#gitHubTokens.clear();
  }

  async #takeRuntime(): Promise<Runtime | undefined> {
    const runtime = this.#runtime;
    this.#runtime = undefined;
    // A runtime that could not be opened, or reopened, has told whoever asked for it.
    return runtime?.catch(() => undefined);
  }

  get #reconnects(): ReconnectOptions | undefined {
    const { reconnect = this.#connection.kind === "tcp" || this.#connection.kind === "uri" } = this.#options;
    if (reconnect === false) return undefined;
    return reconnect === true ? {} : reconnect;
  }

  #onLost(error: AppError): void {
    const options = this.#reconnects;
    const before = this.#runtime;
    if (!options || !before || this.#state !== "connected") {
      if (this.#state === "connected") this.#giveUp(error);
      return;
    }
    this.#state = "reconnecting";
    const again = before.then(async (runtime) => {
      await rejoin(runtime, [...this.#sessions.values()], {
        options,
        signal: this.#stop.signal,
        lost: error,
        deliver: (session, event) => deliver(this.#host, session, event),
      });
      this.#state = "connected";
      return runtime;
    });
    this.#runtime = again;
    again.catch(() => {
      if (this.#runtime === again) this.#giveUp(error);
    });
  }

  #giveUp(error: AppError): void {
    this.#runtime = undefined;
    this.#state = "disconnected";
    this.#forgetAll(error);
  }

  /** Sub-agents that started before this client joined: the runtime's list of tasks knows them. */
  async #findChildren({ sessionId, isResumed }: Attached): Promise<void> {
    if (!isResumed) return;
    try {
      const { tasks } = await this.#call("session.tasks.list", { sessionId });
      for (const task of tasks) {
        if (task.type !== "agent") continue;
        const { id: childSessionId, toolCallId, agentType: agentName } = task;
        const startedAt = new Date(task.startedAt);
        this.#children.register(sessionId, { agentName, toolCallId, childSessionId, startedAt });
      }
    } catch (error) {
      if (!isUnknownMethod(error)) throw error;
    }
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

  #report(error: unknown): void {
    const { onError } = this.#options;
    if (onError) onError(error);
    else console.error("retinue: a handler failed:", error);
  }
}
