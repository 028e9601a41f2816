/**
 * Which provider and which wire model serve a session.
 *
 * The session's own parameters come first (`provider`, or `providers` with `models`), then the sources of the environment and the
 * configuration file, then the offline model. `name/model` picks a provider by name at every step.
 */
import {
  AppError,
  type ModelConfig,
  type NamedProviderConfig,
  type ProviderConfig,
  type SessionConfig,
} from "@retinue/protocol";
import { type ConfiguredModel, type ModelsConfig, readModelsConfig } from "./config.ts";
import { type KnownModels, knownModel, knownToSession } from "./known-models.ts";
import { type ListedModel, listed, type ModelInfo, type ModelLimits, modelInfo } from "./model-info.ts";
import { listRemoteModels } from "./model-list.ts";
import type { Provider } from "./provider.ts";
import { type Source, sources } from "./sources.ts";
import { offlineProvider, providerFor } from "./wire/adapters.ts";
import type { Endpoint } from "./wire/endpoint.ts";

export interface ModelChoice {
  /** The model as the session names it. */
  id: string;
  /** The model as the endpoint names it. */
  wireModel: string;
  provider: Provider;
  info: ModelInfo;
}

export type SessionModelConfig = Pick<
  SessionConfig,
  "model" | "modelCapabilities" | "provider" | "providers" | "models" | "gitHubToken"
>;

/** Asks the client for a token (`providerToken.getToken`); the single provider of a session is called `default`. */
export type AskToken = (providerName: string) => Promise<string>;

export interface CatalogOptions {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  /** `--provider`: a name or a base URL. */
  provider?: string;
  clientToken?: () => string | undefined;
}

export interface Catalog {
  forSession(config: SessionModelConfig, options?: { askToken?: AskToken }): SessionModels;
  /** For `models.list`: what the default provider has, and what the configuration names. */
  list(options: { signal: AbortSignal }): Promise<ListedModel[]>;
  /** What the configuration says about the models of sub-agents. */
  subagents?(): NonNullable<ModelsConfig["subagents"]>;
  /** How many reminders autopilot sends for one prompt, if the file says so. */
  maxAutopilotContinues?(): number | undefined;
  /** Where further agents come from, if the file says so. */
  agentCatalog?(): ModelsConfig["agentCatalog"];
}

export interface SessionModels {
  /** What the session or the configuration names. Endpoints are not asked. */
  known(): KnownModels;
  /** The same choice, and the same provider, for the same name. Throws `not_configured` when nothing can serve it. */
  choose(model?: string): ModelChoice;
}

export function openCatalog(options: CatalogOptions): Catalog {
  let config: ModelsConfig | undefined;
  const offline = offlineProvider();
  const retryWaitMs = retryWait(options.env);
  const sourcesFor = (token?: string) => {
    config ??= readModelsConfig(options.home);
    const clientToken = token === undefined ? options.clientToken : () => token;
    return { config, all: sources({ env: options.env, config, provider: options.provider, clientToken }) };
  };
  return {
    forSession(session, { askToken } = {}) {
      const chosen = new Map<string | undefined, ModelChoice>();
      const providers = new Map<string, Provider>();
      const provide = (endpoint: Endpoint, wireApi: Source["wireApi"]) => {
        const provider = providers.get(endpoint.id) ?? providerFor(endpoint, { wireApi, retryWaitMs });
        providers.set(endpoint.id, provider);
        return provider;
      };
      const context: Context = { session, askToken, provide, offline, sources: () => sourcesFor(session.gitHubToken) };
      return {
        known: () => knownModels(context),
        choose(model) {
          const known = chosen.get(model);
          if (known) return known;
          const choice = choose(context, model);
          chosen.set(model, choice);
          return choice;
        },
      };
    },
    list: async ({ signal }) => await listAll(sourcesFor(), signal),
    subagents: () => sourcesFor().config.subagents ?? {},
    maxAutopilotContinues: () => sourcesFor().config.maxAutopilotContinues,
    agentCatalog: () => sourcesFor().config.agentCatalog,
  };
}

