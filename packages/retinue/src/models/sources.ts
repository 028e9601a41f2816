/**
 * Where models come from outside a session's own parameters: the environment, then the configuration file.
 *
 * A source has a name, so that `name/model` picks it. The first one is the default.
 */
import { AppError } from "@retinue/protocol";
import type { ConfiguredModel, ConfiguredProvider, ModelsConfig } from "./config.ts";
import type { Endpoint } from "./wire/endpoint.ts";

export interface Source {
  endpoint: Endpoint;
  wireApi: "completions" | "responses";
  models: readonly ConfiguredModel[];
  /** Used when nobody names a model. */
  defaultModel?: string;
  /** Models that this source is known to have, when it is not asked for by name. */
  serves?: RegExp;
  vision?: boolean;
}

export interface SourceOptions {
  env: Readonly<Record<string, string | undefined>>;
  config: ModelsConfig;
  /** A source's name, or a base URL: `--provider`. */
  provider?: string;
  /** The client's sign-in token; the bearer token for `COPILOT_API_URL`. */
  clientToken?: () => string | undefined;
}

export function sources({ env, config, provider, clientToken }: SourceOptions): Source[] {
  const configured = config.providers.map((entry) => configuredSource(entry, env));
  const [chosenByConfig] = config.model?.includes("/") ? config.model.split("/") : [];
  const isChosen = (source: Source) => source.endpoint.id === chosenByConfig;
  const all = [
    ...retinueSource(env),
    ...copilotSource(env, clientToken),
    ...configured.filter(isChosen),
    ...openaiSource(env),
    ...anthropicSource(env),
    ...configured.filter((source) => !isChosen(source)),
  ];
  return provider === undefined ? all : chosenFirst(all, provider, env);
}

function chosenFirst(all: readonly Source[], provider: string, env: SourceOptions["env"]): Source[] {
  if (provider === "offline") return [];
  if (/^https?:\/\//.test(provider)) return [addressSource(provider, env), ...all];
  const chosen = all.find((source) => source.endpoint.id === provider);
  if (chosen) return [chosen, ...all.filter((source) => source !== chosen)];
  const names = [...all.map((source) => source.endpoint.id), "offline"].join(", ");
  throw new AppError("not_configured", `There is no provider ${provider}. Known are: ${names}.`);
}

function retinueSource(env: SourceOptions["env"]): Source[] {
  const { RETINUE_PROVIDER_URL: url } = env;
  return url ? [addressSource(url, env)] : [];
}

function addressSource(baseUrl: string, env: SourceOptions["env"]): Source {
  const endpoint = { id: "retinue", type: typeOfAddress(baseUrl), baseUrl, apiKey: env.RETINUE_API_KEY };
  return { endpoint, wireApi: "completions", models: [], defaultModel: env.RETINUE_MODEL };
}

function typeOfAddress(baseUrl: string): Endpoint["type"] {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  if (host.endsWith("anthropic.com")) return "anthropic";
  return host.endsWith(".openai.azure.com") ? "azure" : "openai";
}

function copilotSource(env: SourceOptions["env"], clientToken: SourceOptions["clientToken"]): Source[] {
  const { COPILOT_API_URL: baseUrl } = env;
  if (!baseUrl) return [];
  const tokenProvider = async () => clientToken?.() ?? "";
  const endpoint: Endpoint = { id: "copilot", type: "openai", baseUrl, tokenProvider };
  return [{ endpoint, wireApi: "completions", models: [], defaultModel: env.RETINUE_MODEL ?? "gpt-4.1" }];
}

function openaiSource(env: SourceOptions["env"]): Source[] {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1" } = env;
  if (!apiKey) return [];
  const endpoint: Endpoint = { id: "openai", type: "openai", baseUrl, apiKey };
  const serves = env.OPENAI_BASE_URL ? undefined : /^(gpt|chatgpt|codex|o\d)/;
  const defaultModel = env.RETINUE_MODEL ?? "gpt-4.1";
  return [{ endpoint, wireApi: "completions", models: [], defaultModel, serves, vision: serves !== undefined }];
}

function anthropicSource(env: SourceOptions["env"]): Source[] {
  const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseUrl = "https://api.anthropic.com" } = env;
  if (!apiKey) return [];
  const endpoint: Endpoint = { id: "anthropic", type: "anthropic", baseUrl, apiKey };
  const defaultModel = env.RETINUE_MODEL ?? "claude-sonnet-4-5";
  return [{ endpoint, wireApi: "completions", models: [], defaultModel, serves: /^claude/, vision: true }];
}

function configuredSource(entry: ConfiguredProvider, env: SourceOptions["env"]): Source {
  const { name, wireApi = "completions", models, apiKeyEnv, apiKey, ...rest } = entry;
  const key = apiKey ?? (apiKeyEnv === undefined ? undefined : env[apiKeyEnv]);
  return { endpoint: { ...rest, id: name, apiKey: key }, wireApi, models, defaultModel: models[0]?.id };
}
