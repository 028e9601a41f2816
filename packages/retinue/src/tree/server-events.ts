/** What the messages of MCP servers mean for the session: status and progress become events, questions become asks, calls pass hooks. */
import { tmpdir } from "node:os";
import { visible } from "@retinue/protocol";
import type { Hooks } from "../hooks/hooks.ts";
import type { Agent } from "../loop/agent.ts";
import { callerOf } from "../loop/calls.ts";
import type { McpHostOptions } from "../mcp/host.ts";
import type { Session } from "../session/session.ts";
import { formValues } from "./form-values.ts";
import { type SamplerOptions, sampler } from "./sampling.ts";

interface Form {
  message: string;
  requestedSchema: Record<string, unknown>;
  url?: string;
  source?: string;
  callId?: string;
  signal: AbortSignal;
}

export interface ServerEventsOptions extends SamplerOptions {
  root: Session;
  hooks: Hooks;
  elicit(
    agent: Agent,
    form: Form,
  ): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }>;
}

type Callbacks = Required<
  Pick<
    McpHostOptions,
    "onToolsChanged" | "onOffersChanged" | "onTooMany" | "onProgress" | "beforeCall" | "elicit" | "sample" | "roots"
  >
>;

export function serverEvents({ root, hooks, agentOf, participants, elicit }: ServerEventsOptions): Callbacks {
  const told = new Set<string>();
  return {
    sample: sampler({ agentOf, participants }),
    // The folder for temporary files is for tools of the runtime.
    roots: () => agentOf(undefined).permissions.rules.policy.directories.filter((folder) => folder !== tmpdir()),
    onToolsChanged: (serverName) => root.announce("mcp.tools.list_changed", { serverName }),
    onOffersChanged: (serverName, what) => root.announce(`mcp.${what}.list_changed`, { serverName }),
    onTooMany: (server, { listed, offered }) => {
      const message = `The MCP server ${visible(server)} lists ${listed} tools, and only the first ${offered} are offered. Name those that you need in tools of its configuration.`;
      if (told.has(message)) return;
      told.add(message);
      root.announce("session.warning", { warningType: "mcp", message });
    },
    onProgress: ({ sessionId, callId }, progressMessage) =>
      agentOf(sessionId).session.announce("tool.execution_progress", { toolCallId: callId, progressMessage }),
    beforeCall: async ({ sessionId, callId, serverName, toolName, arguments: args }, { signal }) => {
      if (hooks.isEmpty) return undefined;
      const details = { toolCallId: callId, serverName, toolName, arguments: args };
      const output = await hooks.run("preMcpToolCall", details, { caller: callerOf(agentOf(sessionId)), signal });
      return output?.metaToUse;
    },
    elicit: async ({ server, message, requestedSchema = {}, url, call }, { signal }) => {
      const { action, content } = await elicit(agentOf(call?.sessionId), {
        message,
        requestedSchema: { ...requestedSchema },
        url,
        source: server,
        callId: call?.callId,
        signal,
      });
      return content ? { action, content: formValues(content) } : { action };
    },
  };
}
