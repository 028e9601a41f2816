/** What the messages of MCP servers mean for the session: status and progress become events, questions become asks, calls pass hooks. */
import type { Hooks } from "../hooks/hooks.ts";
import type { Agent } from "../loop/agent.ts";
import { callerOf } from "../loop/calls.ts";
import type { McpHostOptions } from "../mcp/host.ts";
import type { Session } from "../session/session.ts";

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

type FormValue = string | number | boolean | string[];

/** The values that a form can have; anything else is not an answer to it. */
function formValues(content: Record<string, unknown>): Record<string, FormValue> {
  const values: Record<string, FormValue> = {};
  for (const [name, value] of Object.entries(content)) if (isFormValue(value)) values[name] = value;
  return values;
}

function isFormValue(value: unknown): value is FormValue {
  if (Array.isArray(value)) return value.every((each) => typeof each === "string");
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
