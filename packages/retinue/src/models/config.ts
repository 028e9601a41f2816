/** The providers that a person has set up: `config.json` in the home folder. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, Billing, lazy, messageOf } from "@retinue/protocol";
import * as z from "zod";
import { nearest } from "../nearest.ts";
import { addOwnKey } from "../secrets/known-values.ts";
import { dotted, unknownKeys } from "./unknown-keys.ts";

/** Sources that the environment sets up, and the offline model. */
const BUILTIN_SOURCES = ["retinue", "copilot", "openai", "anthropic", "offline"];

const count = lazy(() => z.number().int().positive().optional());

/** Built when there is a file to read: most homes have none. */
const ConfiguredModel = lazy(() =>
  z.union([
    z.string().transform((id): ConfiguredModel => ({ id })),
    z.object({
      id: z.string(),
      name: z.string().optional(),
      /** The name that the endpoint knows, when it differs. */
      wireModel: z.string().optional(),
      maxPromptTokens: count(),
      maxContextWindowTokens: count(),
      maxOutputTokens: count(),
      vision: z.boolean().optional(),
      /** It takes a JSON Schema for its answer (`response_format`) beside tools. */
      structuredOutput: z.boolean().optional(),
      /** It can be told how long to think. */
      reasoningEffort: z.boolean().optional(),
      /** Who made it, where its name does not say so. */
      family: z.string().min(1).optional(),
      multiplier: z.number().optional(),
      billing: Billing().optional(),
    }),
  ]),
);
export interface ConfiguredModel {
  id: string;
  name?: string;
  wireModel?: string;
  maxPromptTokens?: number;
  maxContextWindowTokens?: number;
  maxOutputTokens?: number;
  vision?: boolean;
  structuredOutput?: boolean;
  reasoningEffort?: boolean;
  family?: string;
  multiplier?: number;
  billing?: Billing;
}

const ConfiguredProvider = lazy(() =>
  z.object({
    name: z.string().regex(/^[^/]+$/, "a provider's name has no slash"),
    type: z.enum(["openai", "azure", "anthropic"]).default("openai"),
    wireApi: z.enum(["completions", "responses"]).optional(),
    baseUrl: z.url({ protocol: /^https?$/ }),
    apiKey: z.string().optional(),
    /** Names the environment variable that holds the key. */
    apiKeyEnv: z.string().optional(),
    bearerToken: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    azure: z.object({ apiVersion: z.string().optional() }).optional(),
    models: z.array(ConfiguredModel()).default([]),
  }),
);
export type ConfiguredProvider = z.infer<ReturnType<typeof ConfiguredProvider>>;

/** A header with a secret is named by the variable that holds its value. */
const AgentCatalogSettings = lazy(() =>
  z.object({
    url: z.url({ protocol: /^https?$/ }),
    headers: z.record(z.string(), z.string()).optional(),
    /** Names the environment variable with the token that signs in. */
    tokenEnv: z.string().optional(),
    timeoutSeconds: z.number().positive().max(300).optional(),
    /** Whether MCP servers of its agents may start. */
    allowServers: z.boolean().optional(),
  }),
);
export type AgentCatalogSettings = z.infer<ReturnType<typeof AgentCatalogSettings>>;

export const ModelsConfig = lazy(() =>
  z.looseObject({
    /** `provider/model`, or a model of the first provider. */
    model: z.string().optional(),
    providers: z.array(ConfiguredProvider()).default([]),
    /** Variables with credentials that shells are given all the same. */
    shellEnv: z.array(z.string()).optional(),
    /** Where further agents come from; see host/agent-catalog.ts. */
    agentCatalog: AgentCatalogSettings().optional(),
    /** How many reminders autopilot sends for one prompt. */
    maxAutopilotContinues: z.number().int().min(0).max(1000).optional(),
    /** Whether closed sessions are consolidated by themselves, and within which bounds; see host/subconscious.ts. */
    subconscious: z
      .object({
        enabled: z.boolean().optional(),
        minUserTurns: count(),
        maxSeconds: z.number().min(10).max(3600).optional(),
        maxTokens: count(),
        maxCost: z.number().positive().optional(),
      })
      .optional(),
    /** How the models of sub-agents are chosen; see agents/model-policy.ts. */
    subagents: z
      .object({
        costGuard: z.boolean().optional(),
        fastModel: z.string().optional(),
        otherFamily: z.boolean().optional(),
        /** How many may work at the same time, where the environment does not say it. */
        maxConcurrent: z.number().int().min(1).max(256).optional(),
      })
      .optional(),
  }),
);
export type ModelsConfig = z.infer<ReturnType<typeof ModelsConfig>>;

