/**
 * A fake runtime for tests: it has no model and no tools, speaks protocol 2 or 3, and does what the test says.
 *
 * Owns the server side of a connection in memory. Everything a client sends is kept in `received`; everything a runtime
 * can ask of a client is a method here, the same for both versions.
 */
import { AppError, type EventData, type EventType, linkedTransports, Peer, type SessionEvent } from "@retinue/protocol";
import { RuntimeConnection } from "../connection.ts";
import type { TransportRuntimeConnection } from "../link.ts";
import { isRecord } from "../questions.ts";
import { type EmitOptions, FakeSession } from "./fake-session.ts";

type Params = Record<string, unknown>;
/** What a fake runtime answers to a method. Throw to answer with an error. */
export type FakeHandler = (params: Params) => unknown;
/** What happens after a prompt. Emit events; `session.idle` ends the wait of `sendAndWait`. */
export type FakeTurn = (turn: { sessionId: string; prompt: string; messageId: string }) => unknown;

export interface FakeRuntimeOptions {
  protocol?: 2 | 3;
  turn?: FakeTurn;
}

export interface FakeSubagent {
  readonly sessionId: string;
  readonly childSessionId: string;
  readonly toolCallId: string;
  readonly agentName: string;
}

export interface FakeToolCall {
  toolName: string;
  arguments?: unknown;
  toolCallId?: string;
  /** The call is a sub-agent's. */
  from?: { readonly sessionId: string; readonly childSessionId: string };
}

export class FakeRuntime {
  readonly protocol: 2 | 3;
  /** All requests of clients, in order. */
  readonly received: { method: string; params: Params }[] = [];
  readonly sessions = new Map<string, FakeSession>();
  readonly #handlers = new Map<string, FakeHandler>();
  readonly #peers = new Set<Peer>();
  readonly #answers = new Map<string, (answer: Params) => void>();
  readonly #turn: FakeTurn;
  #isDown = false;

  constructor({ protocol = 3, turn }: FakeRuntimeOptions = {}) {
    this.protocol = protocol;
    this.#turn = turn ?? (({ sessionId, prompt }) => this.say(sessionId, `You said: ${prompt}`));
  }

  /** How a client reaches this runtime. */
  connection(): TransportRuntimeConnection {
    return RuntimeConnection.forTransport(() => {
      if (this.#isDown) throw new AppError("connection_closed", "the fake runtime is down");
      const [client, server] = linkedTransports();
      const peer: Peer = new Peer(server, {
        request: (method, params) => this.#answer(method, isRecord(params) ? params : {}),
        closed: () => this.#peers.delete(peer),
      });
      this.#peers.add(peer);
      return client;
    });
  }

  /** Answers a method in the test's own way. */
  handle(method: string, handler: FakeHandler): this {
    this.#handlers.set(method, handler);
    return this;
  }

  /** Sends an event to every client, and stores it where a runtime would. */
  emit<Type extends EventType>(
    sessionId: string,
    type: Type,
    data: EventData<Type>,
    options?: EmitOptions,
  ): SessionEvent {
    const event = this.session(sessionId).event(type, data, options);
    this.send(sessionId, event);
    return event;
  }

  /** Sends a made event as it is. */
  send(sessionId: string, event: unknown): void {
    for (const peer of this.#peers) peer.notify("session.event", { sessionId, event });
  }

  notify(method: string, params: Params): void {
    for (const peer of this.#peers) peer.notify(method, params);
  }

  /** A whole answer of the main agent. */
  say(sessionId: string, content: string): void {
    this.emit(sessionId, "assistant.message", { content, messageId: crypto.randomUUID() });
    this.emit(sessionId, "session.idle", {});
  }

  startSubagent(
    sessionId: string,
    { agentName, childSessionId = crypto.randomUUID(), toolCallId = crypto.randomUUID(), parentId }: StartSubagent,
  ): FakeSubagent {
    const data = {
      toolCallId,
      agentName,
      agentDisplayName: agentName,
      agentDescription: "",
      remoteSessionId: childSessionId,
    };
    const nested = parentId === undefined ? {} : { parentId };
    this.emit(sessionId, "subagent.started", { ...data, ...nested }, { agentId: childSessionId });
    return { sessionId, childSessionId, toolCallId, agentName };
  }

  endSubagent({ sessionId, childSessionId, toolCallId, agentName }: FakeSubagent, error?: string): void {
    const data = { toolCallId, agentName, agentDisplayName: agentName };
    const options = { agentId: childSessionId };
    if (error === undefined) this.emit(sessionId, "subagent.completed", data, options);
    else this.emit(sessionId, "subagent.failed", { ...data, error }, options);
  }

  /** Has the client run a host tool; resolves with its answer, `{ result }` or `{ error }`. */
  async callTool(
    sessionId: string,
    { toolName, from, toolCallId = crypto.randomUUID(), ...call }: FakeToolCall,
  ): Promise<Params> {
    const caller = from?.childSessionId ?? sessionId;
    const params = { toolName, toolCallId, arguments: call.arguments ?? {}, sessionId: caller };
    if (this.protocol === 2) return this.request("tool.call", params);
    return this.#ask((requestId) => this.emit(sessionId, "external_tool.requested", { requestId, ...params }));
  }

  /** Asks for permission; resolves with the decision. */
  async askPermission(sessionId: string, request: Params, from?: { childSessionId: string }): Promise<Params> {
    if (this.protocol === 2) {
      const params = { sessionId: from?.childSessionId ?? sessionId, permissionRequest: request };
      return this.request("permission.request", params);
    }
    const agent = from ? { agentId: from.childSessionId } : {};
    return this.#ask((requestId) => {
      const data = { requestId, permissionRequest: request, ...agent };
      this.emit(sessionId, "permission.requested", data as EventData<"permission.requested">);
    });
  }

  /** Sends an event that wants an answer by a `handlePending…` call, and waits for that. */
  async #ask(emit: (requestId: string) => unknown): Promise<Params> {
    const requestId = crypto.randomUUID();
    return new Promise((resolve) => {
      this.#answers.set(requestId, resolve);
      emit(requestId);
    });
  }

