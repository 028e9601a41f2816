/** The models of one provider, asked at its endpoint, with words for a person where it does not answer. */
import { messageOf } from "@retinue/protocol";
import { ZodError } from "zod";
import { askForModels, TIMEOUT_MS } from "../models/model-list.ts";
import { ModelError } from "../models/provider.ts";
import type { Source } from "../models/sources.ts";
import { guard } from "../models/wire/guard.ts";
import { redact } from "../secrets/redact.ts";

export interface ProviderModels {
  provider: string;
  address: string;
  models: { id: string; name: string }[];
  /** Why the endpoint could not be asked. */
  problem?: string;
}

/** What the endpoint lists, and what the configuration names. */
export async function modelsOf(source: Source, signal: AbortSignal): Promise<ProviderModels> {
  const { endpoint, clean } = guard(source.endpoint);
  const about = { provider: endpoint.id, address: redact(endpoint.baseUrl) };
  const configured = source.models.map(({ id, name = id }) => ({ id, name }));
  if (endpoint.type === "azure") return { ...about, models: configured }; // It lists what could be deployed, not what is.
  try {
    const listed = await askForModels({ ...source, endpoint }, signal);
    const own = new Set(configured.map(({ id }) => id));
    const others = listed.filter(({ id }) => !own.has(id)).map(({ id, name }) => ({ id, name }));
    return { ...about, models: [...configured, ...others] };
  } catch (error) {
    signal.throwIfAborted();
    return { ...about, models: configured, problem: wordsFor(clean(error)) };
  }
}

const NO_CONNECTION: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nothing answers at this address (the connection was refused)"],
  ["ENOTFOUND", "there is no such host"],
]);

function wordsFor(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return `no answer within ${TIMEOUT_MS / 1000} s`;
  if (error instanceof SyntaxError || error instanceof ZodError) return "it does not answer with a list of models";
  const code = error instanceof ModelError ? error.providerCode : undefined;
  return (code && NO_CONNECTION.get(code)) ?? messageOf(error);
}
