/** Limits that a client which resumes a session does not name again. */
import { expect, test } from "vitest";
import { call, type Turn } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "../server/handlers/small-world.ts";

const forEver: Turn[] = Array.from({ length: 12 }, () => [call("list_agents", {})]);

/** How many turns a run takes that never ends by itself. */
async function turnsOf(client: TestClient, sessionId: string): Promise<number> {
  const after = client.events.length;
  await client.call("session.send", { sessionId, prompt: "go" });
  await client.received("session.idle", { after });
  return client.events.slice(after).filter(({ type }) => type === "assistant.turn_start").length;
}

const resume = (client: TestClient, sessionId: string, more: object = {}) =>
  client.call("session.resume", { sessionId, requestPermission: true, ...more });

test("a session's budget stays when it is resumed without one, in this process, another one and a fork", async () => {
  await inSmallWorld(
    forEver,
    async (world) => {
      const sessionId = await world.create({ budget: { maxTurns: 2 } });
      expect(await turnsOf(world.client, sessionId)).toBe(2);
      const joined = world.anotherClient();
      await resume(joined, sessionId);
      expect(await turnsOf(joined, sessionId)).toBe(2);
      const { client } = await world.restart();
      await resume(client, sessionId);
      expect(await turnsOf(client, sessionId)).toBe(2);
      const fork = await client.call("sessions.fork", { sessionId });
      await resume(client, fork.sessionId);
      expect(await turnsOf(client, fork.sessionId)).toBe(2);
    },
    { isOnDisk: true },
  );
});

test("a client that names a budget sets it, for those that resume after it too", async () => {
  await inSmallWorld(
    forEver,
    async (world) => {
      const sessionId = await world.create({ budget: { maxTurns: 2 } });
      const second = await world.restart();
      await resume(second.client, sessionId, { budget: { maxTurns: 3 } });
      expect(await turnsOf(second.client, sessionId)).toBe(3);
      const third = await world.restart();
      await resume(third.client, sessionId);
      expect(await turnsOf(third.client, sessionId)).toBe(3);
      await resume(third.client, sessionId, { budget: {} });
      expect(await turnsOf(third.client, sessionId)).toBeGreaterThan(3);
    },
    { isOnDisk: true },
  );
});

test("the agent that the main agent has taken on keeps its budget and its tools when it is not defined again", async () => {
  await inSmallWorld(
    forEver,
    async (world) => {
      const budget = { maxTurns: 2 };
      const bounded = { name: "bounded", description: "d", prompt: "p", tools: ["list_agents"], budget };
      const sessionId = await world.create({ customAgents: [bounded], agent: "bounded" });
      const { client } = await world.restart();
      await resume(client, sessionId);
      expect(await turnsOf(client, sessionId)).toBe(2);
      const offered = world.provider.requests.at(-1)?.tools.map(({ name }) => name);
      expect(offered).toContain("list_agents");
      expect(offered).not.toContain("bash");
    },
    { isOnDisk: true },
  );
});
