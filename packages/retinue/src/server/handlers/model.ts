/** The model of a session, its provider and usage, and the session's options and name. */
import {
  AppError,
  defined,
  type ModelConfig,
  type NamedProviderConfig,
  type Result,
  type SessionConfig,
} from "@retinue/protocol";
import { checkConfig } from "../../host/config-check.ts";
import type { HostedSession } from "../../host/hosted-session.ts";
import { checkModel, modelState, switchModel } from "../../host/model-switch.ts";
import { selectAgent } from "../../host/select-agent.ts";
import { usageMetrics } from "../../host/usage.ts";
import { moveTo, rename } from "../../host/workspace-record.ts";
import { listed } from "../../models/model-info.ts";
import type { TreeParts } from "../../tree/parts.ts";
import { type CallScope, type Handlers, hosted } from "../handler.ts";

export const modelHandlers: Handlers = {
  "session.model.getCurrent": (params, scope) => modelState(hosted(params, scope)),
  "session.model.switchTo": (params, scope) => {
    const target = hosted(params, scope);
    const { modelId, reasoningEffort, modelCapabilities, reasoningSummary, source = "sdk" } = params;
    checkModel(target.tree, modelId);
    const before = target.session.state.model ?? "";
    target.configure({ modelCapabilities, reasoningSummary });
    switchModel(target, { model: modelId, reasoningEffort, source });
    const message = `Model changed from ${before} to ${modelId}`;
    return { status: "applied", deferred: false, modelId, message, modelState: modelState(target) };
  },
  "session.model.list": async (params, scope) => ({ list: await modelsOf(hosted(params, scope).tree, scope) }),
  "session.model.setReasoningEffort": (params, scope) => {
    const target = hosted(params, scope);
    const { reasoningEffort } = params;
    switchModel(target, { model: target.main.model().id, reasoningEffort, source: "sdk" });
    return { reasoningEffort };
  },
  "session.model.setAllowedModels": (params, scope) => allowOnly(hosted(params, scope), params.allowedModels),

  "session.provider.add": (params, scope) => {
    const target = hosted(params, scope);
    const { tree } = target;
    const { providers = [], models = [] } = params;
    target.configure({
      providers: merged(tree.configuration.current.providers ?? [], providers, ({ name }: NamedProviderConfig) => name),
      models: merged(
        tree.configuration.current.models ?? [],
        models,
        ({ provider, id }: ModelConfig) => `${provider}/${id}`,
      ),
    });
    return { models: models.map((model) => listedModel(tree, model)) };
  },
  "session.provider.getEndpoint": (params, scope) => endpointOf(hosted(params, scope).tree, params.modelId),

  "session.usage.getMetrics": (params, scope) => {
    const target = hosted(params, scope);
    const { session } = target;
    const { inputTokens, outputTokens } = session.state.usage.lastCall;
    return { ...usageMetrics(target).metrics, lastCallInputTokens: inputTokens, lastCallOutputTokens: outputTokens };
  },

  "session.options.update": async (params, scope) => {
    const { sessionId: _, coauthorEnabled: _c, manageScheduleEnabled: _m, installedPlugins: _i, ...config } = params;
    await updateOptions(hosted(params, scope), config, scope);
    return { success: true };
  },

  "session.name.get": async (params, scope) => {
    const { session, store } = hosted(params, scope);
    await session.log.committed();
    return { name: (await store.sessions.get(session.id))?.name ?? null };
  },
  "session.name.set": (params, scope) => {
    const name = params.name.trim();
    if (name === "") throw new AppError("invalid_params", "Session name must not be empty");
    rename(hosted(params, scope), name, { byUser: true });
  },
  "session.name.setAuto": async (params, scope) => {
    const target = hosted(params, scope);
    const summary = params.summary.trim();
    await target.session.log.committed();
    const record = await target.store.sessions.get(target.session.id);
    const applied = summary !== "" && record?.userNamed !== true;
    if (applied) rename(target, summary, { byUser: false });
    return { applied };
  },
};

