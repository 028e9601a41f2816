import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say } from "../../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "./small-world.ts";

/** A session whose first turn waits until `release`. */
async function whileBusy(
  answers: number,
  test: (world: SmallWorld & { sessionId: string; release(): void }) => Promise<void>,
): Promise<void> {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const turns = [
    [gate, say("first done")],
    ...Array.from({ length: answers }, (_, index) => [say(`answer ${index + 1}`)]),
  ];
  await inSmallWorld(turns, async (world) => {
    const sessionId = await world.create();
    await world.client.call("session.send", { sessionId, prompt: "first" });
    await world.client.received("assistant.turn_start");
    await test({ ...world, sessionId, release });
  });
}

const texts = async ({ client, sessionId }: SmallWorld & { sessionId: string }) =>
  (await client.call("session.queue.pendingItems", { sessionId })).items.map(({ displayText }) => displayText);

test("waiting prompts are listed, moved, changed, copied and removed", async () => {
  await whileBusy(0, async (world) => {
    const { client, sessionId } = world;
    for (const prompt of ["a", "b", "c"]) await client.call("session.send", { sessionId, prompt });
    const { items } = await client.call("session.queue.pendingItems", { sessionId });
    expect(items.map(({ displayText, kind, agentMode }) => [displayText, kind, agentMode])).toEqual([
      ["a", "message", "interactive"],
      ["b", "message", "interactive"],
      ["c", "message", "interactive"],
    ]);
    const [a, b] = items.map(({ id }) => id);
    expect(await client.call("session.queue.moveItem", { sessionId, id: a ?? "", toPosition: 2 })).toEqual({
      changed: true,
    });
    expect(await client.call("session.queue.updateText", { sessionId, id: b ?? "", prompt: "B" })).toEqual({
      updated: true,
    });
    await client.call("session.queue.duplicateAt", { sessionId, id: b ?? "" });
    await client.call("session.queue.insertAt", {
      sessionId,
      position: 0,
      message: { prompt: "z", displayPrompt: "Z" },
    });
    expect(await texts(world)).toEqual(["Z", "B", "B", "c", "a"]);
    expect(await client.call("session.queue.removeMostRecent", { sessionId })).toEqual({ removed: true });
    expect(await client.call("session.queue.removeAt", { sessionId, id: b ?? "" })).toEqual({ removed: true });
    expect(await client.call("session.queue.removeAt", { sessionId, id: b ?? "" })).toEqual({ removed: false });
    expect(await texts(world)).toEqual(["Z", "B", "c"]);
    await client.call("session.queue.clear", { sessionId });
    expect(await texts(world)).toEqual([]);
    await expect(client.call("session.queue.duplicateAt", { sessionId, id: "nope" })).rejects.toThrow(
      "Queue item not found: nope",
    );
  });
});

test("a prompt that is sent now becomes steering for the running turn", async () => {
  await whileBusy(1, async ({ client, sessionId, release }) => {
    await client.call("session.send", { sessionId, prompt: "look here" });
    const { items } = await client.call("session.queue.pendingItems", { sessionId });
    expect(await client.call("session.queue.sendNow", { sessionId, id: items[0]?.id ?? "" })).toEqual({
      steered: true,
    });
    const pending = await client.call("session.queue.pendingItems", { sessionId });
    expect(pending).toMatchObject({ items: [], steeringMessages: ["look here"] });
    release();
    await client.received("session.idle");
    expect(client.of("user.message").map(({ content, delivery }) => [content, delivery])).toEqual([
      ["first", "idle"],
      ["look here", "steering"],
    ]);
  });
});

test("a paused queue holds prompts back until it goes on", async () => {
  await inSmallWorld([[say("done")]], async ({ client, create, provider }) => {
    const sessionId = await create();
    await client.call("session.queue.setDrainPaused", { sessionId, paused: true });
    await client.call("session.send", { sessionId, prompt: "later" });
    expect(await client.call("session.metadata.isProcessing", { sessionId })).toEqual({ processing: false });
    expect(provider.requests).toHaveLength(0);
    await client.call("session.queue.setDrainPaused", { sessionId, paused: false });
    await client.received("session.idle");
    expect(provider.requests).toHaveLength(1);
  });
});

