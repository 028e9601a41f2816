import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { AnswerError, type AnswerSchema } from "./ask.ts";
import { RetinueClient } from "./client.ts";
import { FakeRuntime } from "./testing/index.ts";

/** A runtime that gives these answers, one for each prompt. */
async function world(...answers: string[]) {
  const runtime: FakeRuntime = new FakeRuntime({
    turn: ({ sessionId }) => runtime.say(sessionId, answers.shift() ?? ""),
  });
  const client = new RetinueClient({ connection: runtime.connection() });
  const session = await client.createSession({ sessionId: "s" });
  const prompts = () => runtime.received.filter(({ method }) => method === "session.send").map(({ params }) => params);
  return { runtime, session, prompts, [Symbol.asyncDispose]: async () => void (await client.stop()) };
}

const City = z.object({ name: z.string(), people: z.number().int() });
const berlin = { name: "Berlin", people: 3_700_000 };

test.each([
  ["bare", JSON.stringify(berlin)],
  ["in a code fence", `\`\`\`json\n${JSON.stringify(berlin, null, 2)}\n\`\`\``],
  ["with words around it", `Here it is: ${JSON.stringify(berlin)}. Anything else?`],
])("an answer %s is data of the schema's type", async (_, text) => {
  await using app = await world(text);
  const city = await app.session.ask("The biggest city?", { schema: City });
  expectTypeOf(city).toEqualTypeOf<{ name: string; people: number }>();
  expect(city).toEqual(berlin);
});

test("the prompt carries the schema for the model and for the endpoint, and shows as it was asked", async () => {
  await using app = await world(JSON.stringify(berlin));
  await app.session.ask("The biggest city?", { schema: City, requestHeaders: { a: "b" } });
  const [sent] = app.prompts();
  expect(sent).toMatchObject({
    displayPrompt: "The biggest city?",
    requestHeaders: { a: "b" },
    responseFormat: { type: "json_schema", jsonSchema: { name: "answer", schema: { required: ["name", "people"] } } },
  });
  expect(sent?.prompt).toContain('"people":{"type":"integer"');
});

test("what a transform makes of the answer is what is returned, and the model is told what goes in", async () => {
  await using app = await world('{"on":"2026-01-02"}');
  const schema = z.object({ on: z.iso.date().transform((text) => new Date(text)) });
  expect(await app.session.ask("When?", { schema })).toEqual({ on: new Date("2026-01-02") });
  expect(app.prompts()[0]?.prompt).toContain('"format":"date"');
});

describe("an answer that does not fit", () => {
  test("is sent back with what is wrong, until one fits", async () => {
    await using app = await world('{"name":"Berlin","people":"many"}', "I do not know", JSON.stringify(berlin));
    expect(await app.session.ask("The biggest city?", { schema: City })).toEqual(berlin);
    const [, second, third] = app.prompts();
    expect(second?.prompt).toMatch(/people: .*expected number/i);
    expect(third?.prompt).toContain("it is not JSON");
  });

  test("is an error with its text when the tries are used up", async () => {
    await using app = await world("no", "still no");
    const failed = app.session.ask("The biggest city?", { schema: City, repairs: 1 });
    const error = await failed.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AnswerError);
    expect(error).toMatchObject({ code: "answer_invalid", text: "still no", issues: [{ message: "it is not JSON" }] });
    expect(app.prompts()).toHaveLength(2);
  });

  test("is an error at once without repairs; an empty one too", async () => {
    await using app = await world("");
    const failed = app.session.ask("?", { schema: City, repairs: 0 });
    await expect(failed).rejects.toMatchObject({ text: "", issues: [{ message: "it is empty" }] });
  });
});

test("a schema of another maker that follows Standard Schema will do, also one that checks later", async () => {
  await using app = await world('"seven"', "7");
  const schema: AnswerSchema<number> = {
    "~standard": {
      validate: async (value) =>
        typeof value === "number" ? { value } : { issues: [{ message: "a number, please" }] },
    },
  };
  expect(await app.session.ask("How many?", { schema })).toBe(7);
  const [first, second] = app.prompts();
  expect(first?.responseFormat).toBeUndefined();
  expect(second?.prompt).toContain("a number, please");
});

test("an endpoint that cannot be given a schema is asked without one", async () => {
  await using app = await world();
  app.runtime.handle("session.send", ({ responseFormat }) => {
    if (responseFormat)
      app.runtime.emit("s", "session.error", {
        errorType: "query",
        message: "400 This response_format is unavailable",
      });
    else app.runtime.say("s", JSON.stringify(berlin));
    return { messageId: "1" };
  });
  expect(await app.session.ask("The biggest city?", { schema: City })).toEqual(berlin);
  expect(app.prompts().map(({ responseFormat }) => responseFormat !== undefined)).toEqual([true, false]);
});

test("an error of the main agent and a limit of time reject as for sendAndWait", async () => {
  await using app = await world();
  app.runtime.handle("session.send", () => ({ messageId: "1" }));
  await expect(app.session.ask("?", { schema: City, timeoutMs: 5 })).rejects.toMatchObject({ code: "timed_out" });
  app.runtime.handle("session.send", () => {
    app.runtime.emit("s", "session.error", { errorType: "query", message: "no model" });
    return { messageId: "1" };
  });
  await expect(app.session.ask("?", { schema: City })).rejects.toMatchObject({ code: "turn_failed" });
});
