/** Asks an endpoint which models it has: `GET /models`, as OpenAI-compatible and Anthropic endpoints answer it. */
import { Billing, type ModelCapabilities } from "@retinue/protocol";
import * as z from "zod";
import { type ListedModel, listed, modelInfo } from "./model-info.ts";
import { ModelError } from "./provider.ts";
import type { Source } from "./sources.ts";
import { headersFor, urlFor } from "./wire/endpoint.ts";
import { readText, send } from "./wire/http.ts";

const count = z.number().optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);
const Models = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string().optional().catch(undefined),
      display_name: z.string().optional().catch(undefined),
      context_length: count,
      capabilities: z
        .object({
          supports: z.object({ vision: flag, reasoningEffort: flag }).optional(),
          limits: z
            .object({ max_prompt_tokens: count, max_output_tokens: count, max_context_window_tokens: count })
            .optional(),
        })
        .optional()
        .catch(undefined),
      billing: Billing().optional().catch(undefined),
    }),
  ),
});
type Entry = z.infer<typeof Models>["data"][number];

export const TIMEOUT_MS = 5000;
/** Endpoints list everything that they run; these do not hold a conversation. */
const OTHER_KINDS = /embed|whisper|tts|dall-e|moderation|transcri|realtime|image|audio|rerank/i;

/** Empty when the endpoint cannot be asked: without the list everything still works. */
export async function listRemoteModels(
  source: Pick<Source, "endpoint" | "vision">,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  if (source.endpoint.type === "azure") return []; // Azure lists what could be deployed, not what is deployed.
  try {
    return await askForModels(source, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isUnavailable(error)) return [];
    throw error;
  }
}

/** Rejects when the endpoint cannot be asked, or answers with something else. */
export async function askForModels(
  { endpoint, vision }: Pick<Source, "endpoint" | "vision">,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const answer = await send({
    method: "GET",
    url: urlFor(endpoint, "/models", ""),
    headers: await headersFor(endpoint),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  const { data } = Models.parse(JSON.parse(await readText(answer)));
  return data.filter(({ id }) => !OTHER_KINDS.test(id)).map((entry) => listedEntry(entry, vision));
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof ModelError || error instanceof SyntaxError || error instanceof z.ZodError) return true;
  return error instanceof DOMException && error.name === "TimeoutError";
}

function listedEntry(entry: Entry, vision: boolean | undefined): ListedModel {
  const { id, name, display_name: displayName, context_length: maxContextWindowTokens, billing } = entry;
  const capabilities: ModelCapabilities | undefined = entry.capabilities;
  const info = modelInfo({ capabilities, maxContextWindowTokens, billing }, { capabilities: { supports: { vision } } });
  return listed(id, displayName ?? name ?? id, info);
}
