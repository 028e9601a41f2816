/** Models that are known by name without asking an endpoint: those that a session or the configuration names. */
import type { SessionConfig } from "@retinue/protocol";
import { type ModelInfo, type ModelLimits, modelInfo } from "./model-info.ts";

export interface KnownModel extends Pick<ModelInfo, "multiplier" | "tokenPrices" | "reasoningEffort"> {
  /** `provider/model` */
  id: string;
  /** Who made it, where somebody has said so. */
  family?: string;
}

export interface KnownModels {
  models: readonly KnownModel[];
  /** There are no others. */
  isComplete: boolean;
}

export function knownModel(id: string, limits: ModelLimits): KnownModel {
  const { multiplier, tokenPrices, reasoningEffort } = modelInfo(limits);
  return { id, multiplier, tokenPrices, reasoningEffort };
}

/** Undefined when the session leaves it to the runtime. A provider of the session has no list, unless the session names models as well. */
export function knownToSession({
  provider,
  providers = [],
  models = [],
}: Pick<SessionConfig, "provider" | "providers" | "models">): KnownModels | undefined {
  if (models.length > 0)
    return { isComplete: true, models: models.map((model) => knownModel(`${model.provider}/${model.id}`, model)) };
  return provider || providers.length > 0 ? NOTHING_KNOWN : undefined;
}

export const NOTHING_KNOWN: KnownModels = { isComplete: false, models: [] };
