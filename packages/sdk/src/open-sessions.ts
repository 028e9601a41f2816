/**
 * The sessions that a client has open: joined, left, deleted, forgotten.
 *
 * Owns the table of sessions and, with it, the maps of their child sessions. Both change together.
 */
import { AppError, type SessionEvent } from "@retinue/protocol";
import { type Attached, attach, release } from "./attached.ts";
import { Children } from "./children.ts";
import { EventHub } from "./event-hub.ts";
import { isUnknownMethod, type ProtocolVersion } from "./handshake.ts";
import { readHistory } from "./history.ts";
import { registerForTokens } from "./mcp-auth.ts";
import type { GitHubTokenProvider } from "./providers.ts";
import { markTail } from "./reconnect.ts";
import { type Call, type Send, typedCall } from "./rpc.ts";
import type { Runtime } from "./runtime.ts";
import { Session } from "./session.ts";
import { configForWire, type ResumeSessionConfig, type SessionConfig } from "./session-config.ts";
import { outlasting } from "./store-outage.ts";

const LEAVE_TRIES = 3;

export interface OpenSessionsOptions {
  send: Send;
  version(): ProtocolVersion;
  /** Whether missed events are read after a lost connection. */
  catchesUp: boolean;
  deliver(session: Attached, event: SessionEvent): void;
  onError(error: unknown): void;
}

export interface Joining {
  method: "session.create" | "session.resume";
  sessionId: string;
  config: SessionConfig & ResumeSessionConfig;
  /** Parameters besides those of the config. */
  extra: object;
}

