/** Makes the provider for an endpoint. The code of a wire format is loaded with the first request that needs it. */
import { redact } from "../../secrets/redact.ts";
import { listRemoteModels } from "../model-list.ts";
import type { Provider } from "../provider.ts";
import { PushedParts } from "../pushed-parts.ts";
import type { Endpoint, EndpointPath } from "./endpoint.ts";
import { guard } from "./guard.ts";
import type { WireProvider } from "./wire-provider.ts";

export interface ProviderOptions {
  wireApi: "completions" | "responses";
  retryWaitMs?: number;
}

export function providerFor(endpoint: Endpoint, { wireApi, retryWaitMs }: ProviderOptions): Provider {
  const apiEndpoint = pathOf(endpoint, wireApi);
  const guarded = guard(endpoint);
  let adapter: Promise<WireProvider> | undefined;
  return {
    id: endpoint.id,
    apiEndpoint,
    get baseUrl() {
      return redact(endpoint.baseUrl);
    },
    origin: { ...endpoint.origin, hasKey: hasKey(endpoint) },
    retryWaitMs,
    models: async ({ signal }) => (await listRemoteModels({ endpoint: guarded.endpoint }, signal)).map(({ id }) => id),
    stream: (request, options) =>
      new PushedParts(async (push) => {
        adapter ??= LOAD[apiEndpoint](guarded.endpoint);
        try {
          await (await adapter).answer(request, { ...options, push });
        } catch (error) {
          throw guarded.clean(error, request.headers);
        }
      }),
  };
}

function hasKey({ apiKey, bearerToken, tokenProvider, headers = {} }: Endpoint): boolean {
  const isSigned = Object.keys(headers).some((name) => /^(authorization|x-api-key|api-key)$/i.test(name));
  return Boolean(apiKey || bearerToken || tokenProvider) || isSigned;
}

function pathOf({ type }: Endpoint, wireApi: "completions" | "responses"): EndpointPath {
  if (type === "anthropic") return "/v1/messages";
  return wireApi === "responses" ? "/responses" : "/chat/completions";
}

const LOAD: Record<EndpointPath, (endpoint: Endpoint) => Promise<WireProvider>> = {
  "/chat/completions": async (endpoint) => (await import("./openai-chat.ts")).openaiChat(endpoint),
  "/responses": async (endpoint) => (await import("./openai-responses.ts")).openaiResponses(endpoint),
  "/v1/messages": async (endpoint) => (await import("./anthropic.ts")).anthropic(endpoint),
};

export function offlineProvider(): Provider {
  let adapter: Promise<Provider> | undefined;
  return {
    id: "offline",
    apiEndpoint: "offline",
    async *stream(request, options) {
      adapter ??= import("../offline/offline.ts").then(({ offline }) => offline());
      yield* (await adapter).stream(request, options);
    },
  };
}
