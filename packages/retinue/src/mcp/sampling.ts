/** A server that wants to ask a model: the request goes to the session, and the limits of running calls are paused meanwhile. */
import type { Client, CreateMessageRequestParams, CreateMessageResult } from "@modelcontextprotocol/client";
import { askedForTask, askedInCall } from "./asked-in-call.ts";
import type { ActiveCall, CallRef } from "./call-failed.ts";

export interface SamplingRequest {
  server: string;
  /** The id of the server's request. */
  mcpRequestId: string | number;
  params: CreateMessageRequestParams;
  /** The call that it belongs to. Absent when several calls run at the server, or none. */
  call?: CallRef;
}

/** Throws when nobody allows it, with words for the server. */
export type Sample = (request: SamplingRequest, options: { signal: AbortSignal }) => Promise<CreateMessageResult>;

interface SamplingOptions {
  server: string;
  sample: Sample;
  active: ReadonlySet<ActiveCall>;
  /** The call that became the task which a request names; undefined when it names none that is followed. */
  ofTask(request: { _meta?: Readonly<Record<string, unknown>> }): { call?: CallRef } | undefined;
}

export function serveSampling(client: Client, { server, sample, active, ofTask }: SamplingOptions): void {
  client.setRequestHandler("sampling/createMessage", async ({ params }, context) => {
    const task = ofTask(params);
    const { id: mcpRequestId } = context.mcpReq;
    const request = { server, mcpRequestId, params };
    if (task) return await askedForTask(task, () => sample({ ...request, call: task.call }, context.mcpReq));
    return await askedInCall(active, context.mcpReq, ({ call, signal }) => sample({ ...request, call }, { signal }));
  });
}
