import { expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import type { SqliteStore } from "../store/sqlite/store.ts";

const task = { agent_type: "explore", name: "look", description: "d", prompt: "look around" };

test("a turn that is stopped while its agent waits for a slot has an end, and the slot is not lost", async () => {
  await inSmallWorld([[call("task", task)]], async ({ client, create, runtime }) => {
    const sessionId = await create();
    const { limiter } = runtime.sessions.get(sessionId).tree;
    const places = limiter.free;
    for (let place = 0; place < places; place++) await limiter.take();
    await client.call("session.send", { sessionId, prompt: "delegate" });
    const started = await client.received("subagent.started");
    expect(started).toBeDefined();
    while (client.of("assistant.turn_start").length < 2)
      await client.received("assistant.turn_start", { after: client.events.length });
    expect(limiter.waiting).toBe(1);
    await client.call("session.abort", { sessionId });
    await client.received("session.idle");
    expect(client.of("assistant.turn_end")).toHaveLength(2);
    for (let place = 0; place < places; place++) limiter.give();
    expect([limiter.free, limiter.waiting]).toEqual([places, 0]);
  });
});

test("a store that fails when the stop hook is due ends the run with an error, not the process", async () => {
  let reached = () => {};
  const atModel = new Promise<void>((resolve) => {
    reached = resolve;
  });
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const turn = () => {
    reached();
    return [gate, say("done")];
  };
  await inSmallWorld([turn, [say("again")]], async ({ client, create, runtime }) => {
    const sessionId = await create({ hooks: true });
    await client.call("session.send", { sessionId, prompt: "work" });
    await atModel;
    await client.received("assistant.turn_start");
    const { db } = runtime.sessions.store as SqliteStore;
    db.exec("PRAGMA query_only = 1");
    open();
    const error = await client.received("session.error");
    expect(error.message).toMatch(/could not be written/);
    db.exec("PRAGMA query_only = 0");
    await runtime.sessions.get(sessionId).runner.ended();
    await client.call("session.send", { sessionId, prompt: "go on" });
    while (client.of("assistant.message").at(-1)?.content !== "again")
      await client.received("assistant.message", { after: client.events.length });
  });
});
