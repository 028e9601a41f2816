import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("compacting an empty session is refused with the message that clients expect", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await expect(client.call("session.history.compact", { sessionId })).rejects.toThrow("Nothing to compact.");
  });
});

test("compacting replaces the conversation with the summary and keeps it as a checkpoint", async () => {
  await inSmallWorld(
    [[say("hello")], [say("a summary")], [say("again")]],
    async ({ client, create, send, provider }) => {
      const sessionId = await create();
      await send(sessionId, "say hello");
      const result = await client.call("session.history.compact", { sessionId });
      expect(result).toMatchObject({ success: true, summaryContent: "a summary" });
      expect(result.contextWindow?.messagesLength).toBe(1);
      const { checkpoints } = await client.call("session.workspaces.listCheckpoints", { sessionId });
      expect(checkpoints).toHaveLength(1);
      const { content } = await client.call("session.workspaces.readCheckpoint", { sessionId, number: 1 });
      expect(content).toBe("a summary");
      await send(sessionId, "and now");
      const messages = provider.requests.at(-1)?.messages ?? [];
      expect(messages.map(({ role }) => role)).toEqual(["user", "user"]);
      expect(JSON.stringify(messages[0])).toContain("a summary");
    },
  );
});

test("a compaction that a client asked for can be stopped", async () => {
  const never = new Promise(() => undefined);
  await inSmallWorld([[say("hello")], [never]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "say hello");
    const compacting = client.call("session.history.compact", { sessionId });
    const failed = expect(compacting).rejects.toThrow();
    await client.received("session.compaction_start");
    expect(await client.call("session.history.abortManualCompaction", { sessionId })).toEqual({ aborted: true });
    await failed;
    expect(client.of("session.compaction_complete")).toMatchObject([{ success: false }]);
    expect(await client.call("session.history.abortManualCompaction", { sessionId })).toEqual({ aborted: false });
  });
});

test("a session at work is neither compacted nor cut", async () => {
  const never = new Promise(() => undefined);
  await inSmallWorld([[never]], async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.send", { sessionId, prompt: "work" });
    await client.received("assistant.turn_start");
    await expect(client.call("session.history.compact", { sessionId })).rejects.toThrow("at work");
    const { points, unavailableReason } = await client.call("session.history.listRewindPoints", { sessionId });
    expect(unavailableReason).toBe("session-busy");
    const eventId = points[0]?.eventId ?? "";
    await expect(client.call("session.history.truncate", { sessionId, eventId })).rejects.toThrow("at work");
    const rewound = await client.call("session.history.rewind", { sessionId, eventId, mode: "conversation" });
    expect(rewound.outcome).toBe("session-busy");
  });
});

test("going back to a prompt forgets it and all that followed, in the log and for the model", async () => {
  await inSmallWorld([[say("one")], [say("two")], [say("three")]], async ({ client, create, send, provider }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await send(sessionId, "second");
    const { points } = await client.call("session.history.listRewindPoints", { sessionId });
    expect(points.map(({ userMessage }) => userMessage)).toEqual(["first", "second"]);
    const eventId = points[1]?.eventId ?? "";
    const before = (await client.call("session.getMessages", { sessionId })).events.length;
    const { eventsRemoved } = await client.call("session.history.truncate", { sessionId, eventId });
    const { events } = await client.call("session.getMessages", { sessionId });
    expect(events.length).toBe(before - eventsRemoved);
    expect(client.of("session.snapshot_rewind")).toEqual([{ upToEventId: eventId, eventsRemoved }]);
    await send(sessionId, "third");
    const said = JSON.stringify(provider.requests.at(-1)?.messages);
    expect(said).toContain("first");
    expect(said).not.toContain("second");
    const after = (await client.call("session.getMessages", { sessionId })).events;
    for (const [index, event] of after.entries()) expect(event.parentId).toBe(after[index - 1]?.id ?? null);
  });
});

