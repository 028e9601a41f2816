import { describe, expect, test } from "vitest";
import { type AvailableModel, chooseModel, type ModelWish, modelOfSelected } from "./model-policy.ts";

const available: readonly AvailableModel[] = [
  { id: "gpt-mini", multiplier: 0.25, family: "openai", hasEffort: true },
  { id: "gpt-main", multiplier: 1, family: "openai" },
  { id: "claude-main", multiplier: 1, family: "anthropic" },
  { id: "claude-small", multiplier: 0.3, family: "anthropic" },
  { id: "claude-grand", multiplier: 10, family: "anthropic" },
  { id: "unpriced-1", family: "house" },
];
const running = (model: string, from = available) => {
  const known = from.find(({ id }) => id === model || id.endsWith(`/${model}`));
  if (!known) throw new Error(`there is no ${model}`);
  return { model, known: { ...known, id: model } };
};
const agent: ModelWish["agent"] = { name: "worker", models: [], modelPolicy: "preferred", modelClass: "session" };
const wish = (more: Partial<ModelWish> = {}): ModelWish => ({
  agent,
  session: running("gpt-main"),
  available,
  isOpen: false,
  ...more,
});

describe("the wishes, strongest first", () => {
  test.each<[string, Partial<ModelWish>, object]>([
    [
      "the task argument beats the setting and the definition",
      {
        requested: "gpt-mini",
        agent: { ...agent, models: ["claude-main"] },
        settings: { agents: { worker: { model: "claude-small" } } },
      },
      { model: "gpt-mini", taskModelSource: "task_argument", modelSelectionSource: "explicit_override" },
    ],
    [
      "the user's setting beats the definition",
      { agent: { ...agent, models: ["claude-main"] }, settings: { agents: { Worker: { model: "claude-small" } } } },
      {
        model: "claude-small",
        taskModelSource: "subagent_configuration",
        modelSelectionSource: "configured_preference",
      },
    ],
    [
      "the definition's first available model",
      { agent: { ...agent, models: ["gone", "claude-main"] } },
      {
        model: "claude-main",
        taskModelSource: "custom_agent_definition",
        modelSelectionSource: "agent_definition_default",
      },
    ],
    [
      "the session's model",
      {},
      { model: "gpt-main", taskModelSource: "unset", modelSelectionSource: "session_inheritance" },
    ],
  ])("%s", (_, more, expected) => {
    expect(chooseModel(wish(more))).toMatchObject({ ...expected });
    expect(chooseModel(wish(more)).note).toBeUndefined();
  });
});

describe("a model that is not there", () => {
  test("is refused with the valid list when the call names it", () => {
    expect(() => chooseModel(wish({ requested: "nope" }))).toThrow(
      "Unknown model: nope. Valid models are: gpt-mini, gpt-main, claude-main, claude-small, claude-grand, unpriced-1",
    );
  });

  test("is refused when the definition requires it, and replaced with a note when it only prefers it", () => {
    const wanted = { ...agent, models: ["nope"] };
    expect(() => chooseModel(wish({ agent: { ...wanted, modelPolicy: "required" } }))).toThrow("Unknown model: nope.");
    expect(chooseModel(wish({ agent: wanted }))).toMatchObject({
      model: "gpt-main",
      modelSelectionSource: "session_inheritance",
      note: "The model nope is not available here, so gpt-main was used.",
    });
  });

  test("is taken as it is when the endpoint does not tell its models", () => {
    expect(chooseModel(wish({ requested: "anything", available: [], isOpen: true })).model).toBe("anything");
  });
});

describe("the cost guard", () => {
  test.each([
    ["task argument", { requested: "claude-grand" }],
    ["definition", { agent: { ...agent, models: ["claude-grand"] } }],
    ["setting", { settings: { agents: { worker: { model: "claude-grand", modelPolicy: "required" as const } } } }],
  ])("brings a dearer model of the %s down to the session's and says so", (_, more) => {
    const choice = chooseModel(wish(more));
    expect(choice).toMatchObject({ model: "gpt-main", modelSelectionSource: "runtime_policy" });
    expect(choice.note).toContain("claude-grand costs more (10x) than the session's gpt-main (1x)");
  });

  test("lets equal, cheaper and unpriced models through, and everything when it is off", () => {
    for (const requested of ["claude-main", "gpt-mini", "unpriced-1"])
      expect(chooseModel(wish({ requested })).model).toBe(requested);
    expect(chooseModel(wish({ requested: "claude-grand", settings: { costGuard: false } })).model).toBe("claude-grand");
  });
});

