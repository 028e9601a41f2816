/**
 * Which model a sub-agent runs on. A pure function from models, wishes and settings to a choice with its reason.
 *
 * Wishes, strongest first: the `model` argument of the task call, the user's setting for the agent, the agent's definition, the
 * agent's class of model, the session's model. The cost guard comes last and holds for every wish.
 */
import { AppError, type ModelSelectionSource } from "@retinue/protocol";
import { type AgentDefinition, normaliseName } from "./definition.ts";

export interface AvailableModel {
  id: string;
  /** Cost relative to the provider's base model; absent when the provider has no prices. */
  multiplier?: number;
  /** Who made it, such as `gpt` or `claude`; guessed from the id when absent. */
  family?: string;
}

export interface ModelSettings {
  /** Replace a model that costs more than the session's by the session's. Default true. */
  costGuard?: boolean;
  /** The model of agents of the class `fast`: an id, or "cheapest". Absent: the session's. */
  fastModel?: string;
  /** Give agents of the class `other-family` a model of another family. Default true. */
  otherFamily?: boolean;
  /** The user's wishes for single agents. */
  agents?: Readonly<Record<string, { model?: string; modelPolicy?: "preferred" | "required"; effortLevel?: string }>>;
}

export interface ModelWish {
  /** The `model` argument of the task call. */
  requested?: string;
  agent: Pick<AgentDefinition, "name" | "models" | "modelPolicy" | "modelClass" | "reasoningEffort">;
  session: { model: string; reasoningEffort?: string };
  /** null: the endpoint does not list its models, so any id is accepted. */
  available: readonly AvailableModel[] | null;
  settings?: ModelSettings;
}

export interface ModelChoice {
  model: string;
  reasoningEffort?: string;
  taskModelSource: "task_argument" | "subagent_configuration" | "custom_agent_definition" | "unset";
  modelSelectionSource: ModelSelectionSource;
  /** For the result of the task call, when the model is not the one that was asked for. */
  note?: string;
}

type Picked = Omit<ModelChoice, "reasoningEffort">;

/** Throws `spawn_refused`, with the valid list, for a model that was asked for by name and does not exist. */
export function chooseModel(wish: ModelWish): ModelChoice {
  const choice = guardCost(pickModel(wish), wish);
  return { ...choice, reasoningEffort: effortFor(choice.model, wish) };
}

function pickModel(wish: ModelWish): Picked {
  const { requested, agent, session } = wish;
  if (requested !== undefined) {
    requireModel(requested, wish);
    return { model: requested, taskModelSource: "task_argument", modelSelectionSource: "explicit_override" };
  }

  const configured = settingFor(wish);
  if (configured?.model !== undefined) {
    const required = configured.modelPolicy === "required";
    if (required) requireModel(configured.model, wish);
    if (isAvailable(configured.model, wish)) {
      const modelSelectionSource = required ? "configured_required" : "configured_preference";
      return { model: configured.model, taskModelSource: "subagent_configuration", modelSelectionSource };
    }
    return {
      ...inherited(wish),
      taskModelSource: "subagent_configuration",
      note: absent(configured.model, session.model),
    };
  }

  const [first] = agent.models;
  if (first !== undefined) {
    const model = agent.models.find((id) => isAvailable(id, wish));
    if (model !== undefined) return fromDefinition(model);
    if (agent.modelPolicy === "required") requireModel(first, wish);
    return { ...inherited(wish), taskModelSource: "custom_agent_definition", note: absent(first, session.model) };
  }
  return byClass(wish) ?? inherited(wish);
}

