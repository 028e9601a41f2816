import { expect, test } from "vitest";
import { DEFAULT_CONFIG, parseConfig } from "./config.ts";

test("the default is what an empty file means", () => {
  expect(DEFAULT_CONFIG).toEqual(parseConfig({}));
});
