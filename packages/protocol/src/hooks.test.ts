import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { HOOKS, type HookType, parseHookOutput } from "./hooks.ts";

const recorded: { method: string; params: { hookType: HookType; input: unknown } }[] = JSON.parse(
  readFileSync(new URL("./methods/fixtures/params.json", import.meta.url), "utf8"),
).filter(({ method }: { method: string }) => method === "hooks.invoke");

test("every recorded hook input fits its type", () => {
  expect(recorded.length).toBeGreaterThan(8);
  for (const { params } of recorded) {
    const parsed = HOOKS[params.hookType].input().safeParse(params.input);
    expect(parsed.error?.issues ?? [], params.hookType).toEqual([]);
  }
});

test("a field of the wrong type is dropped, the rest of the output counts", () => {
  expect(parseHookOutput("preToolUse", { permissionDecision: "perhaps", additionalContext: "note" })).toEqual({
    additionalContext: "note",
  });
});

test("an output that is no object is no output", () => {
  for (const output of [undefined, null, "deny", 5, []]) expect(parseHookOutput("preToolUse", output)).toBeUndefined();
});
