/** Tasks when their session is parked: which go on in the next process, which are lost, which had ended. */
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import {
  agentNamed,
  agentsOf,
  by,
  byHeld,
  delegate,
  LEAD,
  lifeOf,
  main,
  mainHeld,
  never,
  quiet,
  resultsIn,
  send,
  startAgent,
  userTexts,
} from "./test-tasks.ts";

const background = { mode: "background" };
const onDisk = { isOnDisk: true };

/** Another process opens the session. Returns a client that receives its events from then on. */
async function resumed(world: SmallWorld, sessionId: string, config: object = {}) {
  const { client } = await world.restart();
  await client.call("session.resume", { sessionId, requestPermission: true, ...config });
  return client;
}

describe("after a restart", () => {
  test("a background agent goes on from its log, and its owner is notified of its answer", async () => {
    const cut = never();
    const turns = [
      by("dig", call("list_agents")),
      byHeld("dig", cut),
      by("dig", say("gold, at last")),
      main(say("seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create, provider } = world;
        const sessionId = await create();
        const id = await startAgent(client, sessionId, "dig");
        await cut.reached;
        const again = await resumed(world, sessionId);
        await again.received("session.idle");
        const agent = await agentNamed(again, sessionId, "dig");
        expect(agent).toMatchObject({ id, status: "idle", latestResponse: "gold, at last" });
        expect([...lifeOf(client, id), ...lifeOf(again, id)]).toEqual(["started", "completed"]);
        expect(again.of("system.notification")).toHaveLength(1);
        const [, , gone] = provider.requests;
        expect(resultsIn(gone)).toHaveLength(1); // The earlier call was not run again.
        provider.assertSpent();
      },
      onDisk,
    );
  });

  test("an idle agent is still idle and takes a message, and one that has ended stays ended", async () => {
    const turns = [
      by("dig", say("gold")),
      main(say("seen")),
      by("bad"),
      main(say("seen")),
      by("dig", say("silver")),
      main(say("seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create, provider } = world;
        const sessionId = await create();
        const id = await startAgent(client, sessionId, "dig");
        await client.received("session.idle");
        const after = client.events.length;
        await startAgent(client, sessionId, "bad");
        await client.received("session.idle", { after });
        const before = await agentsOf(client, sessionId);
        const again = await resumed(world, sessionId);
        for (const agent of before) expect(await agentNamed(again, sessionId, agent.displayName ?? "")).toEqual(agent);
        expect(before.map(({ status }) => status).sort()).toEqual(["failed", "idle"]);
        await again.call("session.tasks.sendMessage", { sessionId, id, message: "more" });
        await again.received("session.idle");
        expect((await agentNamed(again, sessionId, "dig")).latestResponse).toBe("silver");
        const last = provider.requests.findLast((request) => userTexts(request).at(-1)?.endsWith("more"));
        expect(last?.messages).toHaveLength(3);
      },
      onDisk,
    );
  });

  test("a call that waits for an agent goes on waiting when pending work is continued", async () => {
    const cut = never();
    const turns = [
      main(delegate("outer")),
      by("outer", delegate("inner")),
      byHeld("inner", cut),
      by("inner", say("ore")),
      by("outer", say("gold")),
      main(say("done")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create, provider } = world;
        const sessionId = await create();
        await send(world, sessionId);
        await cut.reached;
        const ids = new Set((await agentsOf(client, sessionId)).map(({ id }) => id));
        const again = await resumed(world, sessionId, { continuePendingWork: true });
        await again.received("session.idle");
        expect(new Set((await agentsOf(again, sessionId)).map(({ id }) => id))).toEqual(ids);
        expect((await agentNamed(again, sessionId, "outer")).status).toBe("idle");
        expect((await agentNamed(again, sessionId, "inner")).status).toBe("completed");
        expect(resultsIn(provider.requests.at(-1))).toEqual(["gold"]);
        expect(again.of("system.notification")).toEqual([]);
        provider.assertSpent();
      },
      onDisk,
    );
  });

  test("an agent whose call was given up is lost, with everything below it, and each has one end", async () => {
    const cut = never();
    const turns = [main(delegate("outer")), by("outer", delegate("inner")), byHeld("inner", cut)];
    await inSmallWorld(
      turns,
      async (world) => {
        const { create, provider } = world;
        const sessionId = await create();
        await send(world, sessionId);
        await cut.reached;
        const again = await resumed(world, sessionId);
        const agents = await agentsOf(again, sessionId);
        const error = "The process that ran this agent ended, and the call that waited for it was given up.";
        expect(agents).toMatchObject([
          { status: "failed", error },
          { status: "failed", error },
        ]);
        expect(again.of("subagent.failed")).toMatchObject([{ reason: "lost" }, { reason: "lost" }]);
        const { events } = await again.call("session.getMessages", { sessionId });
        const recorded = (type: string) => events.filter((event) => (event as { type: string }).type === type);
        expect(recorded("tool.execution_complete")).toHaveLength(recorded("tool.execution_start").length);
        await quiet(again, sessionId);
        expect(again.of("system.notification")).toEqual([]);
        expect(provider.requests).toHaveLength(3);
      },
      onDisk,
    );
  });

  test("background agents below a background agent go on with it", async () => {
    const [top, low] = [never(), never()];
    const turns = [
      main(delegate("top", { agent_type: "lead", ...background })),
      by("top", delegate("low", background)),
      byHeld("low", low),
      byHeld("top", top),
      main(say("started")),
      by("top", say("waiting for it")),
      by("low", say("ore")),
      by("top", say("gold")),
      main(say("seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create } = world;
        const sessionId = await create({ customAgents: [LEAD] });
        await send(world, sessionId);
        await client.received("assistant.idle");
        await Promise.all([top.reached, low.reached]);
        const again = await resumed(world, sessionId, { customAgents: [LEAD] });
        await again.received("session.idle");
        expect((await agentNamed(again, sessionId, "top")).status).toBe("idle");
        expect((await agentNamed(again, sessionId, "low")).status).toBe("completed");
      },
      onDisk,
    );
  });

  test("a promoted agent goes on in the background", async () => {
    const cut = never();
    const turns = [
      main(delegate("dig")),
      byHeld("dig", cut),
      main(say("meanwhile")),
      by("dig", say("gold")),
      main(say("seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create } = world;
        const sessionId = await create();
        await send(world, sessionId);
        await cut.reached;
        await client.call("session.tasks.promoteCurrentToBackground", { sessionId });
        await client.received("assistant.idle");
        const again = await resumed(world, sessionId);
        await again.received("session.idle");
        expect(await agentNamed(again, sessionId, "dig")).toMatchObject({
          status: "idle",
          executionMode: "background",
          latestResponse: "gold",
        });
      },
      onDisk,
    );
  });

  test("a notice that was not delivered yet is delivered once", async () => {
    const busy = never();
    const turns = [main(delegate("dig", background)), mainHeld(busy), by("dig", say("gold")), main(say("seen"))];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create, provider } = world;
        const sessionId = await create();
        await send(world, sessionId);
        await busy.reached;
        await client.call("session.tasks.waitForPending", { sessionId });
        const again = await resumed(world, sessionId);
        await again.received("session.idle");
        expect(again.of("system.notification")).toMatchObject([{ kind: { type: "agent_idle", displayName: "dig" } }]);
        provider.assertSpent();
      },
      onDisk,
    );
  });

  test("an agent whose definition is gone is lost and says why", async () => {
    const cut = never();
    const turns = [
      main(delegate("top", { agent_type: "lead", ...background })),
      main(say("started")),
      byHeld("top", cut),
      main(say("seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create } = world;
        const sessionId = await create({ customAgents: [LEAD] });
        await send(world, sessionId);
        await client.received("assistant.idle");
        await cut.reached;
        const again = await resumed(world, sessionId, { customAgents: [] });
        await again.received("session.idle");
        const agent = await agentNamed(again, sessionId, "top");
        expect(agent).toMatchObject({ status: "failed", error: expect.stringContaining("lead") });
        expect(again.of("subagent.failed")).toMatchObject([{ reason: "lost" }]);
      },
      onDisk,
    );
  });
});

test("a session whose last client detaches cancels what runs, and agents that waited for messages have completed", async () => {
  const cut = never();
  const turns = [by("idle", say("gold")), main(say("seen")), byHeld("dig", cut)];
  await inSmallWorld(
    turns,
    async (world) => {
      const { client, create } = world;
      const sessionId = await create();
      await startAgent(client, sessionId, "idle");
      await client.received("session.idle");
      await startAgent(client, sessionId, "dig");
      await cut.reached;
      await client.call("session.detach", { sessionId });
      const again = await resumed(world, sessionId);
      expect((await agentNamed(again, sessionId, "dig")).status).toBe("cancelled");
      expect((await agentNamed(again, sessionId, "idle")).status).toBe("completed");
    },
    onDisk,
  );
});

test("a suspended session keeps its agents parked: one can be cancelled, an idle one takes a message", async () => {
  const cut = never();
  const turns = [
    by("idle", say("gold")),
    main(say("seen")),
    byHeld("dig", cut),
    by("idle", say("silver")),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async ({ client, create }) => {
    const sessionId = await create();
    const idle = await startAgent(client, sessionId, "idle");
    await client.received("session.idle");
    const id = await startAgent(client, sessionId, "dig");
    await cut.reached;
    await client.call("session.suspend", { sessionId });
    expect((await agentNamed(client, sessionId, "dig")).status).toBe("running");
    expect(lifeOf(client, id)).toEqual(["started"]);
    expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
    expect((await agentNamed(client, sessionId, "dig")).status).toBe("cancelled");
    expect(lifeOf(client, id)).toEqual(["started", "completed (cancelled)"]);
    const after = client.events.length;
    await client.call("session.tasks.sendMessage", { sessionId, id: idle, message: "more" });
    await client.received("session.idle", { after });
    expect((await agentNamed(client, sessionId, "idle")).latestResponse).toBe("silver");
  });
});
