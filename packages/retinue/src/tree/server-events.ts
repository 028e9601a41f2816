/** What the messages of MCP servers mean for the session: status and progress become events, questions become asks, calls pass hooks. */
import type { Hooks } from "../hooks/hooks.ts";
import type { Agent } from "../loop/agent.ts";
import { callerOf } from "../loop/calls.ts";
import type { McpHostOptions } from "../mcp/host.ts";
import type { Session } from "../session/session.ts";
import { formValues } from "./form-values.ts";

type Form = {
  message: string;
  requestedSchema: Record<string, unknown>;
  source?: string;
  callId?: string;
  signal: AbortSignal;
};

export interface ServerEventsOptions {
  root: Session;
  hooks: Hooks;
  /** The agent of a session of the tree; the main agent when the session is unknown. */
  agentOf(sessionId: string | undefined): Agent;
  elicit(
    agent: Agent,
    form: Form,
  ): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }>;
}

type Callbacks = Required<Pick<McpHostOptions, "onToolsChanged" | "onProgress" | "beforeCall" | "elicit">>;

export function serverEvents({ root, hooks, agentOf, elicit }: ServerEventsOptions): Callbacks {
  return {
    onToolsChanged: (serverName) => root.announce("mcp.tools.list_changed", { serverName }),
    onProgress: ({ sessionId, callId }, progressMessage) =>
      agentOf(sessionId).session.announce("tool.execution_progress", { toolCallId: callId, progressMessage }),
    beforeCall: async ({ sessionId, callId, serverName, toolName, arguments: args }, { signal }) => {
      if (hooks.isEmpty) return undefined;
      const details = { toolCallId: callId, serverName, toolName, arguments: args };
      const output = await hooks.run("preMcpToolCall", details, { caller: callerOf(agentOf(sessionId)), signal });
      return output?.metaToUse;
    },
    elicit: async ({ server, message, requestedSchema = {}, call }, { signal }) => {
      const { action, content } = await elicit(agentOf(call?.sessionId), {
        message,
        requestedSchema: { ...requestedSchema },
        source: server,
        callId: call?.callId,
        signal,
      });
      return content ? { action, content: formValues(content) } : { action };
    },
  };
}
