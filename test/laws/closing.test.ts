/** A close that the store refuses is tried again: no session that can neither be resumed nor deleted, no lease that outlives it. */
import { describe, expect, test } from "vitest";
import { FaultyStore } from "../support/faulty-store.ts";
import { brokenLaws } from "./checker.ts";
import type { LawClient } from "./law-client.ts";
import type { LawEvent } from "./law-event.ts";
import { promptOf } from "./plan.ts";
import { World } from "./world.ts";

interface Scene {
  world: World;
  store: FaultyStore;
  client: LawClient;
  sessionId: string;
}

/** A session with a background agent at work, and a store that can be broken. */
async function inScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const store = new FaultyStore();
  await using world = new World({ openStore: store.open });
  const client = world.connect({ attached: "sdk" });
  const sessionId = await world.createSession(client);
  const task = { turns: [{ gate: "never", moves: [{ call: "list_agents" }] }], says: "behind" };
  const plan = { turns: [{ moves: [{ task, name: "behind", mode: "background" as const }] }], says: "root" };
  await client.call("session.send", { sessionId, prompt: promptOf(plan) });
  await world.gates.reached("never");
  try {
    await run({ world, store, client, sessionId });
  } finally {
    store.mend();
  }
}

async function eventsOf({ client, sessionId }: Scene): Promise<LawEvent[]> {
  return (await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId })).events;
}

const refusal = /could not be written/;
const resume = ({ client, sessionId }: Scene) =>
  client.call("session.resume", { sessionId, continuePendingWork: true, ...client.abilities });

describe("a session whose close the store refuses", () => {
  test("is closed by itself when the store is back, and its lease is given back", async () => {
    await inScene(async (scene) => {
      const { world, store, client, sessionId } = scene;
      const { leases } = world.runtime.sessions.store;
      store.break();
      await expect(client.call("session.destroy", { sessionId })).rejects.toThrow(refusal);
      store.mend();
      await expect.poll(() => leases.holder(sessionId)).toBeUndefined();
      expect(world.runtime.sessions.open).toEqual([]);
      const events = await eventsOf(scene);
      expect(events.at(-1)?.type).toBe("session.shutdown");
      expect(brokenLaws(events, { clients: [client], maxDepth: 6 })).toEqual([]);
    });
  });

  test("is refused a resume in words while the store is away, and resumed with everything after that", async () => {
    await inScene(async (scene) => {
      const { store, client, sessionId } = scene;
      store.break((name) => name === "commit");
      await expect(client.call("session.destroy", { sessionId })).rejects.toThrow(refusal);
      await expect(resume(scene)).rejects.toThrow(refusal);
      store.mend();
      await resume(scene);
      await client.call("session.send", { sessionId, prompt: promptOf({ says: "again" }) });
      await client.until("assistant.message", ({ data }) => data.content === "again");
      expect((await eventsOf(scene)).filter(({ type }) => type === "session.shutdown")).toHaveLength(1);
    });
  });

  test("can be left again: the second time succeeds when the store is back", async () => {
    await inScene(async ({ store, client, sessionId }) => {
      store.break();
      await expect(client.call("session.destroy", { sessionId })).rejects.toThrow(refusal);
      store.mend();
      expect(await client.call("session.destroy", { sessionId })).toEqual({ success: true });
    });
  });

  test("can be deleted, even when only what it has to write is refused", async () => {
    await inScene(async (scene) => {
      const { world, store, client, sessionId } = scene;
      store.break((name) => name === "commit");
      await expect(client.call("session.destroy", { sessionId })).rejects.toThrow(refusal);
      expect(await client.call("session.delete", { sessionId })).toEqual({ success: true });
      store.mend();
      await expect.poll(() => world.runtime.sessions.open).toEqual([]);
      await expect(eventsOf(scene)).rejects.toThrow("Session not found");
    });
  });

  test("does not keep the process: another one resumes what is stored", async () => {
    await inScene(async (scene) => {
      const { world, store, client, sessionId } = scene;
      store.break();
      await expect(client.call("session.destroy", { sessionId })).rejects.toThrow(refusal);
      await world.restart();
      store.mend();
      const next = world.connect({ attached: "sdk" });
      await world.resumeSession(next, sessionId);
      expect((await next.tasks(sessionId)).map(({ status }) => status)).toEqual(["running"]);
    });
  });
});

test("a lease that the store does not take back at once is given back later", async () => {
  await inScene(async ({ world, store, client, sessionId }) => {
    const { leases } = world.runtime.sessions.store;
    store.break((name) => name === "leases.release");
    expect(await client.call("session.destroy", { sessionId })).toEqual({ success: true });
    expect(await leases.holder(sessionId)).toBeDefined();
    store.mend();
    await expect.poll(() => leases.holder(sessionId)).toBeUndefined();
  });
});

test("a part of a session that cannot be closed keeps neither the others nor the lease", async () => {
  await inScene(async ({ world, client, sessionId }) => {
    const hosted = world.runtime.sessions.get(sessionId);
    hosted.userShells.closeAll = () => Promise.reject(new Error("stuck"));
    expect(await client.call("session.destroy", { sessionId })).toEqual({ success: true });
    expect(await world.runtime.sessions.store.leases.holder(sessionId)).toBeUndefined();
    expect(
      client.events.some(({ type, data }) => type === "session.warning" && JSON.stringify(data).includes("stuck")),
    ).toBe(true);
  });
});

test("a session that could not be created leaves nothing", async () => {
  const store = new FaultyStore();
  await using world = new World({ openStore: store.open });
  const client = world.connect({ attached: "sdk" });
  let failures = 1;
  store.break((name) => name === "commit" && failures-- > 0);
  await expect(world.createSession(client, { sessionId: "wanted" })).rejects.toThrow(refusal);
  store.mend();
  expect(await client.call("session.list", {})).toEqual({ sessions: [] });
  expect(await world.createSession(client, { sessionId: "wanted" })).toBe("wanted");
});