export class OpenSessions {
  readonly #sessions = new Map<string, Attached>();
  readonly children = new Children<Attached>(this.#sessions);
  readonly gitHubTokens = new Map<string, GitHubTokenProvider>();
  readonly #options: OpenSessionsOptions;
  readonly #call: Call;

  constructor(options: OpenSessionsOptions) {
    this.#options = options;
    this.#call = typedCall(options.send);
  }

  all(): Attached[] {
    return [...this.#sessions.values()];
  }

  /** The session can answer before it is opened: the runtime may ask before it responds. */
  async join({ method, sessionId, config, extra }: Joining): Promise<Session> {
    const wanted = this.#attach(sessionId, config, method === "session.resume");
    const replaced = this.#sessions.get(sessionId);
    this.#sessions.set(sessionId, wanted);
    try {
      const params = { ...configForWire(config), ...this.#registerToken(config), ...extra, sessionId };
      const opened = await this.#call(method, params);
      const attached = opened.sessionId === sessionId ? wanted : this.#rename(wanted, opened.sessionId);
      if (this.#options.version() !== 2) await registerForTokens(this.#call, attached);
      if (replaced) release(replaced, new AppError("cancelled", "the session was opened again by this client"));
      if (attached.isResumed) await this.#catchUp(attached);
      // A runtime opens a stored session for a `session.create` with its id.
      else if (config.sessionId !== undefined && !attached.tree.hasBeginning) await this.#loadTree(attached);
      const send: Send = (...given) => this.#sendIn(attached, ...given);
      return new Session({ attached, opened, send, leave: (how) => this.#leave(attached, how) });
    } catch (error) {
      if (replaced) this.#sessions.set(sessionId, replaced);
      else this.#sessions.delete(sessionId);
      throw method === "session.resume" ? notFound(error) : error;
    }
  }

  /** While a session is being deleted it no longer answers, and its children have no parent. */
  async delete(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    try {
      const { success, error } = await this.#call("session.delete", { sessionId });
      if (!success) throw new AppError("session_not_found", error ?? `session ${sessionId} could not be deleted`);
    } catch (error) {
      if (session) this.#sessions.set(sessionId, session);
      throw error;
    }
    this.children.forget(sessionId);
    if (session) release(session);
  }

  /** Leaves every session at a runtime that is about to end; what went wrong is returned. */
  async leaveAll(runtime: Runtime): Promise<Error[]> {
    const failures: Error[] = [];
    for (const { sessionId } of this.all()) failures.push(...(await tryLeave(runtime, sessionId)));
    return failures;
  }

  forgetAll(error?: Error): void {
    for (const session of this.all()) this.#drop(session, error);
    this.children.clear();
    this.gitHubTokens.clear();
  }

  /** Sub-agents that started before this client joined: the runtime's list of tasks knows them. */
  async findChildren(session: Attached): Promise<void> {
    const { sessionId, isResumed } = session;
    if (!isResumed) return;
    try {
      const { tasks } = await outlasting(session, () => this.#call("session.tasks.list", { sessionId }));
      for (const task of tasks) {
        if (task.type !== "agent") continue;
        const { id: childSessionId, toolCallId, agentType: agentName } = task;
        const startedAt = new Date(task.startedAt);
        this.children.register(sessionId, { agentName, toolCallId, childSessionId, startedAt });
      }
    } catch (error) {
      if (!isUnknownMethod(error)) throw error;
    }
  }

  #attach(sessionId: string, config: SessionConfig, isResumed: boolean): Attached {
    const hub = new EventHub(this.#options.onError);
    if (config.onEvent) hub.listen(config.onEvent);
    return attach(sessionId, config, { hub, isResumed });
  }

  /** A program that joins sees the tree as it is, and hears what comes from now on once it can listen. */
  async #catchUp(attached: Attached): Promise<void> {
    const { sessionId, received } = attached;
    received.join();
    try {
      await this.#loadTree(attached);
      if (this.#options.catchesUp) await markTail(this.#call, sessionId, received);
    } finally {
      setTimeout(() => this.#deliverEarly(attached), 0);
    }
  }

  async #loadTree({ sessionId, received, activity, tree, hub }: Attached): Promise<void> {
    const read = async () => {
      const history = await readHistory(this.#call, sessionId, () => activity.isBusy);
      activity.join(history.isActive);
      return history;
    };
    try {
      await tree.load(read, () => received.early);
    } catch (error) {
      if (hub.ended || (error instanceof AppError && error.code === "connection_closed")) throw error;
      this.#options.onError(error); // The session is open; only its past is not known.
    }
  }

  /** What came while the session was joined; by now the program has it. */
  #deliverEarly(attached: Attached): void {
    const { received, hub } = attached;
    for (const event of received.joined()) if (!hub.ended) this.#options.deliver(attached, event);
  }

  #registerToken({ gitHubTokenProvider }: SessionConfig): object {
    if (!gitHubTokenProvider) return {};
    const gitHubTokenProviderRegistrationId = crypto.randomUUID();
    this.gitHubTokens.set(gitHubTokenProviderRegistrationId, gitHubTokenProvider);
    return { gitHubTokenProviderRegistrationId };
  }

  /** Only servers of protocol 2 choose the id themselves. */
  #rename(attached: Attached, sessionId: string): Attached {
    if (this.#options.version() !== 2) {
      const asked = attached.sessionId;
      throw new AppError("session_invalid", `the runtime opened ${sessionId} where ${asked} was asked for`);
    }
    const renamed = { ...attached, sessionId };
    this.#sessions.delete(attached.sessionId);
    this.#sessions.set(sessionId, renamed);
    return renamed;
  }

  /** A session that was left stays left: its calls do not start a new runtime. */
  async #sendIn(attached: Attached, ...call: Parameters<Send>): Promise<unknown> {
    const { ended } = attached.hub;
    if (ended) throw ended;
    try {
      return await this.#options.send(...call);
    } finally {
      this.#deliverEarly(attached); // An answer does not overtake the events that came before it.
    }
  }

  async #leave(session: Attached, how: "detach" | "destroy"): Promise<void> {
    const { sessionId, hub } = session;
    if (hub.ended) return;
    await this.#call(this.#options.version() === 2 ? "session.destroy" : `session.${how}`, { sessionId });
    this.#drop(session);
  }

  #drop(session: Attached, error?: Error): void {
    if (this.#sessions.get(session.sessionId) === session) this.#sessions.delete(session.sessionId);
    const running = this.children.forget(session.sessionId);
    release(session, error);
    try {
      session.config.onCleanup?.(running);
    } catch (failure) {
      this.#options.onError(failure);
    }
  }
}

/** Runtimes that send no words for their errors say it in the text. */
function notFound(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "internal" || !/session not found/i.test(error.message))
    return error;
  return new AppError("session_not_found", error.message, { cause: error, data: error.data });
}

async function tryLeave(runtime: Runtime, sessionId: string): Promise<Error[]> {
  const method = runtime.version === 2 ? "session.destroy" : "session.detach";
  let failure: Error | undefined;
  for (let tried = 0; tried < LEAVE_TRIES && !runtime.isLost; tried += 1) {
    try {
      await runtime.call(method, { sessionId });
      return [];
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    }
  }
  return failure ? [failure] : [];
}
