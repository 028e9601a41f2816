/** Questions that an MCP server asks during a call: they go to the host, and the call's time limit is paused meanwhile. */
import type { Client, ElicitResult } from "@modelcontextprotocol/client";
import { askedForTask, askedInCall } from "./asked-in-call.ts";
import type { ActiveCall, CallRef } from "./call-failed.ts";

export interface Elicitation {
  server: string;
  message: string;
  mode: "form" | "url";
  requestedSchema?: Readonly<Record<string, unknown>>;
  url?: string;
  /** The call that the question belongs to. Absent when several calls run at the server, because servers do not name the call. */
  call?: CallRef;
}

export type Elicit = (question: Elicitation, options: { signal: AbortSignal }) => Promise<ElicitResult>;

interface ElicitationOptions {
  server: string;
  elicit: Elicit;
  active: ReadonlySet<ActiveCall>;
  /** Who answers for the task that a request names; undefined when it names none that is followed. */
  ofTask(request: { _meta?: Readonly<Record<string, unknown>> }): { elicit: Elicit } | undefined;
}

export function serveElicitation(client: Client, options: ElicitationOptions): void {
  client.setRequestHandler("elicitation/create", async ({ params }, context) => {
    const what =
      params.mode === "url"
        ? { mode: "url" as const, url: params.url }
        : { mode: "form" as const, requestedSchema: params.requestedSchema };
    const { server, active } = options;
    const task = options.ofTask(params);
    const question = { server, message: params.message, ...what };
    if (task) return await askedForTask(task, () => task.elicit(question, context.mcpReq));
    return await askedInCall(active, context.mcpReq, ({ call, signal }) =>
      options.elicit({ ...question, call }, { signal }),
    );
  });
}
