import { expect, test } from "vitest";
import type { ToolSpec } from "../provider.ts";
import { toolTexts } from "./tool-texts.ts";

const tool = (name: string): ToolSpec => ({ name, description: `Does ${name}`, parameters: { type: "object" } });

test("a list is serialised once, however often it is sent", () => {
  let made = 0;
  const textOf = toolTexts(({ name }) => {
    made++;
    return name;
  });
  const list = [tool("a"), tool("b")];
  expect([textOf(list), textOf(list)]).toEqual(['["a","b"]', '["a","b"]']);
  expect(made).toBe(2);
});

test("lists with other tools have other texts, also when there are more of them than are shared", () => {
  const textOf = toolTexts(({ name, description }) => ({ name, description }));
  for (let at = 0; at < 100; at++)
    expect(textOf([tool(`t${at}`)])).toBe(`[{"name":"t${at}","description":"Does t${at}"}]`);
});
