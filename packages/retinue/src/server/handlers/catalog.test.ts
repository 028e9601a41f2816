import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("a fork has the folder and the events before the given one, and is independent from then on", async () => {
  await inSmallWorld([[say("one")], [say("two")], [say("three")]], async ({ client, create, send, provider }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await client.call("session.workspaces.createFile", { sessionId, path: "a.txt", content: "alpha" });
    await send(sessionId, "second");
    await client.call("session.name.set", { sessionId, name: "Origin" });
    const { points } = await client.call("session.history.listRewindPoints", { sessionId });
    const forked = await client.call("sessions.fork", { sessionId, toEventId: points[1]?.eventId });
    expect(forked.name).toBe("Origin (fork)");
    const { events } = await client.call("session.getMessages", { sessionId: forked.sessionId });
    expect(events[0]).toMatchObject({ type: "session.start", data: { sessionId: forked.sessionId } });
    expect(JSON.stringify(events)).not.toContain("second");
    await client.call("session.resume", { sessionId: forked.sessionId });
    expect(await client.call("session.workspaces.readFile", { sessionId: forked.sessionId, path: "a.txt" })).toEqual({
      content: "alpha",
    });
    await send(forked.sessionId, "third");
    const said = JSON.stringify(provider.requests.at(-1)?.messages);
    expect(said).toContain("first");
    expect(said).not.toContain("second");
    const original = await client.call("session.getMessages", { sessionId });
    expect(JSON.stringify(original.events)).not.toContain("third");
  });
});

test("a fork of an unknown session, or up to an unknown event, is refused", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await expect(client.call("sessions.fork", { sessionId: "nope" })).rejects.toThrow("Session not found: nope");
    await expect(client.call("sessions.fork", { sessionId, toEventId: "nope" })).rejects.toThrow(
      "Event not found: nope",
    );
  });
});

test("sessions are found by prefix, by task and by place", async () => {
  await inSmallWorld([[say("seen")]], async ({ client, create, folder }) => {
    const first = await create({ sessionId: "aaaa-1" });
    await create({ sessionId: "aaab-2" });
    expect(await client.call("sessions.findByPrefix", { prefix: "aaaa" })).toEqual({ sessionId: first });
    expect(await client.call("sessions.findByPrefix", { prefix: "aaa" })).toEqual({});
    const { agentId } = await client.call("session.tasks.startAgent", {
      sessionId: first,
      agentType: "explore",
      name: "x",
      prompt: "look",
    });
    expect(await client.call("sessions.findByTaskId", { taskId: agentId })).toEqual({ sessionId: first });
    expect(await client.call("sessions.findByTaskId", { taskId: first })).toEqual({});
    await client.call("session.tasks.waitForPending", { sessionId: first });
    await client.received("session.idle"); // The main agent has read the notice of its sub-agent.
    await client.call("session.log", { sessionId: first, message: "used last", level: "warning" });
    expect(await client.call("sessions.getLastForContext", { context: { cwd: folder } })).toEqual({ sessionId: first });
    expect(await client.call("sessions.getLastForContext", { context: { cwd: "/nowhere" } })).toEqual({});
    const { sessions } = await client.call("sessions.list", { filter: { cwd: folder } });
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual([first, "aaab-2"]);
    expect(await client.call("sessions.list", { source: "remote" })).toEqual({ sessions: [] });
    const { session } = await client.call("sessions.getMetadata", { sessionId: first });
    expect(await client.call("sessions.enrichMetadata", { sessions: sessions.slice(0, 1) })).toEqual({
      sessions: [session],
    });
    expect(await client.call("sessions.getMetadata", { sessionId: agentId })).toEqual({});
  });
});

test("a session is in use while it is open, and its events are written to a file on demand", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    expect(await client.call("sessions.checkInUse", { sessionIds: [sessionId, "nope"] })).toEqual({
      inUse: [sessionId],
    });
    await client.call("sessions.save", { sessionId });
    await client.call("sessions.close", { sessionId });
    expect(await client.call("sessions.checkInUse", { sessionIds: [sessionId] })).toEqual({ inUse: [] });
    const { filePath = "" } = await client.call("sessions.getEventFilePath", { sessionId });
    const lines = readFileSync(filePath, "utf8").trim().split("\n");
    const { events } = await client.call("session.getMessages", { sessionId });
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(events.map(({ id }) => id));
    expect(await client.call("sessions.getEventFilePath", { sessionId: "nope" })).toEqual({});
    await expect(client.call("sessions.readPersistedEvents", { sessionId: "nope" })).rejects.toThrow(
      "Session not found: nope",
    );
  });
});

test("old sessions are deleted with all their data, except those that are named, open or excluded", async () => {
  await inSmallWorld([], async ({ client, create, runtime }) => {
    const [plain, named, open, excluded] = [await create(), await create(), await create(), await create()];
    await client.call("session.name.set", { sessionId: named, name: "Keep" });
    for (const id of [plain, named, excluded]) await client.call("sessions.close", { sessionId: id });
    const folder = join(runtime.config.home, "session-state", plain);
    expect(existsSync(folder)).toBe(true);
    const { sizes } = await client.call("sessions.getSizes", {});
    expect(sizes[plain]).toBeGreaterThan(100);
    const params = { olderThanDays: 0, excludeSessionIds: [excluded] };
    const dry = await client.call("sessions.pruneOld", { ...params, dryRun: true });
    expect(dry).toMatchObject({ deleted: [], candidates: [plain], dryRun: true, freedBytes: sizes[plain] });
    expect(dry.skipped.sort()).toEqual([named, open, excluded].sort());
    const done = await client.call("sessions.pruneOld", params);
    expect(done).toMatchObject({ deleted: [plain], candidates: [], dryRun: false });
    expect(existsSync(folder)).toBe(false);
    const { freedBytes } = await client.call("sessions.bulkDelete", { sessionIds: [named, "nope"] });
    expect(Object.keys(freedBytes)).toEqual([named]);
    await client.call("sessions.delete", { sessionId: excluded });
    const { sessions } = await client.call("sessions.list", {});
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual([open]);
  });
});
