/**
 * A client of a runtime that speaks protocol 3 itself, and answers asks the way a program, a person at a terminal, or nobody would.
 *
 * Asks come to it as events, and it answers them with calls.
 */
import { linkedTransports, Peer, type Transport } from "@retinue/protocol";
import type { LawEvent } from "./law-event.ts";
import { HOST_TOOLS, hostResult, isProgram, LawHost, type LawHostOptions } from "./law-host.ts";

export interface LawClientOptions extends LawHostOptions {
  /** Requests that the host has handled before, here or through an earlier connection: it answers them again without running anything. */
  workedOn?: Set<string>;
  /** Tries an answer again that the runtime could not take. */
  insists?: <T>(work: () => Promise<T>) => Promise<T>;
}

export class LawClient extends LawHost {
  readonly #peer: Peer;
  readonly #workedOn: Set<string>;
  readonly #insists: NonNullable<LawClientOptions["insists"]>;

  constructor(transport: Transport, options: LawClientOptions) {
    super(options);
    const { workedOn = new Set(), insists = (work) => work() } = options;
    this.#workedOn = workedOn;
    this.#insists = insists;
    this.#peer = new Peer(transport, {
      request: (method, params) => this.onRequest(method, params as Record<string, unknown>),
      notification: (method, params) => {
        if (method === "session.event") this.#onEvent(params as { sessionId: string; event: LawEvent });
      },
      closed: () => this.wake(),
    });
  }

  static link(options: LawClientOptions): { client: LawClient; serverEnd: Transport } {
    const [serverEnd, clientEnd] = linkedTransports();
    return { client: new LawClient(clientEnd, options), serverEnd };
  }

  /** The part of a session's configuration that says what this client can do. */
  get abilities(): Record<string, unknown> {
    const answers = { requestPermission: this.attached !== "nobody", requestUserInput: this.attached !== "nobody" };
    return isProgram(this.attached) ? { ...answers, hooks: true, tools: HOST_TOOLS } : answers;
  }

  async greet(): Promise<void> {
    await this.call("connect", {});
  }

  async create(config: object): Promise<string> {
    return (await this.call<{ sessionId: string }>("session.create", { ...this.abilities, ...config })).sessionId;
  }

  async resume(sessionId: string, config: object): Promise<void> {
    await this.call("session.resume", { sessionId, continuePendingWork: true, ...this.abilities, ...config });
  }

  async call<T = unknown>(method: string, params: object = {}): Promise<T> {
    return (await this.#peer.request(method, params)) as T;
  }

  /** A program that knows the log answers what it finds there, whether or not it was offered it. */
  async answerOpen(sessionId: string): Promise<void> {
    const { events } = await this.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
    const open = (asked: string, settled: string) =>
      events.filter(
        ({ type, data }) =>
          type === asked && !events.some((other) => other.type === settled && other.data.requestId === data.requestId),
      );
    const asks = [
      ...open("external_tool.requested", "external_tool.completed"),
      ...open("permission.requested", "permission.completed"),
    ];
    await Promise.all(asks.map((ask) => this.#answer(sessionId, ask)));
  }

  vanish(): void {
    this.#peer.close();
  }

  protected get isGone(): boolean {
    return this.#peer.closed;
  }

  protected async onRequest(method: string, params: Record<string, unknown>): Promise<unknown> {
    if (method === "userInput.request") {
      this.questions.push(String(params.question));
      return { answer: "blue", wasFreeform: true };
    }
    if (method === "hooks.invoke") {
      const call = { hookType: String(params.hookType), input: params.input as Record<string, unknown> };
      return { output: await this.onHook(call) };
    }
    return null;
  }

  #onEvent({ sessionId, event }: { sessionId: string; event: LawEvent }): void {
    this.saw(event);
    const isAsk = event.type === "permission.requested" || event.type === "external_tool.requested";
    const answer = () => this.#answer(sessionId, event);
    if (isAsk && this.attached !== "nobody" && !this.holdsBack(event, answer)) void answer();
    this.wake();
  }

  async #answer(sessionId: string, { type, data }: LawEvent): Promise<void> {
    const { requestId = "", toolCallId = "" } = data;
    if (type === "external_tool.requested") {
      if (!isProgram(this.attached)) return;
      if (!this.#workedOn.has(requestId)) this.ran(toolCallId);
      this.#workedOn.add(requestId);
      const result = hostResult(data.arguments?.what);
      await this.#send("session.tools.handlePendingToolCall", { sessionId, requestId, result });
    } else if (this.attached !== "nobody") {
      await this.#send("session.permissions.handlePendingPermissionRequest", {
        sessionId,
        requestId,
        result: { kind: "approve-once" },
      });
    }
  }

  async #send(method: string, params: { sessionId: string; requestId: string; result: unknown }): Promise<void> {
    try {
      const { success } = await this.#insists(() => this.call<{ success: boolean }>(method, params));
      if (success) this.acknowledged.add(params.requestId);
    } catch (error) {
      const isGone = this.#peer.closed || String(error).includes("Session not found");
      if (!isGone) throw error; // The runtime was killed or the session closed, so the error is expected.
    }
  }
}
