/**
 * The asks that are sent to a client as a request: which clients take one, the request itself, and the answer when none of them
 * answers.
 */
import type { SessionConfig } from "@retinue/protocol";
import type { Answer, AskKind, Payload } from "../asks/kinds.ts";
import type { Client } from "./client.ts";

export interface Participant {
  readonly client: Client;
  config: SessionConfig;
}

export interface ClientRequest<K extends AskKind> {
  isFor(participant: Participant, payload: Payload<K>): boolean;
  send(client: Client, payload: Payload<K>, context: { sessionId: string; signal: AbortSignal }): Promise<Answer<K>>;
  /** The answer when every client that was asked has failed. */
  ifAllFail: Answer<K>;
  /** Clients of protocol 3 take it from the event. While one of them is attached, the ask stays open for it. */
  isEventToo: boolean;
}

export const NO_APPROVAL: Answer<"exit_plan"> = { approved: false, feedback: "Nobody is here to approve the plan." };

export const CLIENT_REQUESTS: { readonly [K in AskKind]: ClientRequest<K> | undefined } = {
  permission: {
    isFor: ({ client, config }) => client.style === 2 && config.requestPermission === true,
    send: async (client, { permissionRequest }, { sessionId, signal }) => {
      const { result } = await client.call("permission.request", { sessionId, permissionRequest }, { signal });
      return fromProtocol2(result.kind);
    },
    ifAllFail: { kind: "user-not-available" },
    isEventToo: true,
  },
  tool: {
    isFor: ({ client, config }, { toolName }) =>
      client.style === 2 && config.tools?.some(({ name }) => name === toolName) === true,
    send: (client, call, { sessionId, signal }) => client.call("tool.call", { sessionId, ...call }, { signal }),
    ifAllFail: { error: "the host did not answer" },
    isEventToo: true,
  },
  question: {
    isFor: ({ config }) => config.requestUserInput === true,
    send: (client, { choices, ...question }, { sessionId, signal }) =>
      client.call("userInput.request", { sessionId, ...question, choices: choices ?? undefined }, { signal }),
    ifAllFail: undefined,
    isEventToo: false,
  },
  exit_plan: {
    isFor: ({ config }) => config.requestExitPlanMode === true,
    send: (client, plan, { sessionId, signal }) =>
      client.call("exitPlanMode.request", { sessionId, ...plan }, { signal }),
    ifAllFail: NO_APPROVAL,
    isEventToo: false,
  },
  // Clients take these from events, whatever their protocol.
  elicitation: undefined,
  command: undefined,
  queued_command: undefined,
};

function fromProtocol2(kind: string): Answer<"permission"> {
  if (kind === "approved") return { kind: "approve-once" };
  if (kind === "denied-interactively-by-user") return { kind: "reject" };
  return { kind: "user-not-available" };
}
