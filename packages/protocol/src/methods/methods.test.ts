import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { AppError } from "../errors.ts";
import {
  CLIENT_CALLS,
  isServerMethod,
  METHODS,
  type MethodName,
  NOTIFICATIONS,
  parseParams,
  SERVER_METHODS,
} from "./index.ts";

const load = (name: string) => JSON.parse(readFileSync(new URL(`./fixtures/${name}`, import.meta.url), "utf8"));
const params: { method: MethodName; params: Record<string, unknown> }[] = load("params.json");
const results: { method: MethodName; result: unknown }[] = load("results.json");

const complaint = (name: MethodName, given: unknown): string => {
  try {
    parseParams(name, given);
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid_params") return error.message;
    throw error;
  }
  return "no complaint";
};

describe("recorded traffic", () => {
  test("every recorded params object parses, and no recorded field is lost", () => {
    for (const { method, params: given } of params) {
      const parsed = parseParams(method, given);
      expect(Object.keys(parsed).sort(), method).toEqual(expect.arrayContaining(Object.keys(given).sort()));
    }
  });

  test("every recorded result fits its schema", () => {
    for (const { method, result } of results) {
      const parsed = METHODS[method].result().safeParse(result);
      expect(parsed.error?.issues ?? [], method).toEqual([]);
    }
  });
});

describe("the table", () => {
  test("every entry is filed under its own name, has a summary and builds its schemas", () => {
    for (const [name, method] of Object.entries(METHODS)) {
      expect(method.name).toBe(name);
      expect(method.summary, name).toMatch(/^[A-Z`].*\.$/);
      expect(method.params().safeParse(undefined).success, name).toBe(false);
      expect(method.result(), name).toBeDefined();
    }
  });

  test("a name belongs to one side", () => {
    const names = [SERVER_METHODS, CLIENT_CALLS, NOTIFICATIONS].flatMap((table) => Object.keys(table));
    expect(new Set(names).size).toBe(names.length);
    expect(isServerMethod("session.send")).toBe(true);
    expect(isServerMethod("tasks.cancel")).toBe(false);
    expect(isServerMethod("toString")).toBe(false);
  });

  test("every call on one session requires its id, except the one that makes it", () => {
    const free = ["session.create", "session.list", "session.getLastId", "session.getForeground"];
    for (const name of Object.keys(METHODS) as MethodName[]) {
      if (!name.startsWith("session.") || free.includes(name)) continue;
      expect(complaint(name, {}), name).toBe("Missing sessionId parameter");
      expect(complaint(name, { sessionId: 5 }), name).toBe("Missing sessionId parameter");
    }
  });
});

describe("parseParams", () => {
  test("complaints are one line and name the parameter", () => {
    expect(complaint("session.mode.set", { sessionId: "s" })).toBe("missing parameter 'mode'");
    expect(complaint("session.mode.set", { sessionId: "s", mode: "zzz" })).toBe(
      `invalid parameter 'mode': Invalid option: expected one of "interactive"|"plan"|"autopilot"`,
    );
    expect(complaint("session.create", { provider: { type: "openai" } })).toMatch(
      /^invalid parameter 'provider\.baseUrl': /,
    );
    expect(complaint("sessions.findByPrefix", "text")).toBe("params must be an object");
    expect(complaint("sessions.findByPrefix", [])).toBe("params must be an object");
  });

  test("unknown fields are dropped, and a top-level null means not given", () => {
    expect(parseParams("session.create", { sessionId: "s", model: null, mystery: 1 })).toEqual({ sessionId: "s" });
    expect(parseParams("ping", null)).toEqual({});
    expect(parseParams("ping", undefined)).toEqual({});
  });

  test("a null inside keeps its meaning", () => {
    const { customAgents } = parseParams("session.create", { customAgents: [{ name: "a", prompt: "p", tools: null }] });
    expect(customAgents?.[0]?.tools).toBeNull();
  });

  test("a prompt that is missing or no text is empty", () => {
    expect(parseParams("session.send", { sessionId: "s" }).prompt).toBe("");
    expect(parseParams("session.send", { sessionId: "s", prompt: 5 }).prompt).toBe("");
  });

  test("a permission answer that is nonsense is told apart instead of refused", () => {
    const answer = (result: unknown) =>
      parseParams("session.permissions.handlePendingPermissionRequest", { sessionId: "s", requestId: "r", result })
        .result;
    expect(answer({ kind: "approve-once" })).toEqual({ kind: "approve-once" });
    expect(answer({ kind: "maybe" })).toEqual({ kind: "unknown", given: { kind: "maybe" } });
    expect(answer(undefined)).toEqual({ kind: "unknown", given: undefined });
  });

  test("a host tool's answer is a text or an object, and an odd resultType is a failure", () => {
    const answer = (result: unknown) =>
      parseParams("session.tools.handlePendingToolCall", { sessionId: "s", requestId: "r", result }).result;
    expect(answer("done")).toBe("done");
    expect(answer({ textResultForLlm: "x" })).toEqual({ textResultForLlm: "x", resultType: "success" });
    expect(answer({ textResultForLlm: "x", resultType: "odd" })).toMatchObject({ resultType: "failure" });
  });

  test("our own fields of custom agents are read", () => {
    const agent = {
      name: "lead",
      prompt: "p",
      ceiling: "own",
      nestedBackground: true,
      budget: { maxTurns: 3 },
      toolDefinitions: [{ name: "t" }],
    };
    expect(parseParams("session.create", { customAgents: [agent] }).customAgents).toEqual([agent]);
  });
});
