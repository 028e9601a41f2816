import { expect, test } from "vitest";
import { runtimeConfig } from "./config.ts";

test.each([
  ["RETINUE_HOOKS_ON_ERROR", "hooksOnError", "ignore"],
  ["RETINUE_UNATTENDED", "unattended", "wait"],
] as const)("%s is its default or what it says, and a misspelt word is refused by name", (name, field, usual) => {
  const read = (value?: string) => runtimeConfig({ RETINUE_HOME: "/home/ada", [name]: value })[field];
  expect([read(), read(""), read(usual), read("deny"), read(" deny ")]).toEqual([usual, usual, usual, "deny", "deny"]);
  expect(() => read("Deny")).toThrow(`${name} is "Deny"; it must be ${usual} or deny.`);
});
