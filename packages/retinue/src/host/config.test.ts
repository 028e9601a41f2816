import { describe, expect, test } from "vitest";
import { runtimeConfig } from "./config.ts";

test("RETINUE_HOOKS_ON_ERROR is its default or what it says, and a misspelt word is refused by name", () => {
  const read = (value?: string) =>
    runtimeConfig({ RETINUE_HOME: "/home/ada", RETINUE_HOOKS_ON_ERROR: value }).hooksOnError;
  const all = [read(), read(""), read("ignore"), read("deny"), read(" deny ")];
  expect(all).toEqual(["ignore", "ignore", "ignore", "deny", "deny"]);
  expect(() => read("Deny")).toThrow('RETINUE_HOOKS_ON_ERROR is "Deny"; it must be ignore or deny.');
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
