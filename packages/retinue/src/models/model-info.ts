/** What is known about a model: its limits, whether it takes images, what it costs; and its form in `models.list`. */
import type { Billing, ModelCapabilities } from "@retinue/protocol";
import type { Pricing } from "./price.ts";

export interface ModelInfo extends Pricing {
  maxPromptTokens: number;
  contextWindow: number;
  maxOutputTokens?: number;
  vision: boolean;
  reasoningEffort: boolean;
  /** The endpoint can be told the JSON Schema of an answer. */
  structuredOutput: boolean;
}

/** Any source of limits; the names are those of the session's configuration. */
export interface ModelLimits {
  maxPromptTokens?: number;
  maxContextWindowTokens?: number;
  maxOutputTokens?: number;
  capabilities?: ModelCapabilities;
  multiplier?: number;
  billing?: Billing;
  structuredOutput?: boolean;
}

const DEFAULT_PROMPT_TOKENS = 128_000;

/** Of several sources, the first that knows a value gives it. */
export function modelInfo(...sources: readonly (ModelLimits | undefined)[]): ModelInfo {
  const known = sources.map((source) => flat(source ?? {}));
  const first = <Key extends keyof ModelInfo>(key: Key) => known.find((info) => info[key] !== undefined)?.[key];
  const contextWindow = first("contextWindow");
  const maxPromptTokens = first("maxPromptTokens") ?? contextWindow ?? DEFAULT_PROMPT_TOKENS;
  return {
    maxPromptTokens,
    contextWindow: contextWindow ?? maxPromptTokens,
    maxOutputTokens: first("maxOutputTokens"),
    vision: first("vision") ?? false,
    reasoningEffort: first("reasoningEffort") ?? false,
    structuredOutput: first("structuredOutput") ?? false,
    multiplier: first("multiplier"),
    tokenPrices: first("tokenPrices"),
  };
}

function flat({ capabilities, ...source }: ModelLimits): Partial<ModelInfo> {
  const { limits, supports } = capabilities ?? {};
  return {
    maxPromptTokens: source.maxPromptTokens ?? limits?.max_prompt_tokens,
    contextWindow: source.maxContextWindowTokens ?? limits?.max_context_window_tokens,
    maxOutputTokens: source.maxOutputTokens ?? limits?.max_output_tokens,
    vision: supports?.vision,
    reasoningEffort: supports?.reasoningEffort,
    structuredOutput: source.structuredOutput,
    multiplier: source.multiplier ?? source.billing?.multiplier,
    tokenPrices: source.billing?.tokenPrices,
  };
}

export interface ListedModel {
  id: string;
  name: string;
  capabilities: {
    supports: { vision: boolean; reasoningEffort: boolean };
    limits: { max_prompt_tokens: number; max_output_tokens?: number; max_context_window_tokens: number };
  };
  billing?: Billing;
}

export function listed(id: string, name: string, info: ModelInfo): ListedModel {
  const { vision, reasoningEffort, maxPromptTokens, maxOutputTokens, contextWindow, multiplier, tokenPrices } = info;
  return {
    id,
    name,
    capabilities: {
      supports: { vision, reasoningEffort },
      limits: {
        max_prompt_tokens: maxPromptTokens,
        max_output_tokens: maxOutputTokens,
        max_context_window_tokens: contextWindow,
      },
    },
    billing: multiplier === undefined && !tokenPrices ? undefined : { multiplier, tokenPrices },
  };
}