  /** The same for any event: `emit` gets the request id. */
  ask(emit: (requestId: string) => unknown): Promise<Params> {
    return this.#ask(emit);
  }

  invokeHook(sessionId: string, hookType: string, input: Params = {}): Promise<Params> {
    return this.request("hooks.invoke", {
      sessionId,
      hookType,
      input: { sessionId, timestamp: 0, cwd: "/", ...input },
    });
  }

  askUser(sessionId: string, question: string): Promise<Params> {
    return this.request("userInput.request", { sessionId, question, allowFreeform: true });
  }

  /** A request to the client that connected first. */
  async request(method: string, params: Params): Promise<Params> {
    const [peer] = this.#peers;
    if (!peer) throw new AppError("connection_closed", "no client is connected");
    const answer = await peer.request(method, params);
    return isRecord(answer) ? answer : {};
  }

  /** Cuts all connections; clients may come back. */
  drop(): void {
    for (const peer of [...this.#peers]) peer.close();
  }

  /** Cuts all connections for good. */
  crash(): void {
    this.#isDown = true;
    this.drop();
  }

  session(sessionId: string): FakeSession {
    const session = this.sessions.get(sessionId) ?? new FakeSession(sessionId);
    this.sessions.set(sessionId, session);
    return session;
  }

  /** Parameters of the last call of a method. */
  lastCall(method: string): Params | undefined {
    return this.received.findLast((request) => request.method === method)?.params;
  }

  #answer(method: string, params: Params): Promise<unknown> | undefined {
    this.received.push({ method, params });
    const handler = this.#handlers.get(method) ?? this.#builtIn(method);
    return handler && Promise.resolve().then(() => handler(params));
  }

  #builtIn(method: string): FakeHandler | undefined {
    const protocolVersion = this.protocol;
    if (method === "connect")
      return protocolVersion === 3 ? () => ({ ok: true, protocolVersion, version: "fake" }) : undefined;
    if (/^session\..*\.handlePending|^session\.tools\.handlePending/.test(method))
      return (params) => this.#settle(params);
    const table: Record<string, FakeHandler> = {
      ping: ({ message }) => ({
        message: message ? `pong: ${String(message)}` : "pong",
        timestamp: "",
        protocolVersion,
      }),
      "status.get": () => ({ version: "fake", protocolVersion }),
      "runtime.shutdown": () => null,
      "session.create": ({ sessionId }) => this.#open(sessionId),
      "session.resume": ({ sessionId }) => this.#open(sessionId),
      "session.send": (params) => this.#prompt(params),
      "session.detach": () => ({ success: true }),
      "session.destroy": () => ({ success: true }),
      "session.delete": ({ sessionId }) => ({ success: this.sessions.delete(String(sessionId)) }),
      "session.abort": () => ({ success: true }),
      "session.getMessages": ({ sessionId }) => ({ events: this.session(String(sessionId)).stored }),
      "session.eventLog.read": (params) => this.session(String(params.sessionId)).page(params),
    };
    return Object.hasOwn(table, method) ? table[method] : undefined;
  }

  #open(sessionId: unknown) {
    const id = typeof sessionId === "string" ? sessionId : crypto.randomUUID();
    this.session(id);
    return { sessionId: id, workspacePath: "/fake", capabilities: { ui: { elicitation: true } } };
  }

  #prompt({ sessionId, prompt }: Params) {
    const messageId = crypto.randomUUID();
    const turn = { sessionId: String(sessionId), prompt: String(prompt), messageId };
    void Promise.resolve().then(() => {
      this.emit(turn.sessionId, "user.message", { content: turn.prompt, messageId });
      return this.#turn(turn);
    });
    return { messageId };
  }

  #settle({ requestId, sessionId: _session, ...answer }: Params) {
    const resolve = this.#answers.get(String(requestId));
    this.#answers.delete(String(requestId));
    resolve?.(answer);
    return { success: resolve !== undefined };
  }
}

export interface StartSubagent {
  agentName: string;
  childSessionId?: string;
  toolCallId?: string;
  parentId?: string;
}
