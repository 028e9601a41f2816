/** Model endpoints that a session brings: one for all of it, or several by name. */
import * as z from "zod";
import { Billing } from "./billing.ts";
import { count, flag, lazy, type Of, stringRecord, strings, text } from "./schema.ts";

export const ModelCapabilities = lazy(() =>
  z.object({
    supports: z.object({ vision: flag(), reasoningEffort: flag(), adaptive_thinking: text() }).optional(),
    limits: z
      .object({
        max_prompt_tokens: count(),
        max_output_tokens: count(),
        max_context_window_tokens: count(),
        vision: z
          .object({
            supported_media_types: strings().optional(),
            max_prompt_images: count(),
            max_prompt_image_size: count(),
          })
          .optional(),
      })
      .optional(),
  }),
);
export type ModelCapabilities = Of<typeof ModelCapabilities>;

export const ProviderType = lazy(() => z.enum(["openai", "azure", "anthropic"]));
export type ProviderType = Of<typeof ProviderType>;
export const WireApi = lazy(() => z.enum(["completions", "responses"]));

const endpoint = () => ({
  type: ProviderType().optional(),
  wireApi: WireApi().optional(),
  transport: z.enum(["http", "websockets"]).optional(),
  baseUrl: z.string(),
  apiKey: text(),
  bearerToken: text(),
  azure: z.object({ apiVersion: text() }).optional(),
  headers: stringRecord().optional(),
  /** The client creates tokens on request: `providerToken.getToken` asks for one. */
  hasBearerTokenProvider: flag(),
});

/** One endpoint for the whole session. */
export const ProviderConfig = lazy(() =>
  z.object({
    ...endpoint(),
    providerName: text(),
    modelId: text(),
    modelCapabilities: ModelCapabilities().optional(),
    /** The model name that the endpoint knows, when it differs. */
    wireModel: text(),
    maxPromptTokens: count(),
    maxContextWindowTokens: count(),
    maxOutputTokens: count(),
    /** Ours. */
    billing: Billing().optional(),
  }),
);
export type ProviderConfig = Of<typeof ProviderConfig>;

/** One of several endpoints; models refer to it by name. */
export const NamedProviderConfig = lazy(() => z.object({ ...endpoint(), name: z.string() }));
export type NamedProviderConfig = Of<typeof NamedProviderConfig>;
