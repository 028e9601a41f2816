/** The runs of an agent: each message is one, with a start, an answer and an end of its own. */
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import {
  agentNamed,
  by,
  byHeld,
  delegate,
  held,
  LEAD,
  lifeOf,
  main,
  mainOn,
  never,
  quiet,
  resultsIn,
  send,
  startAgent,
} from "./test-tasks.ts";

const message = (client: TestClient, sessionId: string, id: string, text = "more") =>
  client.call("session.tasks.sendMessage", { sessionId, id, message: text });

describe("a message to a running agent", () => {
  test("is a turn of its own: both answers are kept, and read_agent shows both", async () => {
    const dig = held(say("gold"));
    const turns = [
      main(delegate("dig", { mode: "background" })),
      main(say("waiting")),
      byHeld("dig", dig),
      by("dig", say("silver")),
      main(say("seen")),
      main(say("seen")),
      mainOn("read_agent"),
      main(say("read")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await send(world, sessionId);
      await dig.reached;
      const { id } = await agentNamed(client, sessionId, "dig");
      expect(await message(client, sessionId, id, "silver too")).toEqual({ sent: true });
      dig.go();
      await client.received("session.idle");
      expect(lifeOf(client, id)).toEqual(["started", "completed", "started", "completed"]);
      await world.send(sessionId, `agent_id: ${id}`);
      const text = resultsIn(provider.requests.at(-1)).at(-1);
      expect(text).toContain("total_turns: 2");
      expect(text).toContain("[Turn 0]\ngold\n\n[Turn 1]\n[Message]\nsilver too\n[Response]\nsilver");
    });
  });

  test("does not take the place of the first prompt, when the agent has not been given that yet", async () => {
    const turns = [
      main(delegate("dig", { mode: "background" })),
      main(say("waiting")),
      by("dig", say("gold")),
      by("dig", say("silver")),
      main(say("seen")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      let goOn = () => {};
      const isHeld = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      client.answers.set("hooks.invoke", async ({ hookType }: { hookType: string }) => {
        if (hookType === "subagentStart") await isHeld;
        return {};
      });
      const sessionId = await create({ hooks: true });
      await send(world, sessionId);
      await client.received("subagent.started");
      const { id, prompt } = await agentNamed(client, sessionId, "dig");
      await message(client, sessionId, id, "silver too");
      expect(await agentNamed(client, sessionId, "dig")).toMatchObject({ prompt: "silver too" });
      goOn();
      await client.received("session.idle");
      const own = client.events.filter(({ type, agentId }) => type === "user.message" && agentId === id);
      expect(own.map(({ data }) => (data as { content: string }).content)).toEqual([prompt, "silver too"]);
    });
  });

  test("does not change the result of the call that waits for what was asked first", async () => {
    const dig = held(say("gold"));
    const turns = [
      main(delegate("dig")),
      byHeld("dig", dig),
      by("dig", say("silver")),
      main(say("done")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await send(world, sessionId);
      await dig.reached;
      const { id } = await agentNamed(client, sessionId, "dig");
      await message(client, sessionId, id, "silver too");
      dig.go();
      await client.received("session.idle");
      const answered = provider.requests.flatMap((request) => resultsIn(request));
      expect(new Set(answered)).toEqual(new Set(["gold"]));
      expect(await agentNamed(client, sessionId, "dig")).toMatchObject({ status: "idle", latestResponse: "silver" });
    });
  });

  test("gives an agent below a sub-agent, which otherwise ends with its answer, one more run", async () => {
    const inner = held(say("ore"));
    const turns = [
      main(delegate("outer", { agent_type: LEAD.name })),
      by("outer", delegate("inner")),
      byHeld("inner", inner),
      by("inner", say("coal")),
      by("outer", say("gold")),
      by("outer", say("gold and coal")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ customAgents: [LEAD] });
      await send(world, sessionId);
      await inner.reached;
      const { id } = await agentNamed(client, sessionId, "inner");
      await message(client, sessionId, id);
      inner.go();
      await client.received("session.idle");
      expect(lifeOf(client, id)).toEqual(["started", "completed", "started", "completed"]);
      expect(await agentNamed(client, sessionId, "inner")).toMatchObject({
        status: "completed",
        latestResponse: "coal",
      });
      expect(provider.requests.flatMap(resultsIn)).toContain("ore");
    });
  });

  test("is not read when the agent fails first, and the error says so", async () => {
    const dig = held(new Error("no model"));
    await inSmallWorld([byHeld("dig", dig), main(say("seen"))], async ({ client, create }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await dig.reached;
      await message(client, sessionId, id);
      dig.go();
      await client.received("session.idle");
      const { status, error } = await agentNamed(client, sessionId, "dig");
      expect([status, error]).toEqual(["failed", expect.stringMatching(/no model.*1 message to it was not read/s)]);
      expect(lifeOf(client, id)).toEqual(["started", "failed"]);
    });
  });

  test("is answered after a restart", async () => {
    const dig = never();
    const turns = [
      byHeld("dig", dig),
      by("dig", say("gold")),
      by("dig", say("silver")),
      main(say("seen")),
      main(say("seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create } = world;
        const sessionId = await create();
        const id = await startAgent(client, sessionId, "dig");
        await dig.reached;
        await message(client, sessionId, id);
        const { client: again } = await world.restart();
        await again.call("session.resume", { sessionId });
        await again.received("session.idle");
        expect(await agentNamed(again, sessionId, "dig")).toMatchObject({ status: "idle", latestResponse: "silver" });
        expect([...lifeOf(client, id), ...lifeOf(again, id)]).toEqual(["started", "completed", "started", "completed"]);
      },
      { isOnDisk: true },
    );
  });
});

