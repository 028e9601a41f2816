/**
 * The clients that are attached to one session, and what each of them can be asked.
 *
 * Owns the way from an event or an ask to the clients. A client of protocol 2 takes tools and permissions as requests, one of protocol 3
 * takes them from the events; the first answer counts, whoever gave it.
 */
import type { HookType, HostToolSpec, ParamsInput, PermissionRequest, SessionConfig } from "@retinue/protocol";
import type { HookHost } from "../hooks/hooks.ts";
import type { Answering } from "../loop/agent.ts";
import type { Answerers, Ask, AskKind } from "../permissions/asks.ts";
import type { LoggedEvent } from "../session/log.ts";
import type { Client } from "./client.ts";

export interface Participant {
  readonly client: Client;
  config: SessionConfig;
}

export class Participants implements Answerers {
  readonly #sessionId: string;
  readonly #unattended: "wait" | "deny";
  readonly #answer: (requestId: string, answer: unknown, kind: AskKind) => void;
  readonly #all = new Map<Client, Participant>();

  constructor(options: {
    sessionId: string;
    /** What an ask does while nobody is attached. */
    unattended: "wait" | "deny";
    answer: (requestId: string, answer: unknown, kind: AskKind) => void;
  }) {
    this.#sessionId = options.sessionId;
    this.#unattended = options.unattended;
    this.#answer = options.answer;
  }

  get all(): readonly Participant[] {
    return [...this.#all.values()];
  }
  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  join(client: Client, config: SessionConfig): void {
    this.#all.set(client, { client, config });
  }

  leave(client: Client): boolean {
    return this.#all.delete(client);
  }

  of(client: Client): Participant | undefined {
    return this.#all.get(client);
  }

  /** Host tools of all clients; the client that came last owns a name. */
  get tools(): HostToolSpec[] {
    const byName = new Map<string, HostToolSpec>();
    for (const { config } of this.all) for (const tool of config.tools ?? []) byName.set(tool.name, tool);
    return [...byName.values()];
  }

  can(what: "requestPermission" | "requestUserInput" | "requestElicitation" | "requestExitPlanMode"): boolean {
    return this.all.some(({ config }) => config[what] === true);
  }

  /** What happens to a permission that is asked for now. */
  answering({ kind }: PermissionRequest): Answering {
    const mayWait = this.isEmpty && this.#unattended === "wait";
    if (mayWait || this.can("requestPermission")) return { type: "ask" };
    return {
      type: "deny",
      reason: `Permission for ${kind} was needed and nobody is here who can give it. Go on without, or say what you need.`,
    };
  }

  tell(events: readonly LoggedEvent[]): void {
    const head = `{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":${JSON.stringify(this.#sessionId)},"event":`;
    for (const { client, config } of this.#all.values()) {
      const skipsDeltas = config.includeSubAgentStreamingEvents === false;
      for (const event of events) {
        if (skipsDeltas && event.agentId && DELTAS.has(event.type)) continue;
        if (client.style === 2 && ASKED_BY_REQUEST.has(event.type)) continue;
        client.tell(`${head}${event.json}}}`);
      }
    }
  }

  hookHosts(): HookHost[] {
    return this.all
      .filter(({ config }) => config.hooks === true)
      .map(({ client }) => ({
        invoke: async ({ hookType, input }: { hookType: HookType; input: object }, { signal }) => {
          const { output } = await client.call(
            "hooks.invoke",
            { sessionId: this.#sessionId, hookType, input },
            { signal },
          );
          return output;
        },
      }));
  }

  /** Lets the first client that wants to rewrite sections do so; its own words win over an error. */
  async transformSections(sections: Record<string, { content: string }>): Promise<Record<string, { content: string }>> {
    const [first] = this.all.filter(({ config }) => config.systemMessage?.mode === "customize");
    if (!first) return sections;
    try {
      return (await first.client.call("systemMessage.transform", { sessionId: this.#sessionId, sections })).sections;
    } catch {
      return sections; // A host that cannot answer leaves the sections as they are.
    }
  }

  deliver(ask: Ask): (() => void) | undefined {
    const retract = new AbortController();
    const requests = this.#requestsFor(ask, retract.signal);
    if (requests.length === 0) return undefined;
    let failed = 0;
    for (const request of requests) {
      request.then(
        (answer) => this.#answer(ask.requestId, answer, ask.kind),
        () => {
          failed++;
          if (failed === requests.length && !retract.signal.aborted) this.#onNobody(ask);
        },
      );
    }
    return () => retract.abort();
  }

  #requestsFor(ask: Ask, signal: AbortSignal): Promise<unknown>[] {
    const sessionId = this.#sessionId;
    const old = this.all.filter(({ client }) => client.style === 2);
    switch (ask.kind) {
      case "permission":
        return old
          .filter(({ config }) => config.requestPermission)
          .map(async ({ client }) => {
            const { permissionRequest } = ask.payload as { permissionRequest: never };
            const { result } = await client.call("permission.request", { sessionId, permissionRequest }, { signal });
            return fromProtocol2(result.kind);
          });
      case "tool": {
        const { toolName } = ask.payload as { toolName: string };
        return old
          .filter(({ config }) => config.tools?.some(({ name }) => name === toolName))
          .map(async ({ client }) => {
            const call = ask.payload as { toolCallId: string; toolName: string; arguments: unknown };
            return await client.call("tool.call", { sessionId, ...call }, { signal });
          });
      }
      case "question":
        return this.all
          .filter(({ config }) => config.requestUserInput)
          .map(({ client }) =>
            client.call("userInput.request", { sessionId, ...(ask.payload as { question: string }) }, { signal }),
          );
      case "exit_plan":
        return this.all
          .filter(({ config }) => config.requestExitPlanMode)
          .map(({ client }) =>
            client.call(
              "exitPlanMode.request",
              { sessionId, ...(ask.payload as Omit<ParamsInput<"exitPlanMode.request">, "sessionId">) },
              { signal },
            ),
          );
      default:
        return [];
    }
  }

  /** Every client that was asked directly has failed to answer. With an event-based client about, the ask stays open for it. */
  #onNobody(ask: Ask): void {
    const hasEventBased = this.all.some(({ client }) => client.style === 3 && !client.isGone);
    if (ask.kind === "permission" && !hasEventBased)
      this.#answer(ask.requestId, { kind: "user-not-available" }, ask.kind);
    if (ask.kind === "tool" && !hasEventBased)
      this.#answer(ask.requestId, { error: "the host did not answer" }, ask.kind);
    if (ask.kind === "question" || ask.kind === "exit_plan") this.#answer(ask.requestId, undefined, ask.kind);
  }
}

const DELTAS: ReadonlySet<string> = new Set([
  "assistant.message_start",
  "assistant.message_delta",
  "assistant.reasoning_delta",
  "assistant.tool_call_delta",
  "assistant.streaming_delta",
]);

/** A client of protocol 2 gets these as requests. Some of them know the events too, and would answer twice. */
const ASKED_BY_REQUEST: ReadonlySet<string> = new Set([
  "permission.requested",
  "permission.completed",
  "external_tool.requested",
  "external_tool.completed",
]);

function fromProtocol2(kind: string): { kind: string } {
  if (kind === "approved") return { kind: "approve-once" };
  if (kind === "denied-interactively-by-user") return { kind: "reject" };
  return { kind: "user-not-available" };
}
