/**
 * Where models come from outside a session's own parameters: the environment, then the configuration file.
 *
 * A source has a name, so that `name/model` picks it. The first one is the default.
 */
import { AppError } from "@retinue/protocol";
import { redact } from "../secrets/redact.ts";
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
  /** Its models take a JSON Schema for their answers. */
  structuredOutput?: boolean;
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
  if (/^https?:\/\//.test(provider)) return [addressSource(provider, { env, from: "--provider" }), ...all];
  const chosen = all.find((source) => source.endpoint.id === provider);
  if (chosen) return [chosen, ...all.filter((source) => source !== chosen)];
  const names = [...all.map((source) => source.endpoint.id), "offline"].join(", ");
  throw new AppError("not_configured", `There is no provider ${provider}. Known are: ${names}.`);
}

function retinueSource(env: SourceOptions["env"]): Source[] {
  const { RETINUE_PROVIDER_URL: url } = env;
  return url ? [addressSource(url, { env, from: "RETINUE_PROVIDER_URL" })] : [];
}

function addressSource(address: string, { env, from }: { env: SourceOptions["env"]; from: string }): Source {
  const baseUrl = usableAddress(address, from);
  const origin = { address: from, key: "RETINUE_API_KEY" };
  const endpoint = { id: "retinue", type: typeOfAddress(baseUrl), baseUrl, apiKey: env.RETINUE_API_KEY, origin };
  return { endpoint, wireApi: "completions", models: [], defaultModel: env.RETINUE_MODEL };
}

/** Without the scheme, `localhost:11434` would be an address of the kind "localhost". */
function usableAddress(address: string, from: string): string {
  if (/^https?:\/\/./i.test(address) && URL.canParse(address)) return address;
  const words = `${from} is ${JSON.stringify(redact(address))}; it must be an address such as http://localhost:11434/v1.`;
  throw new AppError("not_configured", words);
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
  const origin = { address: "COPILOT_API_URL", key: "the sign-in of the client (COPILOT_SDK_AUTH_TOKEN)" };
  const endpoint: Endpoint = {
    id: "copilot",
    type: "openai",
    baseUrl: usableAddress(baseUrl, "COPILOT_API_URL"),
    tokenProvider,
    origin,
  };
  return [{ endpoint, wireApi: "completions", models: [], defaultModel: env.RETINUE_MODEL ?? "gpt-4.1" }];
}

function openaiSource(env: SourceOptions["env"]): Source[] {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1" } = env;
  if (!apiKey) return [];
  const origin = originOf(env, "OPENAI_BASE_URL", "OPENAI_API_KEY");
  const endpoint: Endpoint = { id: "openai", type: "openai", baseUrl, apiKey, origin };
  const serves = env.OPENAI_BASE_URL ? undefined : /^(gpt|chatgpt|codex|o\d)/;
  const defaultModel = env.RETINUE_MODEL ?? "gpt-4.1";
  const isOwn = serves !== undefined;
  return [
    { endpoint, wireApi: "completions", models: [], defaultModel, serves, vision: isOwn, structuredOutput: isOwn },
  ];
}

function anthropicSource(env: SourceOptions["env"]): Source[] {
  const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseUrl = "https://api.anthropic.com" } = env;
  if (!apiKey) return [];
  const origin = originOf(env, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY");
  const endpoint: Endpoint = { id: "anthropic", type: "anthropic", baseUrl, apiKey, origin };
  const defaultModel = env.RETINUE_MODEL ?? "claude-sonnet-4-5";
  return [{ endpoint, wireApi: "completions", models: [], defaultModel, serves: /^claude/, vision: true }];
}

function configuredSource(entry: ConfiguredProvider, env: SourceOptions["env"]): Source {
  const { name, wireApi = "completions", models, apiKeyEnv, apiKey, ...rest } = entry;
  const key = apiKey ?? (apiKeyEnv === undefined ? undefined : env[apiKeyEnv]);
  const field = (each: string) => `"${each}" of the provider ${name} in config.json`;
  const keyField = rest.bearerToken === undefined ? "apiKey" : "bearerToken";
  const origin = {
    address: field("baseUrl"),
    key: apiKeyEnv !== undefined && apiKey === undefined && keyField === "apiKey" ? apiKeyEnv : field(keyField),
    models: models.map(({ id }) => id),
  };
  return { endpoint: { ...rest, id: name, apiKey: key, origin }, wireApi, models, defaultModel: models[0]?.id };
}

/** The address of a variable that is not set is the provider's own. */
function originOf(env: SourceOptions["env"], address: string, key: string): Endpoint["origin"] {
  if (env[address]) usableAddress(env[address], address);
  return { address: env[address] ? address : undefined, key };
}
