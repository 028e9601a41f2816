/** Calls about models: which one is asked, who serves it, and what was used. */
import * as z from "zod";
import { AgentUsage, ModelUsage, UnreportedUsage } from "../events/session.ts";
import { byName, justSession, method, ofSession } from "../method.ts";
import { ModelCapabilities, NamedProviderConfig, ProviderType, WireApi } from "../provider-config.ts";
import {
  ContextTier,
  count,
  flag,
  json,
  lazy,
  type Of,
  ReasoningSummary,
  stringRecord,
  strings,
  text,
  Verbosity,
} from "../schema.ts";
import { ModelConfig } from "../session-config.ts";

export const ModelState = lazy(() =>
  z.object({ modelId: text(), reasoningEffort: text(), contextTier: ContextTier().optional() }),
);
export type ModelState = Of<typeof ModelState>;

export const UsageMetrics = lazy(() =>
  z.object({
    totalPremiumRequestCost: z.number(),
    totalUserRequests: z.number(),
    totalNanoAiu: count(),
    totalApiDurationMs: z.number(),
    sessionStartTime: z.string(),
    codeChanges: z.object({
      linesAdded: z.number(),
      linesRemoved: z.number(),
      filesModifiedCount: z.number(),
      filesModified: strings(),
    }),
    modelMetrics: z.record(z.string(), ModelUsage()),
    agentMetrics: z.record(z.string(), AgentUsage()).optional(),
    unreported: UnreportedUsage().optional(),
    currentModel: text(),
    lastCallInputTokens: z.number(),
    lastCallOutputTokens: z.number(),
  }),
);
export type UsageMetrics = Of<typeof UsageMetrics>;

export const MODEL_METHODS = byName(
  method("session.model.getCurrent", {
    summary: "The model that the session asks.",
    params: justSession,
    result: ModelState,
  }),
  method("session.model.switchTo", {
    summary: "Changes the model.",
    params: () =>
      ofSession({
        modelId: z.string(),
        reasoningEffort: text(),
        reasoningSummary: ReasoningSummary().optional(),
        verbosity: Verbosity().optional(),
        modelCapabilities: ModelCapabilities().optional(),
        contextTier: ContextTier().optional(),
        source: text(),
        requireAvailable: flag(),
        deferIfModelChangeQueued: flag(),
      }),
    result: () =>
      z.object({
        modelId: text(),
        deferred: flag(),
        status: text(),
        message: text(),
        warning: text(),
        modelState: ModelState().optional(),
      }),
  }),
  method("session.model.list", {
    summary: "Models that the session can be switched to.",
    params: () => ofSession({ skipCache: flag() }),
    result: () => z.object({ list: z.array(json()) }),
  }),
  method("session.model.setReasoningEffort", {
    summary: "Changes how hard the model thinks.",
    params: () => ofSession({ reasoningEffort: z.string() }),
    result: () => z.object({ reasoningEffort: z.string() }),
  }),
  method("session.model.setAllowedModels", {
    summary: "Limits which models may be asked.",
    params: () => ofSession({ allowedModels: strings().optional() }),
    result: () =>
      z.object({
        allowedModels: strings().optional(),
        effectiveAllowedModels: strings().optional(),
        fallbackModel: text(),
        modelId: text(),
      }),
  }),
  method("session.provider.add", {
    summary: "Adds endpoints and the models that they serve.",
    params: () =>
      ofSession({
        providers: z.array(NamedProviderConfig()).optional(),
        models: z.array(ModelConfig()).optional(),
      }),
    result: () => z.object({ models: z.array(json()) }),
  }),
  method("session.provider.getEndpoint", {
    summary: "Where requests for a model go.",
    params: () => ofSession({ modelId: text() }),
    result: () =>
      z.object({
        type: ProviderType(),
        wireApi: WireApi().optional(),
        baseUrl: z.string(),
        apiKey: text(),
        headers: stringRecord(),
      }),
  }),
  method("session.usage.getMetrics", {
    summary: "Tokens, requests and times, by model and by agent.",
    params: justSession,
    result: UsageMetrics,
  }),
);
