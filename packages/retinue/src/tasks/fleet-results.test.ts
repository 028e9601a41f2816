/** Fleets whose agents answer with data: whose schema holds, who gets the data, and what becomes of an answer that does not fit. */
import { expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { graph, lead, shortly, sql, todo, todoHeld, todoOf } from "./test-fleets.ts";
import { agentsOf, never, userTexts } from "./test-tasks.ts";

const grams = { type: "object", properties: { grams: { type: "integer" } }, required: ["grams"] };
const list = { type: "array", items: { type: "string" } };
const noReport = { results: [] };

test("a todo's own schema holds before that of the fleet, and whoever depends on the todo gets the JSON", async () => {
  const long = Array.from({ length: 900 }, (_, index) => `ore ${index}`);
  const turns = [todo("dig", say(JSON.stringify(long))), todo("weigh", say('Here:\n```json\n{"grams": 3}\n```'))];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const { deps, todos } = graph("dig", "weigh<dig");
    const given = { deps, todos: todos.map((each) => (each.id === "dig" ? { ...each, schema: list } : each)) };
    const { report } = await client.call("session.fleet.start", { sessionId, ...given, schema: grams, wait: true });
    expect(report?.results).toMatchObject([
      { todoId: "dig", status: "done", typedResult: long },
      { todoId: "weigh", status: "done", typedResult: { grams: 3 }, text: '{"grams":3}' },
    ]);
    expect((await client.call("session.fleet.read", { sessionId })).results).toEqual(report?.results);
    const weigh = provider.requests.find((request) => todoOf(request) === "weigh");
    const [, handedOn = ""] = /## dig\s+```json\n(.*)\n```/.exec((weigh && userTexts(weigh)[0]) ?? "") ?? [];
    expect(JSON.parse(handedOn)).toEqual(long);
    provider.assertSpent();
  });
});

test("an answer that does not fit after its corrections is a failure of the todo: tried again, then blocked", async () => {
  const wrong = (id: string, times: number) => Array.from({ length: times }, () => todo(id, say("plenty")));
  const turns = [...wrong("a", 8), ...wrong("b", 4), todo("b", say('{"grams":1}'))];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const given = { ...graph("a", "b", "c<a"), schema: grams, maxConcurrent: 1 };
    const { report } = await client.call("session.fleet.start", { sessionId, ...given, wait: true });
    expect(shortly(report ?? noReport)).toMatchObject({
      a: expect.stringMatching(/^blocked: The answer does not fit the schema, after 3 corrections/),
      b: 'done: {"grams":1}',
      c: expect.stringMatching(/^blocked: It waits for a/),
    });
    expect(report?.results.map(({ typedResult, attempts }) => [typedResult, attempts])).toEqual([
      [undefined, 2],
      [{ grams: 1 }, 2],
      [undefined, 0],
    ]);
    provider.assertSpent();
  });
});

test.each([
  [
    { ...graph("a"), schema: { type: "objekt" } },
    /^Invalid fleet: The schema cannot be used: "type": expected object, .* a list of these\. It is that of the fleet\.$/,
  ],
  [
    { todos: [...graph("a").todos, { id: "b", title: "B", schema: { $ref: "https://example.com/x" } }] },
    /The schema cannot be used: .*It is that of the todo b\.$/,
  ],
  [{ prompt: "build", schema: { type: 3 } }, /It is that of the fleet/],
])("a schema that cannot be used is refused at the start, with whose it is: %#", async (given, words) => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await expect(client.call("session.fleet.start", { sessionId, ...given })).rejects.toThrow(words);
    expect(await agentsOf(client, sessionId)).toEqual([]);
    expect((await client.call("session.plan.readSqlTodos", { sessionId })).rows).toEqual([]);
  });
});

test("the main agent plans with schemas, and one that it got wrong blocks its todo in words", async () => {
  const insert = [
    "INSERT INTO todos (id, title) VALUES ('good', 'Good'), ('torn', 'Torn'), ('odd', 'Odd')",
    `INSERT INTO todo_agents (todo_id, schema) VALUES ('good', '${JSON.stringify(grams)}'), ('torn', '{"type"'), ('odd', '{"type":"heap"}')`,
  ];
  const turns = [
    lead(sql(insert.join("; "))),
    lead(say("planned")),
    todo("good", say('{"grams":7}')),
    lead(say("seen")),
  ];
  await inSmallWorld(turns, async ({ client, create, provider }) => {
    const sessionId = await create();
    const { report } = await client.call("session.fleet.start", { sessionId, prompt: "dig", wait: true });
    expect(shortly(report ?? noReport)).toMatchObject({
      good: 'done: {"grams":7}',
      torn: "blocked: Its schema in the table todo_agents is not a JSON object.",
      odd: expect.stringMatching(/^blocked: The schema cannot be used: /),
    });
    expect(report?.results[0]?.typedResult).toEqual({ grams: 7 });
    provider.assertSpent();
  });
});

test("after a restart the agents of a fleet have the schemas that they were given", async () => {
  const cut = never();
  const turns = [
    todo("a", say('{"grams":1}')),
    todoHeld("b", cut),
    todo("b", say("much")),
    todo("b", say('{"grams":2}')),
    todo("c", say("words")),
    todo("c", say('["x"]')),
    lead(say("seen")),
  ];
  await inSmallWorld(
    turns,
    async (world) => {
      const sessionId = await world.create();
      const { deps, todos } = graph("a", "b<a", "c<b");
      const given = { deps, todos: todos.map((each) => (each.id === "c" ? { ...each, schema: list } : each)) };
      await world.client.call("session.fleet.start", { sessionId, ...given, schema: grams });
      await cut.reached;
      const { client } = await world.restart();
      await client.call("session.resume", { sessionId, requestPermission: true });
      await client.received("session.idle");
      const { results } = await client.call("session.fleet.read", { sessionId });
      expect(results.map(({ typedResult }) => typedResult)).toEqual([{ grams: 1 }, { grams: 2 }, ["x"]]);
      world.provider.assertSpent();
    },
    { isOnDisk: true },
  );
});
