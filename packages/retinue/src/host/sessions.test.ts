import { linkedTransports, Peer } from "@retinue/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { call, say } from "../models/scripted.ts";
import { serveConnection } from "../server/connection.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { thisProcess } from "../store/holder.ts";
import type { SqliteStore } from "../store/sqlite/store.ts";

describe("a session that closes by itself", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  const LIMIT_SECONDS = 60;
  const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);
  function limited({ runtime }: SmallWorld): void {
    runtime.config.idleTimeoutSeconds = LIMIT_SECONDS;
  }

  test("does so when nobody has used it for the limit, and can be resumed with its history", async () => {
    await inSmallWorld([[say("hello")], [say("again")]], async (world) => {
      limited(world);
      const { client, create, send, runtime, provider } = world;
      const sessionId = await create();
      await pass(LIMIT_SECONDS - 1);
      await send(sessionId, "hi");
      await pass(LIMIT_SECONDS - 1);
      expect(runtime.sessions.find(sessionId)).toBeDefined();
      await pass(1);
      await client.received("session.shutdown");
      expect(runtime.sessions.find(sessionId)).toBeUndefined();
      await client.call("session.resume", { sessionId });
      await send(sessionId, "still there?");
      expect(provider.requests.at(-1)?.messages).toHaveLength(3);
    });
  });

  test("stays open while it works, however long that takes", async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    await inSmallWorld([[gate, say("at last")]], async (world) => {
      limited(world);
      const { client, create, runtime } = world;
      const sessionId = await create();
      await client.call("session.send", { sessionId, prompt: "work" });
      await client.received("assistant.turn_start");
      await pass(10 * LIMIT_SECONDS);
      expect(runtime.sessions.find(sessionId)).toBeDefined();
      open();
      await client.received("session.idle");
      await pass(LIMIT_SECONDS);
      await client.received("session.shutdown");
    });
  });

  test("does so only with a limit: without one it stays open", async () => {
    await inSmallWorld([], async ({ create, runtime }) => {
      const sessionId = await create();
      await pass(1_000_000);
      expect(runtime.sessions.find(sessionId)).toBeDefined();
    });
  });
});

/** A client of protocol 2, which takes permissions as requests and leaves them unanswered. */
async function oldClient({ runtime }: SmallWorld) {
  const [near, far] = linkedTransports();
  const ended = serveConnection(far, { version: "", load: async () => runtime });
  let onRequest = () => {};
  const asked = new Promise<void>((resolve) => {
    onRequest = resolve;
  });
  const peer = new Peer(near, {
    request: () => {
      onRequest();
      return new Promise(() => undefined);
    },
  });
  await peer.request("ping", {});
  return { peer, ended, asked };
}

test("an ask stays open when the client that was asked is lost, and the next client answers it", async () => {
  await inSmallWorld([[call("bash", { command: "echo hi > out", description: "d" })], [say("done")]], async (world) => {
    const { peer, ended, asked } = await oldClient(world);
    const workingDirectory = world.folder;
    const { sessionId } = (await peer.request("session.create", { requestPermission: true, workingDirectory })) as {
      sessionId: string;
    };
    await peer.request("session.send", { sessionId, prompt: "work" });
    await asked;
    peer.close();
    await ended;
    const { client, runtime } = world;
    await client.call("session.resume", { sessionId, requestPermission: true, continuePendingWork: true });
    const [ask] = runtime.sessions.get(sessionId).tree.asks.list("permission");
    expect(ask).toBeDefined();
    const requestId = ask?.requestId ?? "";
    const params = { sessionId, requestId, result: { kind: "approve-once" as const } };
    await client.call("session.permissions.handlePendingPermissionRequest", params);
    await client.received("session.idle");
    expect(client.of("permission.completed")).toMatchObject([{ requestId, result: { kind: "approved" } }]);
    expect(client.of("assistant.message").at(-1)?.content).toBe("done");
  });
});

test("a session that lost its lease stops, sends its clients an error, and can be resumed", async () => {
  let reached: () => void = () => undefined;
  const atModel = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const hangs = () => {
    reached();
    return [new Promise<void>(() => undefined)];
  };
  await inSmallWorld([hangs, [say("again")]], async ({ client, create, send, runtime }) => {
    const sessionId = await create();
    await client.call("session.send", { sessionId, prompt: "work" });
    await atModel;
    await client.received("assistant.turn_start");
    const { store } = runtime.sessions;
    const taken = await store.leases.acquire(sessionId, thisProcess());
    const events = await store.events.count(sessionId);
    await expect(client.call("session.log", { sessionId, message: "late" })).rejects.toThrow(
      `Session ${sessionId} is no longer written from here`,
    );
    const error = await client.received("session.error");
    expect(error).toMatchObject({ errorType: "storage", message: expect.stringContaining("Resume it to go on") });
    await expect(client.call("session.send", { sessionId, prompt: "more" })).rejects.toThrow("Session not found");
    expect(await store.events.count(sessionId)).toBe(events);
    if ("lease" in taken) await store.leases.release(taken.lease);
    await client.call("session.resume", { sessionId });
    await send(sessionId, "go on");
    expect(client.of("assistant.message").at(-1)?.content).toBe("again");
  });
});

test("a client that resumes a session is warned of stored data that cannot be read, and the rest is there", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send, runtime }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await client.call("session.queue.setDrainPaused", { sessionId, paused: true });
    await client.call("session.send", { sessionId, prompt: "waits" });
    await client.call("session.detach", { sessionId });
    const { db } = runtime.sessions.store as SqliteStore;
    db.prepare("INSERT INTO inbox (id, session_id, n, json) VALUES ('torn', ?, 9, '{')").run(sessionId);
    db.prepare("INSERT INTO documents (kind, key, json) VALUES ('task', ?, '{}')").run(`${sessionId}/t`);
    db.prepare("UPDATE events SET json = 'null' WHERE root_id = ? AND type = 'assistant.turn_end'").run(sessionId);
    await client.call("session.resume", { sessionId });
    const warnings = client.of("session.warning").map(({ message }) => message);
    expect(warnings).toEqual([
      expect.stringContaining("A stored event (assistant.turn_end) cannot be read"),
      expect.stringContaining("inbox item torn cannot be read"),
      expect.stringContaining(`task ${sessionId}/t cannot be read`),
    ]);
    const { items } = await client.call("session.queue.pendingItems", { sessionId });
    expect(items.map(({ displayText }) => displayText)).toEqual(["waits"]);
  });
});
