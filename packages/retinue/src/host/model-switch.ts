/** Changing the model of a session: which models may be chosen, and the event. */
import { AppError, type ModelState } from "@retinue/protocol";
import type { TreeParts } from "../tree/parts.ts";
import type { HostedSession } from "./hosted-session.ts";

export interface Switch {
  model: string;
  reasoningEffort?: string;
  source: string;
  cause?: string;
}

/** Throws when the model cannot be used. Without a list every name is accepted, since most endpoints do not list their models. */
export function checkModel({ configuration, root }: TreeParts, model: string): void {
  if (model === "") throw new AppError("invalid_params", "The model must have a name");
  const { current, limits, models } = configuration;
  const { allowedModels } = limits;
  if (allowedModels && !allowedModels.includes(model)) throw unknownModel(model, allowedModels);
  const named = (current.models ?? []).flatMap(({ id, provider }) => [id, `${provider}/${id}`]);
  if (named.length > 0 && !named.includes(model) && model !== root.state.model) throw unknownModel(model, named);
  models.choose(model);
}

export function switchModel({ session }: HostedSession, { model, reasoningEffort, source, cause }: Switch): void {
  const { model: previousModel, reasoningEffort: previousReasoningEffort } = session.state;
  session.append("session.model_change", {
    newModel: model,
    ...(previousModel ? { previousModel } : {}),
    reasoningEffort: reasoningEffort ?? null,
    ...(previousReasoningEffort ? { previousReasoningEffort } : {}),
    contextTier: null,
    source,
    ...(cause ? { cause } : {}),
  });
}

export function modelState({ session }: HostedSession): ModelState {
  const { model, reasoningEffort } = session.state;
  return { ...(model ? { modelId: model } : {}), ...(reasoningEffort ? { reasoningEffort } : {}) };
}

function unknownModel(model: string, valid: readonly string[]): AppError {
  return new AppError("not_configured", `Unknown model: ${model}. Valid models are: ${valid.join(", ")}`);
}
