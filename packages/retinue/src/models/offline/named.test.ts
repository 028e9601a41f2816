import { expect, test } from "vitest";
import type { Message, ToolSpec } from "../provider.ts";
import { collect } from "../wire/loopback.ts";
import { offline } from "./offline.ts";

const text = { type: "string" };
const object = (properties: object, required: string[]) => ({ type: "object", properties, required });
const TOOLS: ToolSpec[] = [
  { name: "grep", description: "", parameters: object({ pattern: text }, ["pattern"]) },
  { name: "look_up_order", description: "", parameters: object({ number: text, note: text }, ["number"]) },
  { name: "send_money", description: "", parameters: object({ to: text, amount: text }, ["to", "amount"]) },
  { name: "task", description: "", parameters: object({ agent_type: { ...text, enum: ["explore", "clerk"] } }, []) },
];

async function next(prompt: string, more: Message[] = []) {
  const messages: Message[] = [{ role: "user", content: prompt }, ...more];
  const request = { model: "offline", system: "", tools: TOOLS, stream: true, messages };
  const parts = await collect(offline().stream(request, { signal: new AbortController().signal }));
  const calls = parts.flatMap((part) =>
    part.type === "call" ? [{ name: part.name, args: JSON.parse(part.arguments) }] : [],
  );
  return { calls, said: parts.map((part) => (part.type === "text" ? part.delta : "")).join("") };
}

test.each([
  ["Ask the clerk to look up order A-17.", "look up order A-17."],
  ["ask clerk: where is it?", "where is it?"],
  ["Ask the clerk agent to count the orders", "count the orders"],
])("%s is given to the agent of that name", async (prompt, errand) => {
  const { calls } = await next(prompt);
  expect(calls).toMatchObject([{ name: "task", args: { agent_type: "clerk", prompt: errand, mode: "sync" } }]);
});

test("an agent that there is not is not asked", async () => {
  expect((await next("Ask the butler to look around")).calls.map(({ name }) => name)).not.toContain("task");
});

test.each([
  ["look up order A-17.", "A-17"],
  ["Please use look_up_order for B-2", "B-2"],
  ['Look up order "number nine"', "number nine"],
])("%s calls the tool with that name", async (prompt, number) => {
  expect((await next(prompt)).calls).toEqual([{ name: "look_up_order", args: { number } }]);
});

test("a question about files is not taken for a tool's name, and a tool that needs two values is not guessed at", async () => {
  expect((await next('where is "look_up_order" defined?')).calls).toMatchObject([{ name: "grep" }]);
  expect((await next("send money bob")).calls).toEqual([]);
});

test("what the tool gave is the answer", async () => {
  const call = { id: "c", name: "look_up_order", arguments: '{"number":"A-17"}' };
  const { said, calls } = await next("look up order A-17", [
    { role: "assistant", text: "", calls: [call] },
    { role: "tool", callId: "c", text: '{"status":"shipped"}' },
  ]);
  expect(calls).toEqual([]);
  expect(said).toContain('{"status":"shipped"}');
});
