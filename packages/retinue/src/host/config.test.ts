import { describe, expect, test } from "vitest";
import { runtimeConfig } from "./config.ts";

test("RETINUE_HOOKS_ON_ERROR is its default or what it says, and a misspelt word is refused by name", () => {
  const read = (value?: string) =>
    runtimeConfig({ RETINUE_HOME: "/home/ada", RETINUE_HOOKS_ON_ERROR: value }).hooksOnError;
  const all = [read(), read(""), read("ignore"), read("deny"), read(" deny ")];
  expect(all).toEqual(["ignore", "ignore", "ignore", "deny", "deny"]);
  expect(() => read("Deny")).toThrow('RETINUE_HOOKS_ON_ERROR is "Deny"; it must be ignore or deny.');
});

test("a number or a word of the environment that makes no sense is refused by name, and one for another runtime is not", () => {
  const read = (env: Record<string, string>) => runtimeConfig({ RETINUE_HOME: "/home/ada", ...env });
  const refused: [string, string, string][] = [
    ["RETINUE_SUBAGENT_MAX_DEPTH", "abc", "a whole number from 0 to 64"],
    ["RETINUE_SUBAGENT_MAX_DEPTH", "65", "a whole number from 0 to 64"],
    ["RETINUE_SUBAGENT_MAX_CONCURRENT", "1.5", "a whole number from 1 to 256"],
    ["RETINUE_HOOK_TIMEOUT_MS", "1m", "a whole number from 1 to 3600000"],
    ["RETINUE_LOG_LEVEL", "loud", "debug, info, warn, error, silent"],
    ["RETINUE_CGROUPS", "of", "on or off"],
  ];
  for (const [name, value, words] of refused)
    expect(() => read({ [name]: value })).toThrow(`${name} is "${value}"; it must be ${words}.`);
  expect(read({ RETINUE_SUBAGENT_MAX_DEPTH: " 7 ", RETINUE_LOG_LEVEL: "all" })).toMatchObject({
    maxDepth: 7,
    logLevel: "debug",
  });
  expect(read({ COPILOT_SUBAGENT_MAX_DEPTH: "999" }).maxDepth).toBe(64);
  expect(read({ COPILOT_SUBAGENT_MAX_DEPTH: "abc", RETINUE_SUBAGENT_MAX_CONCURRENT: "" })).toMatchObject({
    maxDepth: 6,
    maxConcurrent: undefined,
  });
});

describe("RETINUE_UNATTENDED", () => {
  const read = (value?: string) => runtimeConfig({ RETINUE_HOME: "/home/ada", RETINUE_UNATTENDED: value }).unattended;

  test("is wait, or what it says", () => {
    expect([undefined, "", "wait", " deny ", "rules"].map((value) => read(value).type)).toEqual([
      "wait",
      "wait",
      "wait",
      "deny",
      "rules",
    ]);
    expect(read("wait:90")).toEqual({ type: "wait", seconds: 90 });
  });

  test.each(["Deny", "wait:", "wait:0", "wait:1.5", "wait 5", "waits", "deny:5"])("refuses %s by name", (value) => {
    expect(() => read(value)).toThrow(
      `RETINUE_UNATTENDED is ${JSON.stringify(value)}; it must be wait, wait:<seconds>, deny or rules.`,
    );
  });
});
