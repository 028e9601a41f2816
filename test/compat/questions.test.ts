/** Questions and forms: ask_user in both shapes, and forms that the host itself asks for. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const QUESTION = { question: "Which colour?", choices: ["red", "blue"] };

test("ask_user is offered only to a client that takes questions", async () => {
  await using without = await openTalk(world);
  await using having = await openTalk(world, { onUserInputRequest: () => ({ answer: "", wasFreeform: true }) });
  await Promise.all([without.ask("hi"), having.ask("hi")]);
  expect(without.model.lastRequest.toolNames).not.toContain("ask_user");
  expect(having.model.lastRequest.toolNames).toContain("ask_user");
});

test.each([
  ["a choice", { answer: "blue", wasFreeform: false }, "User selected: blue"],
  ["words of its own", { answer: "a warm green", wasFreeform: true }, "User responded: a warm green"],
])("an answer that is %s reaches the model", async (_, answer, text) => {
  const asked: unknown[] = [];
  await using talk = await openTalk(world, {
    onUserInputRequest: (request) => {
      asked.push(request);
      return answer;
    },
  });
  talk.model.script(call("ask_user", QUESTION, "call-1"), say("thanks"));
  expect(await talk.ask("ask me")).toBe("thanks");
  expect(asked).toMatchObject([{ ...QUESTION, allowFreeform: true }]);
  expect(talk.model.lastRequest.texts("tool")).toEqual([text]);
  const requested = talk.record.one("user_input.requested");
  expect(requested).toMatchObject({ ephemeral: true, data: { ...QUESTION, toolCallId: "call-1" } });
  expect(talk.record.one("user_input.completed").data).toMatchObject({
    requestId: requested.data.requestId,
    ...answer,
  });
});

test("a question is not a permission ask", async () => {
  await using talk = await openTalk(world, { onUserInputRequest: () => ({ answer: "x", wasFreeform: true }) });
  talk.model.script(call("ask_user", { question: "Why?" }), say("thanks"));
  await talk.ask("ask me");
  expect(talk.record.all("permission.requested")).toEqual([]);
});

test("a handler that throws lets the run go on", async () => {
  await using talk = await openTalk(world, {
    onUserInputRequest: () => {
      throw new Error("nobody home");
    },
  });
  talk.model.script(call("ask_user", QUESTION), say("then I decide"));
  expect(await talk.ask("ask me")).toBe("then I decide");
  expect(talk.model.lastRequest.texts("tool")[0]).not.toContain("nobody home");
});

test("a session says whether it can show forms", async () => {
  await using without = await openTalk(world);
  await using having = await openTalk(world, { onElicitationRequest: () => ({ action: "cancel" }) });
  expect(without.session.capabilities.ui?.elicitation).toBe(false);
  expect(having.session.capabilities.ui?.elicitation).toBe(true);
});

test.each([
  ["accept", { action: "accept" as const, content: { region: "eu-west" } }],
  ["decline", { action: "decline" as const }],
  ["cancel", { action: "cancel" as const }],
])("a form that the host asks for comes back with %s", async (_, answer) => {
  await using talk = await openTalk(world, { onElicitationRequest: () => answer });
  const requestedSchema = { type: "object" as const, properties: { region: { type: "string" as const } } };
  const result = await talk.session.ui.elicitation({ message: "Where?", requestedSchema });
  expect(result).toMatchObject(answer);
  expect(talk.record.one("elicitation.requested")).toMatchObject({ ephemeral: true, data: { message: "Where?" } });
  expect((await talk.record.until("elicitation.completed")).data).toMatchObject({ action: answer.action });
});

test("confirm, select and input are forms of one field", async () => {
  const fields: string[] = [];
  await using talk = await openTalk(world, {
    onElicitationRequest: ({ requestedSchema }) => {
      const [[name, field] = []] = Object.entries(requestedSchema?.properties ?? {});
      fields.push(field?.type ?? "");
      const value = field?.type === "boolean" ? true : field && "enum" in field ? "b" : "typed";
      return { action: "accept", content: { [name ?? ""]: value } };
    },
  });
  expect(await talk.session.ui.confirm("Sure?")).toBe(true);
  expect(await talk.session.ui.select("Which?", ["a", "b"])).toBe("b");
  expect(await talk.session.ui.input("Name?")).toBe("typed");
  expect(fields).toEqual(["boolean", "string", "string"]);
});

test("a form handler that throws cancels the form", async () => {
  await using talk = await openTalk(world, {
    onElicitationRequest: () => {
      throw new Error("no screen");
    },
  });
  const requestedSchema = { type: "object" as const, properties: {} };
  expect(await talk.session.ui.elicitation({ message: "Where?", requestedSchema })).toMatchObject({ action: "cancel" });
});

// The native runtime of SDK 1.0.14 does not offer the tool in this shape; its JavaScript twin does.
test.runIf(ours)("ask_user in its form shape fills in a form", async () => {
  const asked: unknown[] = [];
  await using talk = await openTalk(world, {
    askUserVariant: "elicitation",
    onElicitationRequest: (context) => {
      asked.push(context);
      return { action: "accept", content: { region: "us-east" } };
    },
  });
  const properties = { region: { type: "string", enum: ["us-east", "eu-west"] } };
  const requestedSchema = { type: "object", properties, required: ["region"] };
  talk.model.script(call("ask_user", { message: "Where to?", requestedSchema }), say("thanks"));
  expect(await talk.ask("ask me")).toBe("thanks");
  expect(asked).toMatchObject([{ message: "Where to?", requestedSchema: { properties } }]);
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("us-east");
});
