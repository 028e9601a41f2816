import { expect, test } from "vitest";
import * as z from "zod";
import { call, say, startScriptedModel } from "./scripted-model.ts";

const Message = z.object({
  content: z.string().nullable(),
  tool_calls: z.array(z.object({ id: z.string() })).optional(),
});
const Completion = z.object({ choices: z.tuple([z.object({ message: Message })]) });

async function askFor(baseUrl: string): Promise<z.infer<typeof Message>> {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Go." }] });
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body });
  return Completion.parse(await response.json()).choices[0].message;
}

test("an array is one turn with all its parts", async () => {
  await using model = await startScriptedModel([
    [say("I look. "), call("view", { path: "a" }), call("view")],
    say("Done."),
  ]);
  const first = await askFor(model.provider.baseUrl);
  expect(first.content).toBe("I look. ");
  expect(new Set(first.tool_calls?.map(({ id }) => id)).size).toBe(2);
  expect((await askFor(model.provider.baseUrl)).content).toBe("Done.");
  model.assertSpent();
});

test("what is not a turn is refused when the script is given, with the words for a right one", async () => {
  const foreign: object = { type: "text", delta: "from another module" };
  await expect(startScriptedModel([foreign])).rejects.toThrow("is not a turn. Use say() and call()");
  await expect(startScriptedModel([[]])).rejects.toThrow("is not a turn");
});

test("close ends the server, so that nothing keeps the program alive", async () => {
  const model = await startScriptedModel([say("never")]);
  await model.close();
  await expect(askFor(model.provider.baseUrl)).rejects.toThrow();
});