describe("classes of models", () => {
  const fast = { ...agent, modelClass: "fast" as const };
  const other = { ...agent, modelClass: "other-family" as const };

  test("fast is the session's model unless a cheap default is configured", () => {
    expect(chooseModel(wish({ agent: fast })).modelSelectionSource).toBe("session_inheritance");
    const chosen = { model: "gpt-mini", modelSelectionSource: "agent_definition_default", taskModelSource: "unset" };
    expect(chooseModel(wish({ agent: fast, settings: { fastModel: "cheapest" } }))).toMatchObject(chosen);
    expect(chooseModel(wish({ agent: fast, settings: { fastModel: "gpt-mini" } }))).toMatchObject(chosen);
    expect(chooseModel(wish({ agent: fast, settings: { fastModel: "gone" } }))).toMatchObject({
      model: "gpt-main",
      note: "The model gone is not available here, so gpt-main was used.",
    });
    const free = available.map(({ multiplier: _, ...model }) => model);
    const unpriced = { agent: fast, available: free, session: running("gpt-main", free) };
    expect(chooseModel(wish({ ...unpriced, settings: { fastModel: "cheapest" } }))).toMatchObject({
      model: "gpt-main",
      note: expect.stringContaining("No model here has a price"),
    });
  });

  test("a model that was chosen because it is fast thinks little, where it can be told so", () => {
    const effort = (fastModel: string, more: Partial<ModelWish> = {}) =>
      chooseModel(wish({ agent: fast, settings: { fastModel }, ...more })).reasoningEffort;
    expect(effort("gpt-mini")).toBe("low");
    expect(effort("claude-small")).toBeUndefined();
    expect(effort("gpt-mini", { agent: { ...fast, reasoningEffort: "high" } })).toBe("high");
    expect(chooseModel(wish({ requested: "gpt-mini" })).reasoningEffort).toBeUndefined();
  });

  test("other-family is never the session's own while there is another maker: the least dear when all of them cost more, and that is said", () => {
    const dear = available.filter(({ id }) => /gpt|grand/.test(id));
    const dearer = {
      ...available.find(({ id }) => id === "claude-grand"),
      id: "claude-vast",
      multiplier: 1000,
      family: "anthropic",
    };
    const choice = chooseModel(wish({ agent: other, available: [dearer, ...dear] }));
    expect(choice).toMatchObject({ model: "claude-grand", modelSelectionSource: "complementary_default" });
    expect(choice.note).toContain("Every model of another maker costs more");
    const settings = { costGuard: false };
    expect(chooseModel(wish({ agent: other, available: dear, settings })).model).toBe("claude-grand");
    expect(chooseModel(wish({ agent: other, available: dear, settings: { otherFamily: false } })).model).toBe(
      "gpt-main",
    );
  });

  test("an agent of another program that names a model by its title runs on the session's where any id is accepted", () => {
    const titled = { ...agent, models: ["Claude Sonnet 4.5 (copilot)", "GPT-5 (copilot)"] };
    expect(chooseModel(wish({ agent: titled, available: [], isOpen: true }))).toMatchObject({
      model: "gpt-main",
      note: "The model Claude Sonnet 4.5 (copilot) is not available here, so gpt-main was used.",
    });
    expect(modelOfSelected(wish({ agent: titled, available: [], isOpen: true }))).toEqual({
      missing: "Claude Sonnet 4.5 (copilot)",
    });
    const known = [...available, { id: "house/Our Model", family: "house" }];
    const named = wish({ agent: { ...agent, models: ["Our Model"] }, available: known, isOpen: true });
    expect(chooseModel(named).model).toBe("Our Model");
  });

  test("other-family is the ablest model of another family that costs no more", () => {
    expect(chooseModel(wish({ agent: other }))).toMatchObject({
      model: "claude-main",
      modelSelectionSource: "complementary_default",
    });
    expect(chooseModel(wish({ agent: other, session: running("claude-main") })).model).toBe("gpt-main");
    const unknownFirst = [...available].reverse();
    expect(chooseModel(wish({ agent: other, available: unknownFirst })).model).toBe("claude-main");
    const session = running("unpriced-1"); // It may be free: no reason to take the dearest there is.
    expect(chooseModel(wish({ agent: other, session })).model).toBe("gpt-mini");
    expect(chooseModel(wish({ agent: other, settings: { otherFamily: false } })).model).toBe("gpt-main");
    expect(chooseModel(wish({ agent: other, available: [], isOpen: true })).model).toBe("gpt-main");
  });
});

describe("reasoning effort", () => {
  test("is the agent's own, or the session's only on the session's model", () => {
    const session = { ...running("gpt-main"), reasoningEffort: "high" };
    expect(chooseModel(wish({ session })).reasoningEffort).toBe("high");
    expect(chooseModel(wish({ session, requested: "gpt-mini" })).reasoningEffort).toBeUndefined();
    expect(chooseModel(wish({ session, agent: { ...agent, reasoningEffort: "low" } })).reasoningEffort).toBe("low");
  });
});

describe("a model with and without its provider", () => {
  const qualified = available.map((model) => ({ ...model, id: `p/${model.id}` }));

  test.each(["gpt-main", "p/gpt-main"])("is the same one, for a session on %s", (model) => {
    const session = { ...running(model, qualified), reasoningEffort: "high" };
    const on = (more: Partial<ModelWish>) => chooseModel(wish({ session, available: qualified, ...more }));
    for (const requested of ["gpt-main", "p/gpt-main"]) {
      expect(on({ requested })).toMatchObject({ model: requested, reasoningEffort: "high" });
      expect(on({ requested }).note).toBeUndefined();
    }
    for (const requested of ["claude-grand", "p/claude-grand"])
      expect(on({ requested })).toMatchObject({ model, modelSelectionSource: "runtime_policy" });
    expect(on({ agent: { ...agent, modelClass: "other-family" } }).model).toBe("p/claude-main");
    expect(() => on({ requested: "q/gpt-main" })).toThrow("Unknown model: q/gpt-main.");
  });
});

test("prices of tokens are compared with each other, and never with prices of requests", () => {
  const priced: readonly AvailableModel[] = [
    { id: "gpt-main", tokenPrice: 10, family: "openai" },
    { id: "gpt-mini", tokenPrice: 1, family: "openai" },
    { id: "claude-grand", tokenPrice: 50, family: "anthropic" },
    { id: "grok", multiplier: 100, family: "xai" },
  ];
  const on = (requested: string) =>
    chooseModel(wish({ requested, available: priced, session: running("gpt-main", priced) }));
  expect(["claude-grand", "gpt-mini", "grok"].map((model) => on(model).model)).toEqual([
    "gpt-main",
    "gpt-mini",
    "grok",
  ]);
  expect(on("claude-grand").note).toBe(
    "The model claude-grand costs more than the session's gpt-main, so gpt-main was used.",
  );
});