function retryWait({ RETINUE_RETRY_WAIT_MS: text }: CatalogOptions["env"]): number | undefined {
  if (!text?.trim()) return undefined;
  const value = Number(text);
  if (value >= 0 && value <= MAX_RETRY_WAIT_MS) return value;
  const most = MAX_RETRY_WAIT_MS.toLocaleString("en");
  const words = `RETINUE_RETRY_WAIT_MS is ${JSON.stringify(text)}; it must be a number of milliseconds up to ${most}.`;
  throw new AppError("not_configured", words);
}

const MAX_RETRY_WAIT_MS = 60_000;

function knownModels({ session, sources: read }: Context): KnownModels {
  const ofSession = knownToSession(session);
  if (ofSession) return ofSession;
  const { all } = read();
  const listed = all.flatMap((source) =>
    source.models.map((model) => ({
      ...knownModel(`${source.endpoint.id}/${model.id}`, limitsOf(model)),
      family: model.family,
    })),
  );
  return { isComplete: listed.length > 0 && all.every(({ models }) => models.length > 0), models: listed };
}

interface Context {
  session: SessionModelConfig;
  askToken: AskToken | undefined;
  offline: Provider;
  provide(endpoint: Endpoint, wireApi: Source["wireApi"]): Provider;
  sources(): { config: ModelsConfig; all: Source[] };
}

function choose(context: Context, asked: string | undefined): ModelChoice {
  const { session } = context;
  if (session.provider) return fromProvider(context, session.provider, asked);
  return (
    fromNamed(context, asked ?? session.model) ?? fromSources(context, asked ?? session.model) ?? offlineChoice(context)
  );
}

/** The session's only provider. A model that a sub-agent asks for is sent as it is; `wireModel` renames the session's own. */
function fromProvider(context: Context, config: ProviderConfig, asked: string | undefined): ModelChoice {
  const { session } = context;
  const isOwn = asked === undefined || asked === session.model;
  const id = (isOwn ? (session.model ?? config.modelId ?? config.wireModel) : asked) ?? "";
  if (id === "")
    throw new AppError("not_configured", "The session's provider needs a model: set `model` or `provider.modelId`.");
  return {
    id,
    wireModel: isOwn ? (config.wireModel ?? config.modelId ?? id) : id,
    provider: context.provide(endpointOf(context, config, "default"), config.wireApi ?? "completions"),
    info: modelInfo(sessionLimits(session), { ...config, capabilities: config.modelCapabilities }),
  };
}

/** A model of the session's named providers. With none asked for, the first one, unless the runtime has a model of its own. */
function fromNamed(context: Context, asked: string | undefined): ModelChoice | undefined {
  const { providers = [], models = [] } = context.session;
  if (providers.length === 0) return undefined;
  if (asked === undefined && context.sources().all.length > 0) return undefined;
  const model = asked === undefined ? models[0] : findModel(models, asked);
  const [name = "", ...rest] = (asked ?? "").split("/");
  const provider = providers.find((candidate) => candidate.name === (model?.provider ?? name));
  if (model && !provider) {
    throw new AppError(
      "not_configured",
      `The model ${model.id} names a provider ${model.provider} that the session does not have.`,
    );
  }
  if (!provider) return undefined;
  return namedChoice(context, provider, model ?? { id: rest.join("/"), provider: name });
}

function findModel(models: readonly ModelConfig[], asked: string): ModelConfig | undefined {
  return models.find(({ provider, id }) => `${provider}/${id}` === asked) ?? models.find(({ id }) => id === asked);
}

function namedChoice(context: Context, provider: NamedProviderConfig, model: ModelConfig): ModelChoice {
  return {
    id: `${provider.name}/${model.id}`,
    wireModel: model.wireModel ?? model.id,
    provider: context.provide(endpointOf(context, provider, provider.name), provider.wireApi ?? "completions"),
    info: modelInfo(sessionLimits(context.session), model),
  };
}