export function readModelsConfig(home: string): ModelsConfig {
  const file = join(home, "config.json");
  const text = readIfThere(file);
  if (text === undefined) return { providers: [] };
  const { config, problem, cause } = examine(parseJson(text, file));
  if (config) return known(config);
  throw new AppError("not_configured", `${file} is not valid: ${problem}`, { cause });
}

/** Why a configuration could not be used, in one line. */
export const configProblem = (data: unknown): string | undefined => examine(data).problem;

function examine(data: unknown): { config?: ModelsConfig; problem?: string; cause?: z.ZodError } {
  const { data: config, error: cause } = ModelsConfig().safeParse(data);
  if (cause) return { problem: problemsOf(cause), cause };
  const [misspelt] = unknownKeys(data, ModelsConfig()).filter(({ isError }) => isError);
  const problem = misspelt?.words ?? modelProblem(config);
  return problem === undefined ? { config } : { problem };
}

/** What of the file has no effect, in words. Other programs may keep settings of their own in it, so that is no error. */
export function configWarnings(home: string): string[] {
  const file = join(home, "config.json");
  try {
    const text = readIfThere(file);
    if (text === undefined) return [];
    const found = unknownKeys(parseJson(text, file), ModelsConfig());
    return found.filter(({ isError }) => !isError).map(({ words }) => `${file}: ${words}`);
  } catch (error) {
    if (error instanceof AppError) return []; // Whoever needs the file reports that it cannot be read.
    throw error;
  }
}

/** A provider that nobody has set up would be passed over in silence, and another model would answer. */
function modelProblem({ model = "", providers }: ModelsConfig): string | undefined {
  const [name = "", ...rest] = model.split("/");
  const names = [...providers.map((provider) => provider.name), ...BUILTIN_SOURCES];
  if (rest.length === 0 || names.includes(name)) return undefined;
  const isListed = providers.some(({ models }) => models.some(({ id }) => id === model));
  const mayBeServed = providers.some(({ models }) => models.length === 0);
  const meant = nearest(name, names);
  if (isListed || (mayBeServed && meant === undefined)) return undefined;
  const hint = meant === undefined ? `There are: ${names.join(", ")}` : `Did you mean ${meant}/${rest.join("/")}?`;
  return `model: there is no provider '${name}'. ${hint}`;
}

/** In one line, by the place in the file: "providers[0].baseUrl is missing". */
function problemsOf({ issues }: z.ZodError): string {
  return issues.map((issue) => `${dotted(issue.path) || "it"} ${problemOf(issue)}`).join("; ");
}

function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_union") return "has another form than it must have";
  if (issue.code !== "invalid_type") return `is wrong: ${issue.message}`;
  return issue.message.endsWith("received undefined") ? "is missing" : `must be ${withArticle(issue.expected)}`;
}

const withArticle = (kind: string): string => `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;

/** From now on the keys of the file are hidden wherever they turn up, for example when somebody reads the file aloud. */
function known(config: ModelsConfig): ModelsConfig {
  for (const { apiKey, bearerToken, headers = {} } of config.providers)
    for (const value of [apiKey, bearerToken, ...Object.values(headers)]) addOwnKey(value);
  return config;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw new AppError("not_configured", `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError("not_configured", `${file} is not JSON: ${messageOf(cause)}`, { cause });
  }
}

/** The variables that the configuration names as credentials, and those that shells are given all the same. */
export function credentialVariables(home: string): { names: string[]; allowed: string[] } {
  const { providers, shellEnv = [] } = readModelsConfig(home);
  return { names: providers.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []), allowed: shellEnv };
}
