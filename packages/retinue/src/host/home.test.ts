import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { homeFolder } from "./home.ts";

test("the command line comes before the variables, RETINUE_HOME before COPILOT_HOME, and the user's folder last", () => {
  const env = { RETINUE_HOME: "/ours", COPILOT_HOME: "/theirs", HOME: "/user" };
  expect(homeFolder(env, "/given")).toBe("/given");
  expect(homeFolder(env)).toBe("/ours");
  expect(homeFolder({ ...env, RETINUE_HOME: undefined })).toBe("/theirs");
  expect(homeFolder({ HOME: "/user" })).toBe("/user/.retinue");
});

test("a variable that is empty counts as unset", () => {
  expect(homeFolder({ RETINUE_HOME: "", COPILOT_HOME: "/theirs", HOME: "/user" })).toBe("/theirs");
  expect(homeFolder({ RETINUE_HOME: "", COPILOT_HOME: "", HOME: "/user" })).toBe("/user/.retinue");
  expect(homeFolder({ HOME: "" })).toBe(join(homedir(), ".retinue"));
});

test("a folder that is not absolute is one below the current folder", () => {
  expect(homeFolder({}, "here")).toBe(resolve("here"));
  expect(homeFolder({ RETINUE_HOME: "here" })).toBe(resolve("here"));
});
