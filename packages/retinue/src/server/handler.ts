/** The shape of the handlers of client calls: one function per method, by name. Parameters are already parsed. */
import type { Params, Result, ServerMethodName } from "@retinue/protocol";
import type { HostedSession } from "../host/hosted-session.ts";
import type { Sessions } from "../host/sessions.ts";
import type { Client } from "../tree/client.ts";

export interface CallScope {
  client: Client;
  sessions: Sessions;
  /** Aborted when the client cancels its call or disconnects. */
  signal: AbortSignal;
}

export type Handlers = {
  [M in ServerMethodName]?: (params: Params<M>, scope: CallScope) => Result<M> | Promise<Result<M>>;
};

/** The open session that a call is about. */
export function hosted({ sessionId }: { sessionId: string }, { sessions }: CallScope): HostedSession {
  return sessions.get(sessionId);
}
