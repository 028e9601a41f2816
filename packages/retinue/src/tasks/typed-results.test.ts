/** Sub-agents whose answers are data: asked for, checked, corrected, kept and told. */
import { describe, expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import {
  agentNamed,
  by,
  byHeld,
  delegate,
  held,
  lifeOf,
  main,
  mainOn,
  never,
  resultsIn,
  send,
  userTexts,
} from "./test-tasks.ts";

const schema = {
  type: "object",
  properties: { ore: { type: "string" }, grams: { type: "integer" } },
  required: ["ore"],
  additionalProperties: false,
};
const GOLD = { ore: "gold", grams: 3 };
const gold = say(JSON.stringify(GOLD));
const background = { mode: "background" };

describe("an agent with a schema", () => {
  test("is told it, and its answer is JSON for its caller and data for clients", async () => {
    const turns = [
      main(delegate("dig", { schema })),
      by("dig", say(`Here:\n\`\`\`json\n${JSON.stringify(GOLD)}\n\`\`\``)),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const [, ofAgent, afterwards] = provider.requests;
      expect(ofAgent && userTexts(ofAgent)[0]).toContain('"grams"');
      expect(resultsIn(afterwards)).toEqual([JSON.stringify(GOLD)]);
      const { id, ...agent } = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ status: "idle", typedResult: GOLD, result: JSON.stringify(GOLD) });
      expect(client.of("subagent.completed")).toMatchObject([{ typedResult: GOLD }]);
      const { progress } = await client.call("session.tasks.getProgress", { sessionId, id });
      expect(progress).toMatchObject({ typedResult: GOLD });
      const [asked] = client.events.filter(({ type, agentId }) => type === "user.message" && agentId === id);
      expect(asked?.data.content).toBe("do dig");
    });
  });

  test("is given the reason when its answer does not fit, and answers again", async () => {
    const turns = [
      main(delegate("dig", { schema })),
      by("dig", say("I found gold.")),
      by("dig", say('{"ore":"gold","grams":"many"}')),
      by("dig", gold),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const [, , second, third, afterwards] = provider.requests;
      expect(second && userTexts(second).at(-1)).toMatch(/not JSON/);
      expect(third && userTexts(third).at(-1)).toMatch(/grams/);
      expect(resultsIn(afterwards)).toEqual([JSON.stringify(GOLD)]);
      const { id } = await agentNamed(client, sessionId, "dig");
      expect(lifeOf(client, id)).toEqual(["started", "completed"]);
      provider.assertSpent();
    });
  });

  test("has failed after three corrections, and its last answer is kept with the reason", async () => {
    const wrong = () => by("dig", say('{"grams":1}'));
    const turns = [main(delegate("dig", { schema })), wrong(), wrong(), wrong(), wrong(), main(say("seen"))];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const [failed] = client.of("subagent.failed");
      expect(failed?.error).toMatch(/after 3 corrections: .*required property "ore"/);
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ status: "failed", result: '{"grams":1}' });
      expect(agent.typedResult).toBeUndefined();
      expect(resultsIn(provider.requests.at(-1))[0]).toContain('What it had so far:\n{"grams":1}');
      provider.assertSpent();
    });
  });

  test("is judged anew in every run, and each run has its own corrections", async () => {
    const turns = [
      main(delegate("dig", { schema, ...background })),
      main(say("waiting")),
      by("dig", say("gold")),
      by("dig", say("gold")),
      by("dig", gold),
      main(say("seen")),
      mainOn("write_agent", { message: "again" }),
      main(say("asked")),
      by("dig", say("silver")),
      by("dig", say("silver")),
      by("dig", say('{"ore":"silver"}')),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const { id } = await agentNamed(client, sessionId, "dig");
      await world.send(sessionId, `agent_id: ${id}`);
      expect(client.of("subagent.completed").map(({ typedResult }) => typedResult)).toEqual([GOLD, { ore: "silver" }]);
      expect((await agentNamed(client, sessionId, "dig")).typedResult).toEqual({ ore: "silver" });
      provider.assertSpent();
    });
  });

  test("answers with data also when it was moved to the background meanwhile", async () => {
    const dig = held(say("gold"));
    const turns = [
      main(delegate("dig", { schema })),
      byHeld("dig", dig),
      main(say("waiting")),
      by("dig", gold),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create();
      await send(world, sessionId);
      await dig.reached;
      const { id } = await agentNamed(client, sessionId, "dig");
      await client.call("session.tasks.promoteToBackground", { sessionId, id });
      dig.go();
      await client.received("session.idle");
      expect(await agentNamed(client, sessionId, "dig")).toMatchObject({ status: "idle", typedResult: GOLD });
    });
  });

  test("keeps its schema and the count of its corrections over a restart", async () => {
    const cut = never();
    const wrong = () => by("dig", say("gold"));
    const turns = [wrong(), wrong(), byHeld("dig", cut), wrong(), wrong(), main(say("seen"))];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create, provider } = world;
        const sessionId = await create();
        const params = { sessionId, agentType: "general-purpose", name: "dig", prompt: "do dig", schema };
        const { agentId } = await client.call("session.tasks.startAgent", params);
        await cut.reached;
        const { client: again } = await world.restart();
        await again.call("session.resume", { sessionId, requestPermission: true });
        await again.received("session.idle");
        expect(await agentNamed(again, sessionId, "dig")).toMatchObject({ id: agentId, status: "failed" });
        provider.assertSpent();
      },
      { isOnDisk: true },
    );
  });
});

test("a schema that cannot be used refuses the start, in words for the model", async () => {
  const bad = { type: "object", properties: { a: { type: "strng" } } };
  await inSmallWorld([main(delegate("dig", { schema: bad })), main(say("seen"))], async (world) => {
    await world.send(await world.create(), "go");
    expect(resultsIn(world.provider.requests.at(-1))[0]).toMatch(/schema cannot be used: "properties.a/);
  });
});

test("the schema of a definition counts, unless the call names another", async () => {
  const agents = [{ name: "miner", description: "Digs.", prompt: "You dig.", schema }];
  const turns = [
    main(delegate("dig", { agent_type: "miner" })),
    by("dig", gold),
    main(delegate("count", { agent_type: "miner", schema: { type: "integer" } })),
    by("count", say("7")),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async ({ client, create, ...world }) => {
    const sessionId = await create({ customAgents: agents });
    await world.send(sessionId, "go");
    expect((await agentNamed(client, sessionId, "dig")).typedResult).toEqual(GOLD);
    expect((await agentNamed(client, sessionId, "count")).typedResult).toBe(7);
  });
});
