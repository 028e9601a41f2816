/** Calls about the state of a session: what it does, where, and how full its context is. */
import * as z from "zod";
import { SessionContext } from "../events/session.ts";
import { byName, empty, justSession, method, ofSession } from "../method.ts";
import { count, flag, lazy, Mode, type Of, stringRecord, strings, text } from "../schema.ts";
import { WorkspaceRecord } from "./workspaces.ts";

export const SessionSnapshot = lazy(() =>
  z.object({
    sessionId: z.string(),
    startTime: z.string(),
    modifiedTime: z.string(),
    isRemote: z.boolean(),
    alreadyInUse: z.boolean(),
    workspacePath: z.string().nullable(),
    workingDirectory: z.string(),
    currentMode: Mode(),
    selectedModel: text(),
    initialName: text(),
    clientName: text(),
    summary: text(),
    sessionLimits: z.object({ maxAiCredits: count() }).nullable(),
    workspace: WorkspaceRecord().nullish(),
  }),
);
export type SessionSnapshot = Of<typeof SessionSnapshot>;

const ContextInfo = lazy(() =>
  z.object({
    modelName: z.string(),
    systemTokens: z.number(),
    conversationTokens: z.number(),
    toolDefinitionsTokens: z.number(),
    mcpToolsTokens: z.number(),
    totalTokens: z.number(),
    promptTokenLimit: z.number(),
    compactionThreshold: z.number(),
    limit: z.number(),
    bufferTokens: z.number(),
  }),
);

const state = byName(
  method("session.metadata.snapshot", {
    summary: "All about the session in one answer.",
    params: justSession,
    result: SessionSnapshot,
  }),
  method("session.metadata.isProcessing", {
    summary: "Whether the main agent works.",
    params: justSession,
    result: () => z.object({ processing: z.boolean() }),
  }),
  method("session.metadata.activity", {
    summary: "Whether anything works, and can be stopped.",
    params: justSession,
    result: () => z.object({ abortable: z.boolean(), hasActiveWork: z.boolean() }),
  }),
  method("session.metadata.getClientMetadata", {
    summary: "Notes that clients keep with the session.",
    params: justSession,
    result: stringRecord,
  }),
  method("session.metadata.updateClientMetadata", {
    summary: "Changes those notes.",
    params: () =>
      ofSession({
        clear: flag(),
        remove: strings().optional(),
        set: stringRecord().optional(),
      }),
    result: stringRecord,
  }),
  method("session.metadata.setWorkingDirectory", {
    summary: "Moves the session to another folder.",
    params: () => ofSession({ workingDirectory: z.string() }),
    result: () => z.object({ workingDirectory: z.string() }),
  }),
  method("session.metadata.recordContextChange", {
    summary: "Tells the session that its folder or branch changed.",
    params: () => ofSession({ context: SessionContext() }),
    result: empty,
  }),
);

const context = byName(
  method("session.metadata.contextInfo", {
    summary: "How full the context is.",
    params: () =>
      ofSession({
        promptTokenLimit: count(),
        outputTokenLimit: count(),
        selectedModel: text(),
      }),
    result: () => z.object({ contextInfo: ContextInfo().nullable() }),
  }),
  method("session.metadata.getContextAttribution", {
    summary: "What fills the context.",
    params: justSession,
    result: () =>
      z.object({
        contextAttribution: z
          .object({
            totalTokens: z.number(),
            modelId: z.string(),
            modelSource: z.string(),
            promptTokenLimit: z.number(),
            limit: z.number(),
            bufferTokens: z.number(),
            compactionThreshold: z.number(),
            categories: z.record(z.string(), z.number()),
            entries: z.array(
              z.object({
                kind: z.string(),
                id: z.string(),
                label: z.string(),
                tokens: z.number(),
                parentId: text(),
              }),
            ),
            compactions: z.object({ count: z.number() }),
          })
          .nullable(),
      }),
  }),
  method("session.metadata.getContextHeaviestMessages", {
    summary: "The messages that take most room.",
    params: () => ofSession({ limit: count() }),
    result: () =>
      z.object({
        totalTokens: z.number(),
        messages: z.array(z.object({ id: z.string(), label: z.string(), role: z.string(), tokens: z.number() })),
      }),
  }),
  method("session.metadata.recomputeContextTokens", {
    summary: "Counts the context anew for a model.",
    params: () => ofSession({ modelId: z.string() }),
    result: () =>
      z.object({
        totalTokens: z.number(),
        messagesTokenCount: z.number(),
        systemTokenCount: z.number(),
      }),
  }),
);

export const METADATA_METHODS = { ...state, ...context };
