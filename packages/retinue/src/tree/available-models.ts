/** The models that sub-agents of a session may get, as the model policy wants to know them: what they cost and who made them. */
import { type AvailableModel, isSameModel, type ModelWish } from "../agents/model-policy.ts";
import type { KnownModel } from "../models/known-models.ts";
import { makerOf } from "../models/maker.ts";
import { ratesOf } from "../models/price.ts";
import type { Configuration } from "./configuration.ts";

/** What the host allows, else what the session or the configuration names. */
export function availableModels({ limits, models }: Configuration): Pick<ModelWish, "available" | "isOpen"> {
  const { models: known, isComplete } = models.known();
  const { allowedModels } = limits;
  if (!allowedModels) return { available: known.map((model) => availableModel(model)), isOpen: !isComplete };
  return { available: allowedModels.map((id) => modelNamed(id, { models })), isOpen: false };
}

/** A model by any of its names, in the list or not. */
export function modelNamed(id: string, { models }: Pick<Configuration, "models">): AvailableModel {
  const known = models.known().models.find((model) => model.id === id || isSameModel(model.id, id));
  return availableModel({ family: known?.family, ...models.choose(id).info, id });
}

function availableModel({ id, family, multiplier, tokenPrices, reasoningEffort }: KnownModel): AvailableModel {
  const { input, output } = ratesOf({ tokenPrices });
  return {
    id,
    multiplier,
    tokenPrice: tokenPrices && input + output,
    family: family ?? makerOf(id),
    hasEffort: reasoningEffort,
  };
}
