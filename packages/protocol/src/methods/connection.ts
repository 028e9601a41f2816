/** Calls on the connection and the runtime as a whole. */
import * as z from "zod";
import { Billing } from "../billing.ts";
import { byName, method, noParams, nothing } from "../method.ts";
import { ModelCapabilities } from "../provider-config.ts";
import { flag, jsonObject, lazy, type Of, strings, text } from "../schema.ts";
import { CommandInfo } from "./commands.ts";

/** Kinds of tasks that a client understands. */
export const TaskKind = lazy(() => z.enum(["agent", "client", "shell"]));

export const ModelInfo = lazy(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    capabilities: ModelCapabilities(),
    policy: z.object({ state: z.enum(["enabled", "disabled", "unconfigured"]), terms: text() }).optional(),
    billing: Billing().optional(),
    supportedReasoningEfforts: strings().optional(),
    defaultReasoningEffort: text(),
    supportedContextTiers: strings().optional(),
    metadata: jsonObject().optional(),
  }),
);
export type ModelInfo = Of<typeof ModelInfo>;

const credentials = lazy(() => z.object({ selectionId: text(), gitHubToken: text() }));

const Quota = lazy(() =>
  z.object({
    isUnlimitedEntitlement: z.boolean(),
    entitlementRequests: z.number(),
    usedRequests: z.number(),
    usageAllowedWithExhaustedQuota: z.boolean(),
    remainingPercentage: z.number(),
    overage: z.number(),
    overageAllowedWithExhaustedQuota: z.boolean(),
    resetDate: text(),
  }),
);

export const CONNECTION_METHODS = byName(
  method("connect", {
    summary: "Opens the connection: checks the token and agrees on the protocol version.",
    params: () =>
      z.object({
        token: text(),
        supportedTaskKinds: strings().optional(),
        enableGitHubTelemetryForwarding: flag(),
        clientInfo: jsonObject().optional(),
      }),
    result: () =>
      z.object({
        ok: z.literal(true),
        protocolVersion: z.number(),
        version: z.string(),
        taskKinds: z.array(TaskKind()).optional(),
      }),
  }),
  method("ping", {
    summary: "Answers when the runtime is up, and says which protocol it speaks.",
    params: () => z.object({ message: text() }),
    result: () => z.object({ message: z.string(), timestamp: z.string(), protocolVersion: z.number() }),
  }),
  method("secrets.addFilterValues", {
    summary:
      "Registers values that are hidden from now on in events, logs, the store and everything that is searched or exported.",
    params: () => z.object({ values: z.array(z.string()) }),
    result: () => z.object({ ok: z.literal(true) }),
  }),
  method("status.get", {
    summary: "Version of the runtime.",
    params: noParams,
    result: () => z.object({ version: z.string(), protocolVersion: z.number() }),
  }),
  method("auth.getStatus", {
    summary: "Whether the runtime has credentials for a model provider.",
    params: noParams,
    result: () =>
      z.object({
        isAuthenticated: z.boolean(),
        statusMessage: text(),
        authType: text(),
        host: text(),
        login: text(),
      }),
  }),
  method("account.getQuota", {
    summary: "What is left of the account's quota.",
    params: credentials,
    result: () => z.object({ quotaSnapshots: z.record(z.string(), Quota()) }),
  }),
  method("models.list", {
    summary: "Models that can be asked.",
    params: credentials,
    result: () => z.object({ models: z.array(ModelInfo()) }),
  }),
  method("models.getBuiltInCatalog", {
    summary: "Models that the runtime knows without asking anybody.",
    params: noParams,
    result: () => z.object({ models: z.array(z.object({ id: z.string() })) }),
  }),
  method("tools.list", {
    summary: "Built-in tools, as a model would see them.",
    params: () => z.object({ model: text() }),
    result: () =>
      z.object({
        tools: z.array(
          z.object({
            name: z.string(),
            namespacedName: text(),
            description: z.string(),
            parameters: jsonObject().optional(),
            instructions: text(),
          }),
        ),
      }),
  }),
  method("commands.list", {
    summary: "Built-in slash commands.",
    params: noParams,
    result: () => z.object({ commands: z.array(CommandInfo()) }),
  }),
  method("runtime.shutdown", {
    summary: "Stores everything; the runtime runs on until it is ended.",
    params: noParams,
    result: nothing,
  }),
);
