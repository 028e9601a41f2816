import { describe, expect, test } from "vitest";
import { chooseModel, type ModelWish } from "./model-policy.ts";

const available = [
  { id: "gpt-mini", multiplier: 0.25 },
  { id: "gpt-main", multiplier: 1 },
  { id: "claude-main", multiplier: 1 },
  { id: "claude-small", multiplier: 0.3 },
  { id: "claude-grand", multiplier: 10 },
  { id: "unpriced-1" },
];
const agent: ModelWish["agent"] = { name: "worker", models: [], modelPolicy: "preferred", modelClass: "session" };
const wish = (more: Partial<ModelWish> = {}): ModelWish => ({
  agent,
  session: { model: "gpt-main" },
  available,
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
    expect(chooseModel(wish({ requested: "anything", available: null })).model).toBe("anything");
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
    expect(chooseModel(wish({ agent: fast, settings: { fastModel: "gone" } })).model).toBe("gpt-main");
  });

  test("other-family is the ablest model of another family that costs no more", () => {
    expect(chooseModel(wish({ agent: other }))).toMatchObject({
      model: "claude-main",
      modelSelectionSource: "complementary_default",
    });
    expect(chooseModel(wish({ agent: other, session: { model: "claude-main" } })).model).toBe("gpt-main");
    expect(chooseModel(wish({ agent: other, settings: { otherFamily: false } })).model).toBe("gpt-main");
    expect(chooseModel(wish({ agent: other, available: null })).model).toBe("gpt-main");
  });
});

describe("reasoning effort", () => {
  test("is the agent's own, or the session's only on the session's model", () => {
    const session = { model: "gpt-main", reasoningEffort: "high" };
    expect(chooseModel(wish({ session })).reasoningEffort).toBe("high");
    expect(chooseModel(wish({ session, requested: "gpt-mini" })).reasoningEffort).toBeUndefined();
    expect(chooseModel(wish({ session, agent: { ...agent, reasoningEffort: "low" } })).reasoningEffort).toBe("low");
  });
});
