/**
 * The clients that are attached to one session, and what each of them can be asked.
 *
 * Owns sending events to the clients. A client of protocol 2 gets tools and permissions as requests, one of protocol 3 takes them from
 * the events; the first answer counts. How one ask is offered is in offer.ts, the request for each kind in client-requests.ts.
 */
import type { HostToolSpec, PermissionRequest, SessionConfig } from "@retinue/protocol";
import { ASK_KINDS, type Ask, type AskKind, KINDS } from "../asks/kinds.ts";
import type { Answerers, Offered } from "../asks/open-ask.ts";
import { type Unattended, WAIT } from "../asks/unattended.ts";
import type { HookHost } from "../hooks/hooks.ts";
import type { Answering } from "../loop/agent.ts";
import type { LoggedEvent } from "../session/log.ts";
import { EVENTS_LOST } from "./backlog.ts";
import type { Client } from "./client.ts";
import { CLIENT_REQUESTS, type Participant } from "./client-requests.ts";
import { hasInterest } from "./interests.ts";
import { eventHead, Offer, type OfferRoom, type TakeAnswer } from "./offer.ts";

type Sections = Record<string, { content: string }>;

export class Participants implements Answerers {
  readonly #sessionId: string;
  readonly #room: OfferRoom;
  readonly #all = new Map<Client, Participant>();
  readonly #hooksOnError: "ignore" | "deny";
  /** A client whose hooks guard calls was lost, and no such client has come since. */
  #hasLostGuard = false;

  constructor(options: {
    sessionId: string;
    /** What a hook that fails means, where its client does not say. */
    hooksOnError?: "ignore" | "deny";
    /** What an ask does while no attached client can answer it. */
    unattended?: () => Unattended;
    answer: TakeAnswer;
    isAllowed?: OfferRoom["isAllowed"];
    envelope: OfferRoom["envelope"];
  }) {
    this.#sessionId = options.sessionId;
    const { sessionId, answer, unattended = () => WAIT, isAllowed = () => false, envelope } = options;
    this.#room = { sessionId, participants: () => this.all, answer, unattended, isAllowed, envelope };
    this.#hooksOnError = options.hooksOnError ?? "ignore";
  }