describe("the end of an agent that takes messages", () => {
  test("is told for each run: a second one that fails is a failure", async () => {
    const turns = [by("dig", say("gold")), main(say("seen")), by("dig", new Error("no model")), main(say("seen"))];
    await inSmallWorld(turns, async ({ client, create }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await client.received("session.idle");
      const after = client.events.length;
      await message(client, sessionId, id);
      await client.received("session.idle", { after });
      expect(lifeOf(client, id)).toEqual(["started", "completed", "started", "failed"]);
    });
  });

  test("is told as cancelled when its second run is cancelled", async () => {
    const second = never();
    await inSmallWorld(
      [by("dig", say("gold")), main(say("seen")), byHeld("dig", second)],
      async ({ client, create }) => {
        const sessionId = await create();
        const id = await startAgent(client, sessionId, "dig");
        await client.received("session.idle");
        await message(client, sessionId, id);
        await second.reached;
        await client.call("session.tasks.cancel", { sessionId, id });
        await quiet(client, sessionId);
        expect(lifeOf(client, id)).toEqual(["started", "completed", "started", "completed (cancelled)"]);
        expect((await agentNamed(client, sessionId, "dig")).status).toBe("cancelled");
      },
    );
  });

  test("is completed, and the list of tasks has changed, when a client closes it while it is idle", async () => {
    await inSmallWorld([by("dig", say("gold")), main(say("seen"))], async ({ client, create }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await client.received("session.idle");
      const after = client.events.length;
      expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
      await client.received("session.background_tasks_changed", { after });
      expect(await agentNamed(client, sessionId, "dig")).toMatchObject({
        status: "completed",
        latestResponse: "gold",
        completedAt: expect.any(String),
      });
      expect(lifeOf(client, id)).toEqual(["started", "completed"]);
      expect(await message(client, sessionId, id)).toEqual({
        sent: false,
        error: expect.stringContaining("(completed)"),
      });
    });
  });

  test("is completed when its session is closed, and still so when the session is resumed", async () => {
    await inSmallWorld(
      [by("dig", say("gold")), main(say("seen"))],
      async ({ client, create }) => {
        const sessionId = await create();
        const id = await startAgent(client, sessionId, "dig");
        await client.received("session.idle");
        await client.call("session.destroy", { sessionId });
        await client.call("session.resume", { sessionId });
        expect((await agentNamed(client, sessionId, "dig")).status).toBe("completed");
        expect(lifeOf(client, id)).toEqual(["started", "completed"]);
      },
      { isOnDisk: true },
    );
  });
});

describe("an agent whose every call was refused", () => {
  const refuse = async (client: TestClient, sessionId: string) => {
    const { data } = await client.until(({ type }) => type === "permission.requested");
    await client.call("session.permissions.handlePendingPermissionRequest", {
      sessionId,
      requestId: String(data.requestId),
      result: { kind: "reject" },
    });
  };

  test("has failed when it has said nothing, also in a later run, and the earlier answer is not its answer", async () => {
    const turns = [
      by("dig", say("gold")),
      main(say("seen")),
      by("dig", call("bash", { command: "touch x", description: "touch" })),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async ({ client, create }) => {
      const sessionId = await create({ requestPermission: true });
      const id = await startAgent(client, sessionId, "dig");
      await client.received("session.idle");
      const after = client.events.length;
      await message(client, sessionId, id);
      await refuse(client, sessionId);
      await client.received("session.idle", { after });
      expect(await agentNamed(client, sessionId, "dig")).toMatchObject({ status: "failed", reason: "refused" });
      expect(client.of("subagent.failed")).toMatchObject([{ reason: "refused" }]);
    });
  });

  test("has answered, with the reason that all was refused, when its answer follows from nothing else", async () => {
    const turns = [
      main(delegate("dig")),
      by("dig", call("bash", { command: "touch x", description: "touch" })),
      by("dig", say("I was not allowed to.")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ requestPermission: false }); // Nobody can be asked, so the call is denied.
      await world.send(sessionId, "go");
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ status: "idle", reason: "refused", latestResponse: "I was not allowed to." });
      expect(client.of("subagent.completed")).toMatchObject([{ reason: "refused" }]);
      expect(resultsIn(provider.requests.at(-1)).at(-1)).toContain("every call of the agent was refused");
    });
  });

  test("is an ordinary one as soon as one of its calls was not refused", async () => {
    const turns = [
      main(delegate("dig")),
      by("dig", call("bash", { command: "touch x", description: "touch" }), call("list_agents")),
      by("dig", say("I was not allowed to.")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create({ requestPermission: false });
      await world.send(sessionId, "go");
      expect(await agentNamed(client, sessionId, "dig")).not.toHaveProperty("reason");
      expect(client.of("subagent.completed")[0]).not.toHaveProperty("reason");
    });
  });
});