function endpointOf({ askToken }: Context, config: ProviderConfig | NamedProviderConfig, id: string): Endpoint {
  const { type = "openai", baseUrl, apiKey, bearerToken, azure, headers, hasBearerTokenProvider } = config;
  if (hasBearerTokenProvider && !askToken) {
    throw new AppError(
      "not_configured",
      `The provider ${id} takes its tokens from the client, and no client is attached.`,
    );
  }
  const tokenProvider = hasBearerTokenProvider && askToken ? () => askToken(id) : undefined;
  return { id, type, baseUrl, apiKey, bearerToken, azure, headers, tokenProvider, origin: sessionOrigin(config) };
}

/** In the words of the session's options. */
function sessionOrigin(config: ProviderConfig | NamedProviderConfig): Endpoint["origin"] {
  const of = "name" in config ? `of the session's provider ${config.name}` : "of the session's provider";
  const named = config.bearerToken === undefined ? "apiKey" : "bearerToken";
  const key = config.hasBearerTokenProvider ? "bearerTokenProvider" : named;
  return { address: `"baseUrl" ${of}`, key: `"${key}" ${of}` };
}

function fromSources(context: Context, asked: string | undefined): ModelChoice | undefined {
  const { config, all } = context.sources();
  if (asked === "offline") return undefined;
  const wanted = asked ?? (config.model && sourceNamed(all, config.model) === all[0] ? config.model : undefined);
  const source = sourceFor(all, wanted);
  if (!source) return undefined;
  const { endpoint, wireApi } = source;
  const name = localName(source, wanted ?? source.defaultModel ?? config.model ?? "");
  if (name === "") {
    throw new AppError(
      "not_configured",
      `The provider ${endpoint.id} at ${endpoint.baseUrl} needs a model: set RETINUE_MODEL or name one.`,
    );
  }
  const model = source.models.find(({ id }) => id === name);
  return {
    id: wanted ?? name,
    wireModel: model?.wireModel ?? name,
    provider: context.provide(endpoint, wireApi),
    info: modelInfo(sessionLimits(context.session), model && limitsOf(model), sourceLimits(source)),
  };
}

/** By name, else the first that lists the model, else the first that has such models, else the first. */
function sourceFor(all: readonly Source[], model: string | undefined): Source | undefined {
  const [first] = all;
  if (model === undefined) return first;
  const listing = all.find((source) => source.models.some(({ id }) => id === model));
  const serving = first?.serves ? all.find((source) => source.serves?.test(model)) : undefined;
  return sourceNamed(all, model) ?? listing ?? serving ?? first;
}

function sourceNamed(all: readonly Source[], model: string): Source | undefined {
  return all.find((source) => model.startsWith(`${source.endpoint.id}/`));
}

function localName({ endpoint }: Source, model: string): string {
  return model.startsWith(`${endpoint.id}/`) ? model.slice(endpoint.id.length + 1) : model;
}

function offlineChoice({ session, offline }: Context): ModelChoice {
  return { id: "offline", wireModel: "offline", provider: offline, info: modelInfo(sessionLimits(session)) };
}

const sessionLimits = ({ modelCapabilities }: SessionModelConfig): ModelLimits => ({ capabilities: modelCapabilities });
const sourceLimits = ({ vision, structuredOutput }: Source): ModelLimits => ({
  capabilities: { supports: { vision } },
  structuredOutput,
});
const limitsOf = ({ vision, reasoningEffort, ...limits }: ConfiguredModel): ModelLimits => ({
  ...limits,
  capabilities: { supports: { vision, reasoningEffort } },
});

async function listAll({ all }: { all: readonly Source[] }, signal: AbortSignal): Promise<ListedModel[]> {
  const [first] = all;
  if (!first) return [listed("offline", "Offline (rule-based)", modelInfo())];
  const remote = first.models.length > 0 ? [] : await listRemoteModels(first, signal);
  const named = all.flatMap((source) =>
    source.models.map((model) => {
      const id = `${source.endpoint.id}/${model.id}`;
      return listed(id, model.name ?? id, modelInfo(limitsOf(model), sourceLimits(source)));
    }),
  );
  const found = [...remote, ...named];
  return found.length > 0
    ? found
    : [listed(first.defaultModel ?? "default", first.defaultModel ?? "default", modelInfo())];
}
