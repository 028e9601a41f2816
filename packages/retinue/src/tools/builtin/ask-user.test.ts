import { afterEach, expect, test } from "vitest";
import { type SmallWorld, smallWorld } from "../small-world.ts";
import type { CallServices } from "../tool.ts";
import { askUserFormTool, askUserTool } from "./ask-user.ts";
import { taskCompleteTool } from "./task-complete.ts";

let world: SmallWorld | undefined;
afterEach(() => world?.close());

function inWorld(services: Partial<CallServices>): SmallWorld {
  world = smallWorld(services);
  return world;
}
const form = { message: "Fill in", requestedSchema: { type: "object", properties: { color: { type: "string" } } } };

test("a chosen answer and a free one are told apart", async () => {
  const asked: unknown[] = [];
  const { call } = inWorld({
    ask: async (question) => {
      asked.push(question);
      return question.choices ? { answer: "red", wasFreeform: false } : { answer: "some text", wasFreeform: true };
    },
  });
  expect((await call(askUserTool(), { question: "Pick", choices: ["red", "blue"] })).text).toBe("User selected: red");
  expect((await call(askUserTool(), { question: "Free?", allow_freeform: true })).text).toBe(
    "User responded: some text",
  );
  expect(asked).toEqual([{ question: "Pick", choices: ["red", "blue"] }, { question: "Free?" }]);
});

test.each([
  [{ color: "red" }, "User responded: red"],
  [{ color: "red", count: 2, ok: true }, "User responded:\ncolor: red\ncount: 2\nok: true"],
])("a form that was filled in with %j", async (content, expected) => {
  const { call } = inWorld({ elicit: async () => ({ action: "accept", content }) });
  expect((await call(askUserFormTool(), form)).text).toBe(expected);
});

test("a form of one field has the field's name in its detail", async () => {
  const { call } = inWorld({ elicit: async () => ({ action: "accept", content: { color: "red" } }) });
  expect((await call(askUserFormTool(), form)).detail).toBe("User responded:\ncolor: red");
});

test.each(["decline", "cancel"] as const)("a form that ends with %s is no failure", async (action) => {
  const { call } = inWorld({ elicit: async () => ({ action }) });
  expect(await call(askUserFormTool(), form)).toMatchObject({
    resultType: "success",
    text: expect.stringContaining("The user"),
  });
});

test("with nobody to ask it is a failure that says what to do", async () => {
  const { call } = inWorld({});
  expect(await call(askUserTool(), { question: "x" })).toMatchObject({ resultType: "failure" });
  expect(await call(askUserFormTool(), form)).toMatchObject({ resultType: "failure" });
});

test("a question needs no permission", async () => {
  expect(await inWorld({}).permission(askUserTool(), { question: "x" })).toBeUndefined();
});

test("task_complete gives its summary and ends the turn", async () => {
  const tool = taskCompleteTool();
  expect(tool.isTerminal).toBe(true);
  expect((await inWorld({}).call(tool, { summary: "all done" })).text).toBe("all done");
});
