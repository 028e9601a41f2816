import { expect, test } from "vitest";
import { enqueue } from "../host/enqueue.ts";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "../server/handlers/small-world.ts";

function gate(): { open(): void; opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const idles = (client: TestClient) => client.of("session.idle");

/** Waits until all events sent so far have arrived, since the answer to a call comes after them. */
async function quiet(client: TestClient, sessionId: string): Promise<void> {
  await client.call("session.metadata.isProcessing", { sessionId });
}

test("queued prompts are one busy period and end in one idle", async () => {
  const first = gate();
  await inSmallWorld([[first.opened, say("1")], [say("2")], [say("3")]], async ({ client, create }) => {
    const sessionId = await create();
    for (const prompt of ["a", "b", "c"]) await client.call("session.send", { sessionId, prompt });
    first.open();
    await client.received("session.idle");
    await quiet(client, sessionId);
    expect(client.of("assistant.message").map(({ content }) => content)).toEqual(["1", "2", "3"]);
    expect(idles(client)).toHaveLength(1);
    expect(client.of("assistant.idle")).toHaveLength(1);
  });
});

test("a prompt that comes while a run is ending is answered", async () => {
  const moments = 60;
  const gates = Array.from({ length: moments }, gate);
  const turns = gates.flatMap(({ opened }) => [[say("first"), opened], [say("second")]]);
  await inSmallWorld(turns, async ({ client, create, provider, runtime }) => {
    const sessionId = await create();
    const hosted = runtime.sessions.get(sessionId);
    for (const [moment, { open }] of gates.entries()) {
      const after = client.events.length;
      await client.call("session.send", { sessionId, prompt: "first" });
      await client.received("assistant.turn_start", { after });
      open();
      for (let step = 0; step < moment; step++) await undefined;
      await enqueue(hosted, [{ prompt: "second" }], {});
      while (hosted.runner.owesIdle) await client.received("session.idle", { after: client.events.length });
      expect(provider.requests.length, `after ${moment} steps`).toBe(2 * (moment + 1));
    }
  });
});

test("a stopped run ends in one idle that says so, and queued prompts do not run", async () => {
  await inSmallWorld([[new Promise(() => undefined)], [say("later")]], async ({ client, create, send, provider }) => {
    const sessionId = await create();
    await client.call("session.send", { sessionId, prompt: "work" });
    await client.call("session.send", { sessionId, prompt: "queued" });
    await client.received("assistant.turn_start");
    await Promise.all([client.call("session.abort", { sessionId }), client.call("session.abort", { sessionId })]);
    await client.received("session.idle");
    await quiet(client, sessionId);
    expect(idles(client)).toMatchObject([{ aborted: true }]);
    expect(provider.requests).toHaveLength(1);
    await send(sessionId, "again");
    expect(idles(client)).toHaveLength(2);
    expect(idles(client)[1]).not.toHaveProperty("aborted");
  });
});

test("a run that fails ends in one idle, after its error", async () => {
  await inSmallWorld([new Error("no model"), [say("fine")]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "work");
    expect(client.of("session.error")).toMatchObject([{ message: expect.stringContaining("no model") }]);
    expect(client.events.map(({ type }) => type).filter((type) => /error|idle/.test(type))).toEqual([
      "session.error",
      "assistant.idle",
      "session.idle",
    ]);
    await send(sessionId, "again");
    expect(idles(client)).toHaveLength(2);
  });
});

test("background work keeps the session busy until its notice was answered: there is one idle, and it comes last", async () => {
  const working = gate();
  const args = { agent_type: "explore", name: "look", description: "d", prompt: "look around", mode: "background" };
  const turns = [[call("task", args)], [say("started")], [working.opened, say("found it")], [say("it was found")]];
  await inSmallWorld(turns, async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.send", { sessionId, prompt: "delegate" });
    await client.received("assistant.idle");
    await quiet(client, sessionId);
    expect(idles(client)).toEqual([]);
    working.open();
    await client.received("session.idle");
    await quiet(client, sessionId);
    expect(client.of("assistant.idle")).toHaveLength(2);
    expect(idles(client)).toHaveLength(1);
    expect(client.of("assistant.message").at(-1)?.content).toBe("it was found");
  });
});

test("stopping when nothing runs stops nothing and sends no idle", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.abort", { sessionId });
    await quiet(client, sessionId);
    expect(idles(client)).toEqual([]);
  });
});