test("going back before a compaction removes its checkpoint", async () => {
  await inSmallWorld([[say("one")], [say("the summary")]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await client.call("session.history.compact", { sessionId });
    const [{ checkpointPath = "" } = {}] = client.of("session.compaction_complete");
    expect(existsSync(checkpointPath)).toBe(true);
    const { points } = await client.call("session.history.listRewindPoints", { sessionId });
    await client.call("session.history.rewind", { sessionId, eventId: points[0]?.eventId ?? "", mode: "conversation" });
    expect(existsSync(checkpointPath)).toBe(false);
    expect(await client.call("session.workspaces.listCheckpoints", { sessionId })).toEqual({ checkpoints: [] });
  });
});

test("going back before a sub-agent was started forgets its task and its session", async () => {
  const turns = [
    [say("one")],
    [call("task", { name: "look", agent_type: "explore", description: "look", prompt: "look around" })],
    [say("seen")],
    [say("done")],
  ];
  await inSmallWorld(turns, async ({ client, create, send, runtime }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await send(sessionId, "second");
    const { tasks } = await client.call("session.tasks.list", { sessionId });
    expect(tasks).toHaveLength(1);
    const { points } = await client.call("session.history.listRewindPoints", { sessionId });
    await client.call("session.history.truncate", { sessionId, eventId: points[1]?.eventId ?? "" });
    expect(await client.call("session.tasks.list", { sessionId })).toEqual({ tasks: [] });
    expect(await runtime.sessions.store.sessions.get(tasks[0]?.id ?? "")).toBeUndefined();
    expect(await runtime.sessions.store.documents.list("task", `${sessionId}/`)).toEqual([]);
  });
});

test("neither an unknown event nor the first one can be cut", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await expect(client.call("session.history.truncate", { sessionId, eventId: "nope" })).rejects.toThrow(
      "Event not found: nope",
    );
    const [first] = (await client.call("session.getMessages", { sessionId })).events;
    await expect(client.call("session.history.truncate", { sessionId, eventId: first?.id ?? "" })).rejects.toThrow(
      "first event",
    );
  });
});

test("the transcript file is rewritten after the log was cut", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send, runtime }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await send(sessionId, "second");
    const { filePath = "" } = await client.call("sessions.getEventFilePath", { sessionId });
    expect(filePath).toBe(join(runtime.config.home, "session-state", sessionId, "events.jsonl"));
    expect(readFileSync(filePath, "utf8")).toContain("second");
    const { points } = await client.call("session.history.listRewindPoints", { sessionId });
    await client.call("session.history.truncate", { sessionId, eventId: points[1]?.eventId ?? "" });
    await client.call("sessions.getEventFilePath", { sessionId });
    expect(readFileSync(filePath, "utf8")).not.toContain("second");
  });
});

test("clearing the context starts over with the given prompt", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send, provider }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    const after = client.events.length;
    expect(await client.call("session.history.clearContext", { sessionId, prompt: "anew" })).toEqual({
      messagesCleared: 2,
    });
    await client.received("session.idle", { after });
    const said = JSON.stringify(provider.requests.at(-1)?.messages);
    expect(said).toContain("anew");
    expect(said).not.toContain("first");
  });
});

test("a side question is answered from the conversation and leaves no trace in it", async () => {
  await inSmallWorld(
    [[say("one")], [say("you said first")], [say("two")]],
    async ({ client, create, send, provider }) => {
      const sessionId = await create();
      await send(sessionId, "first");
      const before = (await client.call("session.getMessages", { sessionId })).events.length;
      const { answer } = await client.call("session.ui.ephemeralQuery", { sessionId, question: "what did I say?" });
      expect(answer).toBe("you said first");
      expect((await client.call("session.getMessages", { sessionId })).events).toHaveLength(before);
      await send(sessionId, "second");
      expect(JSON.stringify(provider.requests.at(-1)?.messages)).not.toContain("what did I say?");
    },
  );
});