  get all(): readonly Participant[] {
    return [...this.#all.values()];
  }
  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  join(client: Client, config: SessionConfig): void {
    const sessionId = this.#sessionId;
    const wants = (eventType: string) => hasInterest(client, { sessionId, eventType });
    this.#all.set(client, { client, config, wants, seen: new Set() });
    if (this.#isGuard(config)) this.#hasLostGuard = false;
  }

  leave(client: Client): boolean {
    const { config } = this.#all.get(client) ?? {};
    if (config && client.isGone && this.#isGuard(config)) this.#hasLostGuard = true;
    return this.#all.delete(client);
  }

  #isGuard({ hooks, hooksOnError = this.#hooksOnError }: SessionConfig): boolean {
    return hooks === true && hooksOnError === "deny";
  }

  of(client: Client): Participant | undefined {
    return this.#all.get(client);
  }

  /** Host tools of all clients; the client that joined last owns a name. */
  get tools(): HostToolSpec[] {
    const byName = new Map<string, HostToolSpec>();
    for (const { config } of this.all) for (const tool of config.tools ?? []) byName.set(tool.name, tool);
    return [...byName.values()];
  }

  can(what: "requestPermission" | "requestUserInput" | "requestElicitation" | "requestExitPlanMode"): boolean {
    return this.all.some(({ config }) => config[what] === true);
  }

  /** Whether a permission can be asked for now, or is denied. */
  answering({ kind }: PermissionRequest): Answering {
    const mayWait = this.isEmpty && this.#room.unattended().type === "wait";
    if (mayWait || this.can("requestPermission")) return { type: "ask" };
    return {
      type: "deny",
      reason: `Permission for ${kind} was needed, and nobody can give it: no person or program that answers is connected. Go on without, or say what you need.`,
    };
  }

  send(events: readonly LoggedEvent[]): void {
    const head = eventHead(this.#sessionId);
    for (const { client, config, seen } of this.#all.values()) {
      const skipsDeltas = config.includeSubAgentStreamingEvents === false;
      for (const event of events) {
        if (skipsDeltas && event.agentId && DELTAS.has(event.type)) continue;
        if (client.style === 2 && ASKED_BY_REQUEST.has(event.type)) continue;
        const admitted = client.backlog.admits({ isKept: event.ephemeral !== true || MUST_ARRIVE.has(event.type) });
        if (admitted === "no") continue;
        if (admitted !== "told") noteSeen(seen, event);
        client.send(`${head}${admitted === "told" ? eventsLost(event) : event.json}}}`);
      }
    }
  }

  hookHosts(): HookHost[] {
    const attached: HookHost[] = this.all
      .filter(({ config }) => config.hooks === true)
      .map(({ client, config }) => ({
        isGuard: this.#isGuard(config),
        invoke: async ({ hookType, input }, { signal }) => {
          const { output } = await client.call(
            "hooks.invoke",
            { sessionId: this.#sessionId, hookType, input },
            { signal },
          );
          return output;
        },
      }));
    return this.#hasLostGuard ? [...attached, LOST_GUARD] : attached;
  }

  /** Lets the first client that wants to rewrite sections do so. */
  async transformSections(sections: Sections, options: { signal?: AbortSignal } = {}): Promise<Sections> {
    const [first] = this.all.filter(({ config }) => config.systemMessage?.mode === "customize");
    if (!first) return sections;
    try {
      return (await first.client.call("systemMessage.transform", { sessionId: this.#sessionId, sections }, options))
        .sections;
    } catch {
      return sections; // A client that cannot answer leaves the sections as they are.
    }
  }

  deliver<K extends AskKind>(ask: Ask<K>): Offered {
    return new Offer(ask, this.#room);
  }
}

function noteSeen(seen: Set<string>, { type, data }: LoggedEvent): void {
  if (!ASK_EVENTS.has(type) || !("requestId" in data) || typeof data.requestId !== "string") return;
  if (REQUESTS.has(type)) seen.add(data.requestId);
  else seen.delete(data.requestId);
}

const REQUESTS: ReadonlySet<string> = new Set(ASK_KINDS.map((kind) => KINDS[kind].requested));
const ASK_EVENTS: ReadonlySet<string> = new Set([...REQUESTS, ...ASK_KINDS.map((kind) => KINDS[kind].completed)]);

const LOST_GUARD: HookHost = {
  isGuard: true,
  isLost: true,
  invoke: () => Promise.reject(new Error("the connection to its client was lost")),
};

/** Not kept, and small; a client that misses one would wait for ever. */
const MUST_ARRIVE: ReadonlySet<string> = new Set([
  "session.idle",
  "session.error",
  ...ASK_KINDS.flatMap((kind) => [KINDS[kind].requested, KINDS[kind].completed]),
]);

/** In the place of the first event that a slow client loses. */
function eventsLost({ id, timestamp, parentId }: LoggedEvent): string {
  const data = { warningType: "events_lost", message: EVENTS_LOST };
  return JSON.stringify({ type: "session.warning", data, id, timestamp, parentId, ephemeral: true });
}

const DELTAS: ReadonlySet<string> = new Set([
  "assistant.message_start",
  "assistant.message_delta",
  "assistant.reasoning_delta",
  "assistant.tool_call_delta",
  "assistant.streaming_delta",
]);

/** A client of protocol 2 gets these as requests. Some such clients also handle the events, and would answer twice. */
const ASKED_BY_REQUEST: ReadonlySet<string> = new Set(
  ASK_KINDS.filter((kind) => CLIENT_REQUESTS[kind]?.isEventToo).flatMap((kind) => [
    KINDS[kind].requested,
    KINDS[kind].completed,
  ]),
);
