import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("events are read in pages, forward and backward, each one once and in order", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await send(sessionId, "second");
    const all = (await client.call("session.getMessages", { sessionId })).events.map(({ id }) => id);
    for (const direction of ["forward", "backward"] as const) {
      const read: string[] = [];
      let page = await client.call("session.eventLog.read", { sessionId, max: 3, direction });
      for (;;) {
        const ids = page.events.map(({ id }) => id);
        if (direction === "forward") read.push(...ids);
        else read.unshift(...ids);
        if (!page.hasMore) break;
        page = await client.call("session.eventLog.read", { sessionId, max: 3, direction, cursor: page.cursor });
      }
      expect(read).toEqual(all);
    }
    const stored = await client.call("sessions.readPersistedEvents", { sessionId, max: 2, direction: "backward" });
    expect(stored.events.map(({ id }) => id)).toEqual(all.slice(-2));
  });
});

test("types and agents filter what is read, and the cursor moves past what they leave out", async () => {
  const turns = [
    [call("task", { name: "look", agent_type: "explore", description: "look", prompt: "look around" })],
    [say("seen")],
    [say("done")],
  ];
  await inSmallWorld(turns, async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "delegate");
    const read = { sessionId, types: ["assistant.message"] };
    const all = await client.call("session.eventLog.read", read);
    const own = await client.call("session.eventLog.read", { ...read, agentScope: "primary" });
    expect(all.events).toHaveLength(3);
    expect(own.events.every(({ agentId }) => agentId === undefined)).toBe(true);
    expect(own.events).toHaveLength(2);
    const { tasks } = await client.call("session.tasks.list", { sessionId });
    const child = await client.call("session.eventLog.read", { ...read, agentIds: [tasks[0]?.id ?? ""] });
    expect(child.events).toHaveLength(1);
    const { cursor } = await client.call("session.eventLog.tail", { sessionId });
    const rest = await client.call("session.eventLog.read", { sessionId, cursor });
    expect(rest).toMatchObject({ events: [], hasMore: false, cursorStatus: "ok" });
  });
});

test("a read at the end waits for new events, ephemeral ones included", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create }) => {
    const sessionId = await create();
    const { cursor } = await client.call("session.eventLog.tail", { sessionId });
    const types = ["session.warning", "session.title_changed"];
    const waiting = client.call("session.eventLog.read", { sessionId, cursor, waitMs: 20_000, types });
    await client.call("session.name.set", { sessionId, name: "New" });
    const page = await waiting;
    expect(page.events.map(({ type, data }) => [type, data])).toEqual([["session.title_changed", { title: "New" }]]);
    const durable = client.call("session.eventLog.read", {
      sessionId,
      cursor: page.cursor,
      waitMs: 20_000,
      types,
      includeEphemeral: false,
    });
    await client.call("session.name.set", { sessionId, name: "Newer" });
    await client.call("session.log", { sessionId, message: "careful", level: "warning" });
    expect((await durable).events.map(({ type }) => type)).toEqual(["session.warning"]);
  });
});

test("a read without new events ends at its time limit, and a client can cancel it", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    const { cursor } = await client.call("session.eventLog.tail", { sessionId });
    const page = await client.call("session.eventLog.read", { sessionId, cursor, waitMs: 10 });
    expect(page).toEqual({ events: [], cursor, hasMore: false, cursorStatus: "ok" });
    const controller = new AbortController();
    const waiting = client.call("session.eventLog.read", { sessionId, cursor, waitMs: 20_000 }, controller);
    controller.abort();
    await expect(waiting).rejects.toThrow("cancelled");
  });
});

test("a cursor whose event was cut from the log has expired and reads from the beginning", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    const { cursor } = await client.call("session.eventLog.tail", { sessionId });
    const { points } = await client.call("session.history.listRewindPoints", { sessionId });
    await client.call("session.history.truncate", { sessionId, eventId: points[0]?.eventId ?? "" });
    const page = await client.call("session.eventLog.read", { sessionId, cursor });
    expect(page.cursorStatus).toBe("expired");
    expect(page.events.map(({ type }) => type)[0]).toBe("session.start");
    expect((await client.call("session.eventLog.read", { sessionId, cursor: "nonsense" })).cursorStatus).toBe(
      "expired",
    );
  });
});