function byClass(wish: ModelWish): Picked | undefined {
  const { agent, settings } = wish;
  if (agent.modelClass === "fast" && settings?.fastModel !== undefined) {
    const model = settings.fastModel === "cheapest" ? cheapest(wish) : settings.fastModel;
    if (model === undefined || !isAvailable(model, wish)) return undefined;
    return { model, taskModelSource: "unset", modelSelectionSource: "agent_definition_default" };
  }
  if (agent.modelClass === "other-family" && (settings?.otherFamily ?? true)) {
    const model = otherFamily(wish);
    if (model !== undefined) return { model, taskModelSource: "unset", modelSelectionSource: "complementary_default" };
  }
  return undefined;
}

/** A model whose price, or the session's, is not known is let through. */
function guardCost(choice: Picked, wish: ModelWish): Picked {
  const { session, settings } = wish;
  if (settings?.costGuard === false || choice.model === session.model) return choice;
  const wanted = multiplierOf(choice.model, wish);
  const own = multiplierOf(session.model, wish);
  if (wanted === undefined || own === undefined || wanted <= own) return choice;
  return {
    ...choice,
    model: session.model,
    modelSelectionSource: "runtime_policy",
    note: `The model ${choice.model} costs more (${wanted}x) than the session's ${session.model} (${own}x), so ${session.model} was used.`,
  };
}

/** The effort of the agent, then the user's, and the session's only where the model is the session's. */
function effortFor(model: string, wish: ModelWish): string | undefined {
  const own = wish.agent.reasoningEffort ?? settingFor(wish)?.effortLevel;
  return own ?? (model === wish.session.model ? wish.session.reasoningEffort : undefined);
}

function cheapest(wish: ModelWish): string | undefined {
  const priced = (wish.available ?? []).filter((model) => model.multiplier !== undefined);
  return priced.sort((a, b) => (a.multiplier ?? 0) - (b.multiplier ?? 0))[0]?.id;
}

/** The most expensive model of another family that costs no more than the session's: a critic should be as able as the author. */
function otherFamily(wish: ModelWish): string | undefined {
  const family = familyOf(find(wish.session.model, wish) ?? { id: wish.session.model });
  const limit = wish.settings?.costGuard === false ? Infinity : (multiplierOf(wish.session.model, wish) ?? Infinity);
  const others = (wish.available ?? []).filter(
    (model) => familyOf(model) !== family && (model.multiplier ?? 0) <= limit,
  );
  return others.sort((a, b) => (b.multiplier ?? 0) - (a.multiplier ?? 0))[0]?.id;
}

function requireModel(id: string, wish: ModelWish): void {
  if (isAvailable(id, wish)) return;
  const valid = (wish.available ?? []).map((model) => model.id);
  throw new AppError("spawn_refused", `Unknown model: ${id}. Valid models are: ${valid.join(", ")}`);
}

const fromDefinition = (model: string): Picked => ({
  model,
  taskModelSource: "custom_agent_definition",
  modelSelectionSource: "agent_definition_default",
});

const inherited = (wish: ModelWish): Picked => ({
  model: wish.session.model,
  taskModelSource: "unset",
  modelSelectionSource: "session_inheritance",
});

const absent = (wanted: string, used: string): string =>
  `The model ${wanted} is not available here, so ${used} was used.`;

/** The session's own model is in use, so it is there, whatever the list says. */
const isAvailable = (id: string, wish: ModelWish): boolean =>
  wish.available === null || id === wish.session.model || find(id, wish) !== undefined;

const find = (id: string, wish: ModelWish): AvailableModel | undefined =>
  wish.available?.find((model) => model.id === id);

const multiplierOf = (id: string, wish: ModelWish): number | undefined => find(id, wish)?.multiplier;

const familyOf = (model: AvailableModel): string =>
  model.family ?? (/^[a-z]+/i.exec(model.id)?.[0] ?? model.id).toLowerCase();

function settingFor(wish: ModelWish): NonNullable<ModelSettings["agents"]>[string] | undefined {
  const wanted = normaliseName(wish.agent.name);
  return Object.entries(wish.settings?.agents ?? {}).find(([name]) => normaliseName(name) === wanted)?.[1];
}