async function modelsOf(tree: TreeParts, { sessions, signal }: CallScope): Promise<unknown[]> {
  const { models = [], provider } = tree.configuration.current;
  if (models.length > 0) return models.map((model) => listedModel(tree, model));
  return provider ? [] : await sessions.shared.catalog.list({ signal });
}

function listedModel(tree: TreeParts, { provider, id, name }: ModelConfig) {
  const full = `${provider}/${id}`;
  return listed(full, name ?? id, tree.configuration.models.choose(full).info);
}

/** A model that is no longer allowed is replaced by the first that is. */
function allowOnly(target: HostedSession, allowed: string[] | undefined): Result<"session.model.setAllowedModels"> {
  const { tree, session } = target;
  const [fallbackModel] = allowed ?? [];
  if (allowed && fallbackModel === undefined)
    throw new AppError("invalid_params", "At least one model must be allowed");
  tree.configuration.allowModels(allowed);
  const { model } = session.state;
  if (allowed && fallbackModel && (model === undefined || !allowed.includes(model))) {
    switchModel(target, { model: fallbackModel, source: "sdk", cause: "allowed_models" });
  }
  const limits = allowed ? { allowedModels: allowed, effectiveAllowedModels: allowed, fallbackModel } : {};
  return { ...limits, modelId: session.state.model };
}

function merged<T>(before: readonly T[], added: readonly T[], keyOf: (item: T) => string): T[] {
  return [...new Map([...before, ...added].map((item) => [keyOf(item), item])).values()];
}

/** Includes keys only of endpoints that a client configured, since it knows them already. */
function endpointOf(tree: TreeParts, modelId: string | undefined): Result<"session.provider.getEndpoint"> {
  const { provider: single, providers = [] } = tree.configuration.current;
  const choice = tree.configuration.models.choose(modelId ?? tree.root.state.model);
  const given = single ?? providers.find(({ name }) => choice.id.startsWith(`${name}/`));
  if (given) {
    const { type = "openai", wireApi = "completions", baseUrl, apiKey, headers = {} } = given;
    return { type, wireApi, baseUrl, ...(apiKey ? { apiKey } : {}), headers };
  }
  const { baseUrl, apiEndpoint } = choice.provider;
  if (baseUrl === undefined) throw new AppError("not_configured", `The model ${choice.id} is served by no endpoint`);
  const type = apiEndpoint === "/v1/messages" ? "anthropic" : "openai";
  return { type, wireApi: apiEndpoint === "/responses" ? "responses" : "completions", baseUrl, headers: {} };
}

async function updateOptions(target: HostedSession, config: SessionConfig, { client }: CallScope): Promise<void> {
  const { tree, session } = target;
  checkConfig(config);
  const { model, reasoningEffort, agent, workingDirectory, disabledMcpServers } = config;
  if (model !== undefined) checkModel(tree, model);
  if (agent !== undefined) tree.configuration.agents.getSelectable(agent); // Before anything is changed.
  const participant = tree.participants.of(client);
  if (participant) participant.config = { ...participant.config, ...defined(config) };
  target.configure(config);
  if (workingDirectory !== undefined && workingDirectory !== session.place.workingDirectory)
    await moveTo(target, workingDirectory);
  if (disabledMcpServers) await disableServers(tree, disabledMcpServers);
  const hasNewEffort = reasoningEffort !== undefined && reasoningEffort !== session.state.reasoningEffort;
  if ((model !== undefined && model !== session.state.model) || hasNewEffort) {
    switchModel(target, { model: model ?? target.main.model().id, reasoningEffort, source: "sdk" });
  }
  if (agent !== undefined) selectAgent(target, agent);
  tree.asks.redeliver();
}

async function disableServers(tree: TreeParts, names: readonly string[]): Promise<void> {
  const known = new Set((await tree.servers.list()).map(({ name }) => name));
  if (known.size === 0) return;
  const host = await tree.servers.host();
  await Promise.all(names.filter((name) => known.has(name)).map((name) => host.disable(name)));
}
