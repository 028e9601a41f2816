/**
 * Which model a sub-agent runs on. A pure function from models, wishes and settings to a choice with its reason.
 *
 * Wishes, strongest first: the `model` argument of the task call, the user's setting for the agent, the agent's definition, the
 * agent's class of model, the session's model. The cost guard comes last and holds for every wish.
 */
import { AppError, type ModelSelectionSource } from "@retinue/protocol";
import { type AgentDefinition, normaliseName } from "./definition.ts";

export interface AvailableModel {
  /** `provider/model`, or the model alone: both name the same one. */
  id: string;
  /** What a request costs, relative to the provider's base model; absent when requests have no price. */
  multiplier?: number;
  /** What an input and an output token cost together; absent when tokens have no price. */
  tokenPrice?: number;
  /** Who made it, such as `openai`. */
  family: string;
  /** It can be told how long to think. */
  hasEffort?: boolean;
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
  /** Its model is in use, so it is there, whatever the list says. */
  session: { model: string; reasoningEffort?: string; known: AvailableModel };
  available: readonly AvailableModel[];
  /** There may be more models than these, so any id is accepted. */
  isOpen: boolean;
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

interface Picked extends Omit<ModelChoice, "reasoningEffort"> {
  /** Chosen because the agent needs no better one. */
  isFast?: boolean;
}

/** Throws `spawn_refused`, with the valid list, for a model that was asked for by name and does not exist. */
export function chooseModel(wish: ModelWish): ModelChoice {
  const picked = guardCost(pickModel(wish), wish);
  const { isFast: _, ...choice } = picked;
  return { ...choice, reasoningEffort: effortFor(picked, wish) };
}

/** `provider/model` and `model` are one model. Makers may stand before a name as well: `provider/maker/model`. */
export const isSameModel = (a: string, b: string): boolean => a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);

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
    if (model === undefined) return { ...inherited(wish), note: NO_PRICES };
    if (!isAvailable(model, wish)) return { ...inherited(wish), note: absent(model, wish.session.model) };
    return { model, taskModelSource: "unset", modelSelectionSource: "agent_definition_default", isFast: true };
  }
  if (agent.modelClass === "other-family" && (settings?.otherFamily ?? true)) return otherFamily(wish);
  return undefined;
}

const NO_PRICES = 'No model here has a price, so fastModel "cheapest" has no effect.';

/** A model whose price, or the session's, is not known is let through, and so is the critic's: it has looked at the cost itself. */
function guardCost(choice: Picked, wish: ModelWish): Picked {
  const { session, settings } = wish;
  if (choice.modelSelectionSource === "complementary_default") return choice;
  const wanted = find(choice.model, wish);
  if (settings?.costGuard === false || !wanted || !isDearer(wanted, session.known)) return choice;
  return {
    ...choice,
    model: session.model,
    modelSelectionSource: "runtime_policy",
    note: `The model ${choice.model} costs more${times(wanted)} than the session's ${session.model}${times(session.known)}, so ${session.model} was used.`,
  };
}

const times = ({ multiplier }: AvailableModel): string => (multiplier === undefined ? "" : ` (${multiplier}x)`);

/** Prices of requests and prices of tokens cannot be compared with each other. */
const isComparable = (a: AvailableModel, b: AvailableModel): boolean =>
  (a.tokenPrice !== undefined && b.tokenPrice !== undefined) ||
  (a.multiplier !== undefined && b.multiplier !== undefined);

function isDearer(a: AvailableModel, b: AvailableModel): boolean {
  return compareCost(a, b) > 0;
}

function compareCost(a: AvailableModel, b: AvailableModel): number {
  if (a.tokenPrice !== undefined && b.tokenPrice !== undefined) return a.tokenPrice - b.tokenPrice;
  return a.multiplier !== undefined && b.multiplier !== undefined ? a.multiplier - b.multiplier : 0;
}

/** The effort of the agent, then the user's, and the session's only where the model is the session's. A fast model is not chosen to think for long. */
function effortFor({ model, isFast }: Picked, wish: ModelWish): string | undefined {
  const own = wish.agent.reasoningEffort ?? settingFor(wish)?.effortLevel;
  if (own !== undefined) return own;
  const chosen = find(model, wish);
  if (isFast && chosen?.hasEffort) return "low";
  return chosen === wish.session.known ? wish.session.reasoningEffort : undefined;
}

function cheapest({ available }: ModelWish): string | undefined {
  const priced = available.filter((model) => model.multiplier !== undefined || model.tokenPrice !== undefined);
  return priced.sort(compareCost)[0]?.id;
}

/**
 * The most expensive model of another family that costs no more than the session's: a critic should be as able as the author. One of which
 * that is not known comes after those of which it is, in the order of the list. When all cost more it is the one that costs the least,
 * because the author's own model shares the author's blind spots.
 */
function otherFamily(wish: ModelWish): Picked | undefined {
  const { session, available, settings } = wish;
  const others = available.filter(({ family }) => family !== session.known.family);
  const affordable = settings?.costGuard === false ? others : others.filter((model) => !isDearer(model, session.known));
  const sure = affordable.filter((model) => isComparable(model, session.known));
  const ranked = settings?.costGuard === false ? affordable : sure;
  const model = (ranked.sort((a, b) => compareCost(b, a))[0] ?? affordable[0])?.id;
  if (model !== undefined) return { model, taskModelSource: "unset", modelSelectionSource: "complementary_default" };
  const [least] = others.sort(compareCost);
  if (!least) return undefined;
  const note = `Every model of another maker costs more than the session's ${session.model}. ${least.id} costs the least of them${times(least)}; "otherFamily": false keeps the session's.`;
  return { model: least.id, taskModelSource: "unset", modelSelectionSource: "complementary_default", note };
}

function requireModel(id: string, wish: ModelWish): void {
  if (isAvailable(id, wish)) return;
  const valid = wish.available.map((model) => model.id);
  throw new AppError("spawn_refused", `Unknown model: ${id}. Valid models are: ${valid.join(", ")}`);
}

/** The model of an agent that the main agent takes on: undefined when it names none. Throws when it insists on one that is not there. */
export function modelOfSelected(wish: Omit<ModelWish, "requested">): { model?: string; missing?: string } {
  const [first] = wish.agent.models;
  const model = wish.agent.models.find((id) => isAvailable(id, wish));
  if (first !== undefined && model === undefined && wish.agent.modelPolicy === "required") requireModel(first, wish);
  return { model, missing: model === undefined ? first : undefined };
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

/** What has blanks in it, such as `GPT-5 (copilot)`, is the title of a model elsewhere: an endpoint would not know it. */
const isAvailable = (id: string, wish: ModelWish): boolean =>
  find(id, wish) !== undefined || (wish.isOpen && !/\s/.test(id));

function find(id: string, { session, available }: ModelWish): AvailableModel | undefined {
  const listed = lookUp(id, available);
  const own = lookUp(session.model, available);
  const isOwn = listed ? listed === own : id === session.model || (!own && isSameModel(id, session.model));
  return isOwn ? session.known : listed;
}

const lookUp = (id: string, models: readonly AvailableModel[]): AvailableModel | undefined =>
  models.find((model) => model.id === id) ?? models.find((model) => isSameModel(model.id, id));

function settingFor(wish: ModelWish): NonNullable<ModelSettings["agents"]>[string] | undefined {
  const wanted = normaliseName(wish.agent.name);
  return Object.entries(wish.settings?.agents ?? {}).find(([name]) => normaliseName(name) === wanted)?.[1];
}