test("a queued command runs when the session is idle, after the prompts", async () => {
  await whileBusy(1, async ({ client, sessionId, release }) => {
    await client.call("session.commands.enqueue", { sessionId, command: "/rename Later" });
    await client.call("session.send", { sessionId, prompt: "second" });
    const { items } = await client.call("session.queue.pendingItems", { sessionId });
    expect(items.map(({ kind, displayText }) => [kind, displayText])).toEqual([
      ["message", "second"],
      ["command", "/rename Later"],
    ]);
    const after = client.events.length;
    release();
    expect(await client.received("session.title_changed", { after })).toEqual({ title: "Later" });
    expect(client.of("assistant.message").map(({ content }) => content)).toEqual(["first done", "answer 1"]);
  });
});

test("a queued command that results in a prompt sends it", async () => {
  await inSmallWorld([[say("reviewed")]], async ({ client, create, provider, folder }) => {
    execFileSync("git", ["init", "--quiet", folder]);
    writeFileSync(join(folder, "lock.ts"), "export const lock = 1;\n");
    const sessionId = await create();
    await client.call("session.commands.enqueue", { sessionId, command: "/review the lock" });
    await client.received("session.idle");
    expect(client.of("user.message").map(({ content }) => content)).toEqual(["/review the lock"]);
    expect(JSON.stringify(provider.requests[0]?.messages)).toContain("Look especially at: the lock");
  });
});

test("an unknown queued command is offered to a client that registered for such commands", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.commands.enqueue", { sessionId, command: "/wave" });
    expect(await client.received("session.warning")).toMatchObject({
      warningType: "command",
      message: "/wave: no such command",
    });
    await client.call("session.eventLog.registerInterest", { sessionId, eventType: "command.queued" });
    await client.call("session.commands.enqueue", { sessionId, command: "/wave" });
    const { requestId, command } = await client.received("command.queued");
    expect(command).toBe("/wave");
    const answered = await client.call("session.commands.respondToQueuedCommand", {
      sessionId,
      requestId,
      result: { handled: true },
    });
    expect(answered).toEqual({ success: true });
    await client.received("command.completed");
    const again = await client.call("session.commands.respondToQueuedCommand", {
      sessionId,
      requestId,
      result: { handled: true },
    });
    expect(again).toEqual({ success: false });
  });
});

test("a queued command that a client answers as its own command is handled", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.eventLog.registerInterest", { sessionId, eventType: "command.queued" });
    await client.call("session.commands.enqueue", { sessionId, command: "/wave" });
    const { requestId } = await client.received("command.queued");
    const handled = { sessionId, requestId };
    expect(await client.call("session.commands.handlePendingCommand", handled)).toEqual({ success: true });
    await client.received("command.completed");
    await client.call("session.commands.enqueue", { sessionId, command: "/rename Later" });
    await client.received("session.title_changed"); // The second command runs after the first, whose outcome has been announced by then.
    expect(client.of("session.warning")).toEqual([]);
    expect(await client.call("session.commands.handlePendingCommand", handled)).toEqual({ success: false });
  });
});

test("the error of a client that ran a queued command becomes a warning, and the queue goes on", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.eventLog.registerInterest", { sessionId, eventType: "command.queued" });
    await client.call("session.commands.enqueue", { sessionId, command: "/wave" });
    await client.call("session.commands.enqueue", { sessionId, command: "/rename Later" });
    const { requestId } = await client.received("command.queued");
    await client.call("session.commands.handlePendingCommand", { sessionId, requestId, error: "no arms" });
    await client.received("session.title_changed");
    expect(client.of("session.warning")).toMatchObject([{ warningType: "command", message: "/wave: no arms" }]);
  });
});

test("a queued command that no client handles becomes a warning, and a client's command takes no answer for the queue", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ commands: [{ name: "deploy", description: "Deploy it" }] });
    await client.call("session.eventLog.registerInterest", { sessionId, eventType: "command.queued" });
    await client.call("session.commands.enqueue", { sessionId, command: "/wave" });
    const { requestId } = await client.received("command.queued");
    const result = { handled: false };
    await client.call("session.commands.respondToQueuedCommand", { sessionId, requestId, result });
    expect(await client.received("session.warning")).toMatchObject({ message: "/wave: nobody handled it" });
    const executed = client.call("session.commands.execute", { sessionId, commandName: "deploy" });
    const own = { sessionId, requestId: (await client.received("command.execute")).requestId };
    expect(await client.call("session.commands.respondToQueuedCommand", { ...own, result })).toEqual({
      success: false,
    });
    expect(await client.call("session.commands.handlePendingCommand", own)).toEqual({ success: true });
    expect(await executed).toEqual({});
  });
});
