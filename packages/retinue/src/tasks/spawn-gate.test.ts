/** What clients and models see of a spawn: ids, descriptions, the order of its events, and starts that are refused. */
import { describe, expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { agentNamed, agentsOf, by, byHeld, delegate, held, main, mainOn, resultsIn, send } from "./test-tasks.ts";

const MINER = { name: "miner", displayName: "The miner", description: "Digs for a living.", prompt: "You dig." };
const miner = { agent_type: "miner" };
const background = { mode: "background" };

describe("a new agent", () => {
  test("has an id that begins with its name, and another one than its namesake", async () => {
    const turns = [
      main(delegate("Dig deep", background), delegate("Dig deep", background)),
      by("deep", say("gold")),
      by("deep", say("silver")),
      main(say("seen")),
      main(say("seen")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const ids = (await agentsOf(client, sessionId)).map(({ id }) => id);
      expect(ids).toEqual([expect.stringMatching(/^dig-deep-\w{6}$/), expect.stringMatching(/^dig-deep-\w{6}$/)]);
      expect(new Set(ids).size).toBe(2);
    });
  });

  test("whose call gives it a blank name is called what it is", async () => {
    const turns = [main(delegate("dig", { ...miner, name: " " })), by("dig", say("gold")), main(say("seen"))];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create({ customAgents: [MINER] });
      await world.send(sessionId, "go");
      expect((await agentsOf(client, sessionId)).map(({ id }) => id)).toEqual([expect.stringMatching(/^miner-\w{6}$/)]);
      expect(client.of("subagent.started")).toMatchObject([{ taskName: "miner" }]);
    });
  });

  test("is listed, reported and read with the description of its call, not with that of its definition", async () => {
    const turns = [
      main(delegate("dig", { ...miner, ...background })),
      main(say("waiting")),
      by("dig", say("gold")),
      main(say("seen")),
      mainOn("read_agent"),
      main(say("read")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ customAgents: [MINER] });
      await world.send(sessionId, "go");
      const { id, description } = await agentNamed(client, sessionId, "dig");
      expect(description).toBe("does dig");
      expect(client.of("system.notification")[0]?.kind).toMatchObject({ description: "does dig" });
      expect(client.of("subagent.started")).toMatchObject([
        { agentDescription: "Digs for a living.", taskDescription: "does dig", agentDisplayName: "The miner" },
      ]);
      await world.send(sessionId, `agent_id: ${id}`);
      expect(resultsIn(provider.requests.at(-1)).at(-1)).toContain("description: does dig,");
    });
  });

  test("is selected before it has started", async () => {
    const turns = [main(delegate("dig", miner)), by("dig", say("gold")), main(say("seen"))];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      await world.send(await create({ customAgents: [MINER] }), "go");
      const ofAgent = client.events.filter(({ type }) => /^subagent\./.test(type)).map(({ type }) => type);
      expect(ofAgent).toEqual(["subagent.selected", "subagent.started", "subagent.configured", "subagent.completed"]);
    });
  });
});

test("an agent that a session begins with is selected live, before anything is said", async () => {
  await inSmallWorld([main(say("hello"))], async (world) => {
    const { client, create } = world;
    const sessionId = await create({ customAgents: [MINER], agent: "miner" });
    expect(client.of("subagent.selected")).toMatchObject([{ agentName: "miner" }]);
    await world.send(sessionId, "go");
    expect(client.of("subagent.started")).toEqual([]);
  });
});

describe("a start that is refused", () => {
  const failures = (client: TestClient) =>
    client.events
      .filter(({ type }) => type === "subagent.started" || type === "subagent.failed")
      .map(({ type, data }) => [type.slice(9), data.taskName, data.error]);

  test.each<[string, { args?: object; config?: object; error: RegExp; maxDepth?: number }]>([
    ["an unknown agent", { args: { agent_type: "nobody" }, error: /nobody/ }],
    [
      "an unknown model",
      {
        args: { model: "zzz" },
        config: { providers: [{ name: "p", baseUrl: "http://127.0.0.1:9" }], models: [{ id: "gpt", provider: "p" }] },
        error: /Unknown model: zzz. Valid models are: p\/gpt/,
      },
    ],
    ["too deep", { error: /Maximum sub-agent depth of 0 reached/, maxDepth: 0 }],
    ["over the budget", { config: { budget: { maxSpawns: 0 } }, error: /spawn|agents started/ }],
    ["an unusable schema", { args: { schema: { type: "strng" } }, error: /schema cannot be used/ }],
    [
      "an unknown skill",
      {
        args: miner,
        config: { customAgents: [{ ...MINER, skills: ["nosuch"] }] },
        error: /nosuch/,
      },
    ],
  ])("is an event and words for the model: %s", async (_, { args = {}, config = {}, error, maxDepth = 6 }) => {
    await inSmallWorld(
      [main(delegate("dig", args)), main(say("seen"))],
      async (world) => {
        const { client, create, provider } = world;
        await world.send(await create(config), "go");
        expect(failures(client)).toEqual([
          ["started", "dig", undefined],
          ["failed", "dig", expect.stringMatching(error)],
        ]);
        expect(resultsIn(provider.requests.at(-1))[0]).toMatch(error);
      },
      { config: { maxDepth } },
    );
  });

  test("is one as well when a client asks for it", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create();
      const params = { sessionId, agentType: "nobody", name: "dig", prompt: "dig" };
      await expect(client.call("session.tasks.startAgent", params)).rejects.toThrow(/Valid types: .*explore/);
      expect(failures(client)).toHaveLength(2);
    });
  });
});

test("read_agent with since_turn returns at once when that turn is there, though the agent works", async () => {
  const second = held(say("silver"));
  const turns = [
    main(delegate("dig", background)),
    main(say("waiting")),
    by("dig", say("gold")),
    main(say("seen")),
    mainOn("write_agent", { message: "more" }),
    mainOn("read_agent", { wait: true, timeout: 600, since_turn: 0 }),
    main(say("read")),
    byHeld("dig", second),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async (world) => {
    const { client, create, provider } = world;
    const sessionId = await create();
    await world.send(sessionId, "go");
    const { id } = await agentNamed(client, sessionId, "dig");
    const after = client.events.length;
    await send(world, sessionId, `agent_id: ${id}`);
    await second.reached;
    await client.until(({ type, data }) => type === "assistant.message" && data.content === "read");
    expect(provider.requests.flatMap((request) => resultsIn(request)).join("\n")).toContain("status: running");
    second.go();
    await client.received("session.idle", { after });
  });
});
