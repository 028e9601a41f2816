/** The door, with a store that is slow: each commit waits until the test lets it through or refuses it. */
import { AppError } from "@retinue/protocol";
import { expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import type { Store } from "../store/store.ts";
import { inSmallWorld } from "./handlers/small-world.ts";

const tick = () => new Promise((resolve) => setImmediate(resolve));
const ticks = async () => {
  for (let count = 0; count < 10; count++) await tick();
};

function slow(store: Store) {
  const { commit } = store;
  const waiting: ((isRefused: boolean) => void)[] = [];
  store.commit = async (batch) => {
    if (await new Promise<boolean>((resolve) => waiting.push(resolve)))
      throw new AppError("store_unavailable", "no connection");
    await commit(batch);
  };
  return {
    waiting,
    refuse: () => waiting.shift()?.(true),
    letAllThrough() {
      store.commit = commit;
      for (const each of waiting.splice(0)) each(false);
    },
  };
}

test("a request that names a session is answered after its commit, and its events come first", async () => {
  await inSmallWorld([], async ({ client, create, runtime }) => {
    const sessionId = await create();
    const store = slow(runtime.sessions.store);
    const order: string[] = [];
    const answered = client.call("session.mode.set", { sessionId, mode: "plan" }).then(() => order.push("answer"));
    const heard = client.received("session.mode_changed").then(() => order.push("event"));
    await ticks();
    expect([order, store.waiting.length]).toEqual([[], 1]);
    store.letAllThrough();
    await Promise.all([answered, heard]);
    expect(order).toEqual(["event", "answer"]);
  });
});

test("a request whose commit is refused is answered with that", async () => {
  await inSmallWorld([], async ({ client, create, runtime }) => {
    const sessionId = await create();
    const store = slow(runtime.sessions.store);
    const answer = client.call("session.mode.set", { sessionId, mode: "plan" });
    const refused = expect(answer).rejects.toThrow("no connection");
    await ticks();
    store.refuse();
    await refused;
    store.letAllThrough();
  });
});

test("a prompt runs when it is stored and not before, and one that was refused never runs", async () => {
  await inSmallWorld([[say("done")]], async ({ client, create, provider, runtime }) => {
    const sessionId = await create();
    const store = slow(runtime.sessions.store);
    const refused = expect(client.call("session.send", { sessionId, prompt: "never" })).rejects.toThrow(
      "no connection",
    );
    await ticks();
    store.refuse();
    await refused;
    const sent = client.call("session.send", { sessionId, prompt: "at last" });
    await ticks();
    expect([provider.requests.length, runtime.sessions.get(sessionId).runner.isRunning]).toEqual([0, false]);
    store.letAllThrough();
    await sent;
    await client.received("session.idle");
    expect(provider.requests).toHaveLength(1);
    expect(client.of("user.message").map(({ content }) => content)).toEqual(["at last"]);
  });
});

test("a call runs when its start is stored and not before", async () => {
  await inSmallWorld([[call("probe", {})], [say("done")]], async ({ client, create, runtime }) => {
    const probe = { name: "probe", description: "Looks", parameters: { type: "object" }, skipPermission: true };
    const sessionId = await create({ tools: [probe] });
    await client.call("session.send", { sessionId, prompt: "go" });
    const store = slow(runtime.sessions.store);
    await ticks();
    expect(client.of("external_tool.requested")).toEqual([]);
    expect(store.waiting).toHaveLength(1);
    store.letAllThrough();
    const { requestId } = await client.received("external_tool.requested");
    expect(client.of("tool.execution_start")).toHaveLength(1);
    await client.call("session.tools.handlePendingToolCall", { sessionId, requestId, result: "seen" });
    await client.received("session.idle");
  });
});
