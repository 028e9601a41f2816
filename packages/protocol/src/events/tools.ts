/** Events of calls: built-in, MCP and host tools, and skills. */
import * as z from "zod";
import { byName } from "../method.ts";
import { asker, flag, json, jsonObject, lazy, type Of, open, strings, text } from "../schema.ts";
import { BinaryResult } from "../tool-result.ts";
import { event } from "./event.ts";

/** Binary output that is kept elsewhere, or was left out. */
const BinaryReference = lazy(() =>
  open({
    type: z.string(),
    mimeType: z.string(),
    byteLength: z.number(),
    assetId: text(),
    omittedReason: text(),
    description: text(),
  }),
);

/** The result of a call, for the log. */
export const CallResult = lazy(() =>
  open({
    content: z.string(),
    /** What a screen shows instead, such as a diff. */
    detailedContent: text(),
    binaryResultsForLlm: z.array(z.union([BinaryResult(), BinaryReference()])).optional(),
    contents: z.array(json()).optional(),
    structuredContent: json().optional(),
  }),
);
export type CallResult = Of<typeof CallResult>;

/** `failure`, `denied`, `rejected`, `timeout`, or another runtime's own word. */
export const CallError = lazy(() => open({ message: z.string(), code: text() }));
export type CallError = Of<typeof CallError>;

export const TOOL_EVENTS = byName(
  event("tool.execution_start", {
    persisted: true,
    summary: "A call begins, before hooks and permission.",
    data: () =>
      open({
        toolCallId: z.string(),
        toolName: z.string(),
        arguments: json().optional(),
        turnId: text(),
        model: text(),
        toolTitle: text(),
        parentToolCallId: text(),
        mcpServerName: text(),
        mcpToolName: text(),
        mcpConfigServerName: text(),
        mcpConfigSource: text(),
        mcpTransport: text(),
        shellToolInfo: open({
          possiblePaths: strings(),
          hasWriteFileRedirection: z.boolean(),
          displayCommand: text(),
        }).optional(),
      }),
  }),
  event("tool.execution_partial_result", {
    persisted: false,
    summary: "The whole output so far of a running command.",
    data: () => open({ toolCallId: z.string(), partialOutput: z.string() }),
  }),
  event("tool.execution_progress", {
    persisted: false,
    summary: "A running call reports progress.",
    data: () => open({ toolCallId: z.string(), progressMessage: z.string() }),
  }),
  event("tool.execution_complete", {
    persisted: true,
    summary: "A call ended; `result` when it succeeded, `error` when not.",
    data: () =>
      open({
        toolCallId: z.string(),
        success: z.boolean(),
        result: CallResult().optional(),
        error: CallError().optional(),
        turnId: text(),
        interactionId: text(),
        model: text(),
        parentToolCallId: text(),
        isUserRequested: flag(),
        shellExecution: open({ exitCode: z.number() }).optional(),
        toolTelemetry: jsonObject().optional(),
        /** What the model reads of a failure, when that is more than the message. Ours. */
        modelText: text(),
      }),
  }),
  event("tool.user_requested", {
    persisted: true,
    summary: "A person, not the model, asked for a call.",
    data: () => open({ toolCallId: z.string(), toolName: z.string(), arguments: json().optional() }),
  }),
  event("external_tool.requested", {
    persisted: true,
    summary: "A host tool must run; the client that owns it answers.",
    data: () =>
      open({
        requestId: z.string(),
        sessionId: z.string(),
        toolCallId: z.string(),
        toolName: z.string(),
        arguments: json().optional(),
        workingDirectory: text(),
        providerId: z.string().nullish(),
        ownerNativeSessionId: text(),
        traceparent: text(),
        tracestate: text(),
        ...asker(),
      }),
  }),
  event("external_tool.completed", {
    persisted: true,
    summary: "A host tool was answered, by whichever client.",
    data: () => open({ requestId: z.string() }),
  }),
);
