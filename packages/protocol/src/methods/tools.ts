/** Calls about the tools of a session. */
import * as z from "zod";
import { byName, empty, justSession, method, ofSession, success } from "../method.ts";
import { count, flag, json, jsonObject, lazy, type Of, strings, text } from "../schema.ts";
import { HostToolSpec } from "../session-config.ts";
import { ToolResult } from "../tool-result.ts";

export const ToolMetadata = lazy(() =>
  z.object({
    name: z.string(),
    namespacedName: text(),
    mcpServerName: text(),
    mcpToolName: text(),
    description: z.string(),
    input_schema: jsonObject().optional(),
    deferLoading: flag(),
  }),
);
export type ToolMetadata = Of<typeof ToolMetadata>;

const ToolDescriptor = lazy(() =>
  z.object({
    name: z.string(),
    title: z.string().nullable(),
    description: z.string(),
    inputSchema: jsonObject().nullable(),
    instructions: z.string().nullable(),
    type: z.string().nullable(),
    format: jsonObject().nullable(),
    safeForTelemetry: z.boolean(),
    isTerminal: z.boolean(),
    hasSummariseIntention: z.boolean(),
  }),
);

/** Settings for sub-agents, by agent name and for all of them. */
export const SubagentSettings = lazy(() =>
  z.object({
    agents: z
      .record(
        z.string(),
        z.object({
          model: text(),
          modelPolicy: z.enum(["preferred", "required"]).optional(),
          effortLevel: text(),
          autoInvoke: flag(),
        }),
      )
      .optional(),
    disabledSubagents: strings().optional(),
    maxConcurrency: count(),
    maxDepth: count(),
  }),
);
export type SubagentSettings = Of<typeof SubagentSettings>;

export const TOOL_METHODS = byName(
  method("session.tools.handlePendingToolCall", {
    summary: "Answers `external_tool.requested`; false when it is settled already.",
    params: () => ofSession({ requestId: z.string(), result: ToolResult().optional(), error: text() }),
    result: success,
  }),
  method("session.tools.getCurrentMetadata", {
    summary: "Tools that the main agent has now.",
    params: justSession,
    result: () => z.object({ tools: z.array(ToolMetadata()).nullable() }),
  }),
  method("session.tools.set", {
    summary: "Replaces the host tools of this client.",
    params: () => ofSession({ tools: z.array(HostToolSpec()) }),
    result: empty,
  }),
  method("session.tools.initializeAndValidate", {
    summary: "Builds the tool list now instead of at the first prompt.",
    params: justSession,
    result: empty,
  }),
  method("session.tools.execute", {
    summary: "Runs a tool without the model.",
    params: () => ofSession({ name: z.string(), arguments: json().optional(), toolCallId: text() }),
    result: ToolResult,
  }),
  method("session.tools.getBuiltinDescriptors", {
    summary: "Built-in tools with all that is known about them.",
    params: justSession,
    result: () => z.object({ tools: z.array(ToolDescriptor()) }),
  }),
  method("session.tools.updateSubagentSettings", {
    summary: "Changes models and limits of sub-agents.",
    params: () => ofSession({ subagents: SubagentSettings().optional() }),
    result: empty,
  }),
);
