/**
 * A client of a runtime that answers asks the way a program, a person at a terminal, or nobody would.
 *
 * Owns what the client saw and did: events in order, how often each host tool ran, which answers the runtime has taken.
 */
import { linkedTransports, Peer, type Transport } from "@retinue/protocol";
import type { LawEvent, LawTask } from "./law-event.ts";

/** `sdk` answers everything and has host tools and hooks; `terminal` answers permissions and questions; `nobody` only watches. */
export type Attached = "sdk" | "terminal" | "nobody";

const PATIENCE_MS = 20_000;

export interface LawClientOptions {
  attached: Attached;
  /** Asks that are not answered until `release`. */
  holds?: (event: LawEvent) => boolean;
  onHook?: (call: { hookType: string; input: Record<string, unknown> }) => unknown;
  onEvent?: (event: LawEvent) => void;
  /** Requests that the host has handled before, here or through an earlier connection: it answers them again without running anything. */
  workedOn?: Set<string>;
  /** Tries an answer again that the runtime could not take. */
  insists?: <T>(work: () => Promise<T>) => Promise<T>;
}

export class LawClient {
  readonly attached: Attached;
  readonly events: LawEvent[] = [];
  /** How often each host call ran here, by call. */
  readonly hostRuns = new Map<string, number>();
  /** Asks whose answer the runtime has acknowledged. */
  readonly acknowledged = new Set<string>();
  readonly hooks: { hookType: string; input: Record<string, unknown> }[] = [];
  readonly questions: string[] = [];
  readonly #peer: Peer;
  readonly #holds: (event: LawEvent) => boolean;
  readonly #onHook: NonNullable<LawClientOptions["onHook"]>;
  readonly #onEventSeen: NonNullable<LawClientOptions["onEvent"]>;
  readonly #workedOn: Set<string>;
  readonly #insists: NonNullable<LawClientOptions["insists"]>;
  readonly #held: LawEvent[] = [];
  readonly #waiters = new Set<() => void>();
  #isReleased = false;

  constructor(
    transport: Transport,
    {
      attached,
      holds = () => false,
      onHook = () => undefined,
      onEvent = () => undefined,
      workedOn = new Set(),
      insists = (work) => work(),
    }: LawClientOptions,
  ) {
    this.attached = attached;
    this.#holds = holds;
    this.#onHook = onHook;
    this.#onEventSeen = onEvent;
    this.#workedOn = workedOn;
    this.#insists = insists;
    this.#peer = new Peer(transport, {
      request: (method, params) => this.#onRequest(method, params as Record<string, unknown>),
      notification: (method, params) => {
        if (method === "session.event") this.#onEvent(params as { sessionId: string; event: LawEvent });
      },
      closed: () => this.#wake(),
    });
  }

  static link(options: LawClientOptions): { client: LawClient; serverEnd: Transport } {
    const [serverEnd, clientEnd] = linkedTransports();
    return { client: new LawClient(clientEnd, options), serverEnd };
  }

  /** The part of a session's configuration that says what this client can do. */
  get abilities(): Record<string, unknown> {
    const answers = { requestPermission: this.attached !== "nobody", requestUserInput: this.attached !== "nobody" };
    return this.attached === "sdk" ? { ...answers, hooks: true, tools: HOST_TOOLS } : answers;
  }

  async call<T = unknown>(method: string, params: object = {}): Promise<T> {
    return (await this.#peer.request(method, params)) as T;
  }

  /** The first event of those already seen or still to come. */
  async until(
    type: string,
    passes: (event: LawEvent) => boolean = () => true,
    { after = 0 }: { after?: number } = {},
  ): Promise<LawEvent> {
    const find = () => this.events.slice(after).find((event) => event.type === type && passes(event));
    await this.when(() => find() !== undefined, type);
    const found = find();
    if (!found) throw new Error(`no ${type}`);
    return found;
  }

  async when(isTrue: () => boolean, what: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(look);
        reject(
          new Error(
            `waited for ${what}; the last events were ${this.events
              .slice(-12)
              .map(({ type, agentId }) => `${type}${agentId ? "@" : ""}`)
              .join(" ")}`,
          ),
        );
      }, PATIENCE_MS);
      const look = () => {
        const isThere = isTrue();
        if (!isThere && !this.#peer.closed) return;
        this.#waiters.delete(look);
        clearTimeout(timer);
        if (isThere) resolve();
        else reject(new Error(`the connection ended before ${what}`));
      };
      this.#waiters.add(look);
      look();
    });
  }

  /** Answers what was held back, and holds nothing from now on. */
  async release(sessionId: string): Promise<void> {
    this.#isReleased = true;
    await Promise.all(this.#held.splice(0).map((event) => this.#answer(sessionId, event)));
  }

  get held(): readonly LawEvent[] {
    return this.#held;
  }

  /** Answers the asks that a session was left with: once, right after it was resumed, as a host does. */
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

  /** Resolves when the session that was just resumed has nothing more to do. */
  async atRest(sessionId: string): Promise<void> {
    const { hasActiveWork } = await this.call<{ hasActiveWork: boolean }>("session.metadata.activity", { sessionId });
    if (hasActiveWork) await this.until("session.idle");
  }

  async tasks(sessionId: string): Promise<LawTask[]> {
    return (await this.call<{ tasks: LawTask[] }>("session.tasks.list", { sessionId })).tasks;
  }

  /** The connection breaks. */
  vanish(): void {
    this.#peer.close();
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  #onEvent({ sessionId, event }: { sessionId: string; event: LawEvent }): void {
    this.events.push(event);
    this.#onEventSeen(event);
    const isAsk = event.type === "permission.requested" || event.type === "external_tool.requested";
    if (isAsk && this.attached !== "nobody") {
      if (!this.#isReleased && this.#holds(event)) this.#held.push(event);
      else void this.#answer(sessionId, event);
    }
    this.#wake();
  }

  async #answer(sessionId: string, { type, data }: LawEvent): Promise<void> {
    const { requestId = "", toolCallId = "" } = data;
    if (type === "external_tool.requested") {
      if (this.attached !== "sdk") return;
      if (!this.#workedOn.has(requestId)) this.hostRuns.set(toolCallId, (this.hostRuns.get(toolCallId) ?? 0) + 1);
      this.#workedOn.add(requestId);
      await this.#send("session.tools.handlePendingToolCall", {
        sessionId,
        requestId,
        result: `host did ${data.arguments?.what ?? "it"}`,
      });
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

  async #onRequest(method: string, params: Record<string, unknown>): Promise<unknown> {
    if (method === "userInput.request") {
      this.questions.push(String(params.question));
      return { answer: "blue", wasFreeform: true };
    }
    if (method === "hooks.invoke") {
      const call = { hookType: String(params.hookType), input: params.input as Record<string, unknown> };
      this.hooks.push(call);
      this.#wake();
      return { output: await this.#onHook(call) };
    }
    return null;
  }
}

/** Both run in the host; the second asks nobody. */
const HOST_TOOLS = [
  {
    name: "probe",
    description: "Does something in the host.",
    parameters: { type: "object", properties: { what: { type: "string" } } },
    skipPermission: true,
  },
  {
    name: "guarded_probe",
    description: "The same, with permission.",
    parameters: { type: "object", properties: { what: { type: "string" } } },
  },
];
