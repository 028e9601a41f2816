/**
 * The asks that are sent to a client as a request: which clients take one, the request itself, and the answer when none of them
 * answers.
 */
import type { SessionConfig } from "@retinue/protocol";
import type { AskedBy } from "../asks/kind.ts";
import type { Answer, AskKind, Payload } from "../asks/kinds.ts";
import type { Client } from "./client.ts";

export interface Participant {
  readonly client: Client;
  config: SessionConfig;
  /** Whether it has registered for these events. */
  wants(eventType: string): boolean;
  /** Open asks whose event it has been sent, by id. */
  readonly seen: Set<string>;
}

/** Whose ask it is: the root's session, and the sub-agent that asks. */
export interface About extends AskedBy {
  sessionId: string;
  isRepeat?: boolean;
  requestId?: string;
}

export interface ClientRequest<K extends AskKind> {
  isFor(participant: Participant, payload: Payload<K>): boolean;
  send(client: Client, payload: Payload<K>, context: { about: About; signal: AbortSignal }): Promise<Answer<K>>;
  /** The answer when every client that was asked has failed. */
  ifAllFail: Answer<K>;
  /** Clients of protocol 3 take it from the event. While one of them is attached, the ask stays open for it. */
  isEventToo: boolean;
}

export const NO_APPROVAL: Answer<"exit_plan"> = {
  approved: false,
  feedback: "Nobody can approve the plan: no person or program that answers is connected.",
};

export const CLIENT_REQUESTS: { readonly [K in AskKind]: ClientRequest<K> | undefined } = {
  permission: {
    isFor: ({ client, config }) => client.style === 2 && config.requestPermission === true,
    send: async (client, { permissionRequest }, { about, signal }) => {
      const { result } = await client.call("permission.request", { ...about, permissionRequest }, { signal });
      return fromProtocol2(result.kind);
    },
    ifAllFail: { kind: "user-not-available" },
    isEventToo: true,
  },
  tool: {
    isFor: ({ client, config }, { toolName }) => client.style === 2 && hasTool(config, toolName),
    send: (client, call, { about, signal }) => client.call("tool.call", { ...about, ...call }, { signal }),
    ifAllFail: { error: "the host did not answer" },
    isEventToo: true,
  },
  question: {
    isFor: ({ config }) => config.requestUserInput === true,
    send: (client, { choices, ...question }, { about, signal }) =>
      client.call("userInput.request", { ...about, ...question, choices: choices ?? undefined }, { signal }),
    ifAllFail: undefined,
    isEventToo: false,
  },
  exit_plan: {
    isFor: ({ config }) => config.requestExitPlanMode === true,
    send: (client, plan, { about, signal }) => client.call("exitPlanMode.request", { ...about, ...plan }, { signal }),
    ifAllFail: NO_APPROVAL,
    isEventToo: false,
  },
  // Clients take these from events, whatever their protocol.
  elicitation: undefined,
  sampling: undefined,
  command: undefined,
  queued_command: undefined,
};

/** Which clients can answer an ask, by whatever way it reaches them. */
const ANSWERERS: { readonly [K in AskKind]: (participant: Participant, payload: Payload<K>) => boolean } = {
  permission: ({ config }) => config.requestPermission === true,
  tool: ({ config }, { toolName }) => hasTool(config, toolName),
  question: ({ config }) => config.requestUserInput === true,
  elicitation: ({ config }) => config.requestElicitation === true,
  sampling: ({ config, wants }) => wants("sampling.requested") || config.requestElicitation === true,
  exit_plan: ({ config }) => config.requestExitPlanMode === true,
  command: ({ config: { commands } }, { commandName }) => commands?.some(({ name }) => name === commandName) === true,
  queued_command: ({ wants }) => wants("command.queued"),
};

export function canAnswer<K extends AskKind>(kind: K, participant: Participant, payload: Payload<K>): boolean {
  return ANSWERERS[kind](participant, payload);
}

/** The answer that an ask gets when no client could answer it for as long as the policy says. */
export const UNANSWERED: { readonly [K in AskKind]: (asked: { wasAttended: boolean }) => Answer<K> } = {
  permission: () => ({ kind: "user-not-available" }),
  tool: ({ wasAttended }) => ({ unanswered: wasAttended ? "unknown" : "not_run" }),
  question: () => undefined,
  elicitation: () => ({ action: "cancel" }),
  sampling: () => ({ isRefused: true }),
  exit_plan: () => NO_APPROVAL,
  command: () => ({ error: "No client is attached that has this command." }),
  queued_command: () => ({ handled: false }),
};

/** Host tools of a client: those of the session, and those of the agents that it defines. */
function hasTool({ tools = [], customAgents = [] }: SessionConfig, toolName: string): boolean {
  return [...tools, ...customAgents.flatMap(({ toolDefinitions = [] }) => toolDefinitions)].some(
    ({ name }) => name === toolName,
  );
}

function fromProtocol2(kind: string): Answer<"permission"> {
  if (kind === "approved") return { kind: "approve-once" };
  if (kind === "denied-interactively-by-user") return { kind: "reject" };
  return { kind: "user-not-available" };
}
