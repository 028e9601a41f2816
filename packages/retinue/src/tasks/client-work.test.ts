/** Work that a client reports as a task, as that client and others see it. */
import type { ClientTaskUpdate } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { clientTasksOf, main, quiet, tasksOf } from "./test-tasks.ts";

const work = { type: "client" as const, clientTaskId: "mine", description: "indexes the code", cancellable: true };

async function register(client: TestClient, sessionId: string, more: object = {}) {
  return await client.call("session.tasks.register", { sessionId, ...work, ...more });
}

function updater(client: TestClient, { sessionId, id }: { sessionId: string; id: string }) {
  return async (sequence: number, update: ClientTaskUpdate) =>
    (await client.call("session.tasks.update", { sessionId, id, sequence, update })).task;
}

/** A session with a client that asked for client tasks in its task lists. */
async function opened({ client, create }: SmallWorld): Promise<string> {
  await client.call("connect", { supportedTaskKinds: ["agent", "shell", "client"] });
  return await create();
}

describe("client work", () => {
  test("is a running task of its client, listed for clients that know the kind", async () => {
    await inSmallWorld([], async (world) => {
      const { client, anotherClient } = world;
      const sessionId = await opened(world);
      const { task, created, reclaimed } = await register(client, sessionId, { displayName: "Index" });
      expect([created, reclaimed]).toEqual([true, false]);
      expect(task).toMatchObject({
        type: "client",
        clientTaskId: "mine",
        displayName: "Index",
        status: "running",
        executionMode: "background",
        canCancel: true,
        sequence: 0,
        activeTimeMs: 0,
        owner: { kind: "sdk", presence: "connected" },
      });
      expect(await clientTasksOf(client, sessionId)).toEqual([task]);
      const other = anotherClient();
      await other.call("session.resume", { sessionId });
      expect(await tasksOf(other, sessionId)).toEqual([]);
    });
  });

  test("that is reported twice is one task", async () => {
    await inSmallWorld([], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const first = await register(client, sessionId);
      expect(await register(client, sessionId)).toEqual({ task: first.task, created: false, reclaimed: false });
      const second = await register(client, sessionId, { clientTaskId: "other" });
      expect(second.created).toBe(true);
      expect(second.task.id).not.toBe(first.task.id);
    });
  });

  test("changes only with the next update in its sequence", async () => {
    await inSmallWorld([], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const { task } = await register(client, sessionId, { expectedSequence: 4 });
      expect(task.sequence).toBe(4);
      const update = updater(client, { sessionId, id: task.id });
      expect(await update(5, { kind: "progress", message: "half", phase: "read", percentage: 50 })).toMatchObject({
        sequence: 5,
        status: "running",
      });
      const conflict = (data: object) => ({ message: "TASK_CONFLICT", data: expect.objectContaining(data) });
      await expect(update(5, { kind: "progress" })).rejects.toMatchObject(
        conflict({ reason: "sequence_mismatch", expected: 6, actual: 5 }),
      );
      await expect(update(7, { kind: "progress" })).rejects.toMatchObject(conflict({ expected: 6, actual: 7 }));
      expect(await client.call("session.tasks.getProgress", { sessionId, id: task.id })).toMatchObject({
        progress: { type: "client", sequence: 5, phase: "read", percentage: 50, lastMessage: "half" },
      });
      await update(6, { kind: "progress", phase: null, percentage: null });
      const { progress } = await client.call("session.tasks.getProgress", { sessionId, id: task.id });
      expect(progress).not.toHaveProperty("phase");
      expect(progress).not.toHaveProperty("percentage");
      expect(progress).toMatchObject({ recentActivity: [{ message: "half" }] });
      await expect(updater(client, { sessionId, id: "nobody" })(1, { kind: "progress" })).rejects.toThrow(
        "Task not found: nobody",
      );
    });
  });

  test.each([
    [{ kind: "completed", result: { files: 3 } } as const, { status: "completed", result: { files: 3 } }],
    [
      { kind: "failed", error: "no disk", code: "E1" } as const,
      { status: "failed", error: "no disk", errorCode: "E1" },
    ],
    [{ kind: "cancelled", reason: "bored" } as const, { status: "cancelled", cancellationReason: "bored" }],
  ])("ends by %j, and then takes no update", async (end, expected) => {
    await inSmallWorld([], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const { task } = await register(client, sessionId);
      const update = updater(client, { sessionId, id: task.id });
      const ended = await update(1, end);
      expect(ended).toMatchObject(expected);
      expect(ended.completedAt).toBeDefined();
      await expect(update(2, { kind: "progress" })).rejects.toMatchObject({
        data: { reason: "terminal", status: expected.status, sequence: 1 },
      });
      expect(await client.call("session.tasks.cancel", { sessionId, id: task.id })).toEqual({ cancelled: false });
    });
  });

  test("can be cancelled only by its client, and says why", async () => {
    await inSmallWorld([], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const { task } = await register(client, sessionId);
      const cancel = async (id = task.id) => (await client.call("session.tasks.cancel", { sessionId, id })).cancelled;
      expect(await cancel()).toBe(false); // The client does not answer cancel requests.
      const asked: object[] = [];
      let isWilling = false;
      client.answers.set("tasks.cancel", (params: object) => {
        asked.push(params);
        return { cancelled: isWilling };
      });
      expect(await cancel()).toBe(false);
      expect((await clientTasksOf(client, sessionId))[0]?.status).toBe("running");
      isWilling = true;
      expect(await cancel()).toBe(true);
      expect(asked).toMatchObject([
        { sessionId, id: task.id, clientTaskId: "mine", reason: "cancel_requested" },
        { sessionId, id: task.id },
      ]);
      expect((await clientTasksOf(client, sessionId))[0]).toMatchObject({
        status: "cancelled",
        cancellationReason: "cancel_requested",
      });
      expect(await cancel()).toBe(false);
      const fixed = await register(client, sessionId, { clientTaskId: "fixed", cancellable: false });
      expect(await cancel(fixed.task.id)).toBe(false);
      expect(asked).toHaveLength(2);
    });
  });

  test("can be removed from the list only after it has ended", async () => {
    await inSmallWorld([], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const { task } = await register(client, sessionId);
      const remove = async () => (await client.call("session.tasks.remove", { sessionId, id: task.id })).removed;
      expect(await remove()).toBe(false);
      await updater(client, { sessionId, id: task.id })(1, { kind: "completed" });
      expect(await remove()).toBe(true);
      expect(await remove()).toBe(false);
      expect(await clientTasksOf(client, sessionId)).toEqual([]);
    });
  });

  test("of a client that has left is orphaned until another client claims it, and does not delay the idle", async () => {
    await inSmallWorld([main(say("one")), main(say("two"))], async (world) => {
      const { client, anotherClient } = world;
      const sessionId = await opened(world);
      const gone = anotherClient();
      await gone.call("session.resume", { sessionId });
      const { task } = await register(gone, sessionId);
      await client.call("session.send", { sessionId, prompt: "hi" });
      await client.received("assistant.idle");
      await quiet(client, sessionId);
      expect(client.of("session.idle")).toEqual([]);
      gone.close();
      await gone.ended;
      await client.received("session.idle");
      const [orphan] = await clientTasksOf(client, sessionId);
      expect(orphan).toMatchObject({ status: "orphaned", owner: { presence: "disconnected" } });
      expect(orphan?.orphanedAt).toBeDefined();
      const taken = await register(client, sessionId);
      expect([taken.created, taken.reclaimed, taken.task.id]).toEqual([false, true, task.id]);
      expect(taken.task).toMatchObject({ status: "running", owner: { presence: "connected" }, sequence: 0 });
      expect(taken.task.reclaimedAt).toBeDefined();
      await updater(client, { sessionId, id: task.id })(1, { kind: "completed" });
    });
  });

  test("delays the session's idle until it has ended or reports that it is idle", async () => {
    await inSmallWorld([main(say("one")), main(say("two"))], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const { task } = await register(client, sessionId);
      const update = updater(client, { sessionId, id: task.id });
      await client.call("session.send", { sessionId, prompt: "hi" });
      await client.received("assistant.idle");
      await quiet(client, sessionId);
      expect(client.of("session.idle")).toEqual([]);
      await update(1, { kind: "progress", status: "idle" });
      await client.received("session.idle");
      await update(2, { kind: "progress", status: "running" });
      const after = client.events.length;
      await client.call("session.send", { sessionId, prompt: "hi again" });
      await client.received("assistant.idle", { after });
      await quiet(client, sessionId);
      expect(client.of("session.idle")).toHaveLength(1);
      await update(3, { kind: "completed" });
      await client.received("session.idle", { after });
    });
  });
});
