/** Fleets whose process or client goes away: what goes on, what is not begun again, and what is not begun at all. */
import { expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { graph, lead, leadHeld, plan, shortly, statuses, todo, todoHeld } from "./test-fleets.ts";
import { agentsOf, lifeOf, never, quiet } from "./test-tasks.ts";

const onDisk = { isOnDisk: true };

async function resumed(world: SmallWorld, sessionId: string, config: object = {}) {
  const { client } = await world.restart();
  await client.call("session.resume", { sessionId, requestPermission: true, ...config });
  return client;
}

test("a fleet goes on in the next process with what was not finished, and its owner is told once", async () => {
  const cut = never();
  const turns = [
    todo("a", say("one")),
    todoHeld("b", cut),
    todo("b", say("two")),
    todo("c", say("three")),
    lead(say("seen")),
  ];
  await inSmallWorld(
    turns,
    async (world) => {
      const sessionId = await world.create();
      const { fleetId = "" } = await world.client.call("session.fleet.start", {
        sessionId,
        ...graph("a", "b<a", "c<b"),
      });
      await cut.reached;
      const client = await resumed(world, sessionId);
      await client.received("session.idle");
      const report = await client.call("session.fleet.read", { sessionId, fleetId });
      expect(shortly(report)).toEqual({ a: "done: one", b: "done: two", c: "done: three" });
      expect(report.results.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
      expect([...lifeOf(world.client, fleetId), ...lifeOf(client, fleetId)]).toEqual(["started", "completed"]);
      expect(client.of("system.notification")).toHaveLength(1);
      world.provider.assertSpent();
    },
    onDisk,
  );
});

test("a program that comes back can wait for the fleet that it has left", async () => {
  const cut = never();
  const turns = [todoHeld("a", cut), todo("a", say("one"))];
  await inSmallWorld(
    turns,
    async (world) => {
      const sessionId = await world.create();
      const left = world.client.call("session.fleet.start", { sessionId, ...graph("a"), wait: true });
      left.catch(() => undefined); // Its connection is lost.
      await cut.reached;
      const client = await resumed(world, sessionId);
      expect(await client.call("session.fleet.read", { sessionId, wait: true })).toMatchObject({
        status: "completed",
        results: [{ todoId: "a", status: "done", text: "one" }],
      });
      world.provider.assertSpent();
    },
    onDisk,
  );
});

test("a fleet that has ended does not begin again, whatever the tables say then", async () => {
  await inSmallWorld(
    [todo("a", say("one"))],
    async (world) => {
      const sessionId = await world.create();
      await world.client.call("session.fleet.start", { sessionId, ...graph("a"), wait: true });
      const client = await resumed(world, sessionId);
      await quiet(client, sessionId);
      expect((await agentsOf(client, sessionId)).map(({ status }) => status)).toEqual(["completed", "completed"]);
      world.provider.assertSpent();
    },
    onDisk,
  );
});

test("half a plan is not worked off: a plan that a crash cuts off and nobody goes on with ends the fleet", async () => {
  const cut = never();
  await inSmallWorld(
    [lead(plan("a", "b")), leadHeld(cut)],
    async (world) => {
      const sessionId = await world.create();
      const { fleetId = "" } = await world.client.call("session.fleet.start", { sessionId, prompt: "x" });
      await cut.reached;
      const client = await resumed(world, sessionId, { continuePendingWork: false });
      await client.until(({ type, agentId }) => type === "subagent.failed" && agentId === fleetId);
      expect(await client.call("session.fleet.read", { sessionId })).toMatchObject({
        status: "failed",
        error: "The work on the plan was stopped before it was finished.",
      });
      expect(await statuses(client, sessionId)).toEqual({ a: "pending", b: "pending" });
      expect(await agentsOf(client, sessionId)).toHaveLength(1);
      world.provider.assertSpent();
    },
    onDisk,
  );
});

test("a plan that is gone on with after a crash is worked off when it is finished", async () => {
  const cut = never();
  await inSmallWorld(
    [lead(plan("a")), leadHeld(cut), lead(say("planned")), todo("a", say("one")), lead(say("all done"))],
    async (world) => {
      const sessionId = await world.create();
      await world.client.call("session.fleet.start", { sessionId, prompt: "x" });
      await cut.reached;
      const client = await resumed(world, sessionId, { continuePendingWork: true });
      await client.received("session.idle");
      expect(await statuses(client, sessionId)).toEqual({ a: "done" });
      world.provider.assertSpent();
    },
    onDisk,
  );
});

test("an abort while the prompt for the plan still waits ends the fleet, and nothing is planned", async () => {
  const busy = never();
  await inSmallWorld([leadHeld(busy)], async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.send", { sessionId, prompt: "something long" });
    await busy.reached;
    const { fleetId = "" } = await client.call("session.fleet.start", { sessionId, prompt: "x" });
    await client.call("session.abort", { sessionId });
    await client.until(({ type, agentId }) => type === "subagent.completed" && agentId === fleetId);
    await client.received("session.idle");
    expect(lifeOf(client, fleetId)).toEqual(["started", "completed (cancelled)"]);
  });
});
