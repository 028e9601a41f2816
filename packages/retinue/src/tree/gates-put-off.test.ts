/** Gates of an agent that stops because others work for it: waiting is no claim to be done. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, say, type Turn, when } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "../server/handlers/small-world.ts";

type Config = NonNullable<Parameters<SmallWorld["create"]>[0]>;

const gates = [{ file: "out.md" }];
const task = { agent_type: "general-purpose", name: "make", description: "d", prompt: "make it", mode: "background" };
const forever: Turn = when("make it", [new Promise(() => undefined)]);
const checks = (client: TestClient) => client.of("gate.completed").map(({ passed }) => passed);

async function waiting(
  turns: readonly Turn[],
  run: (world: SmallWorld & { sessionId: string }) => Promise<void>,
  config: Config = {},
): Promise<void> {
  await inSmallWorld(turns, async (world) => {
    const sessionId = await world.create({ gates, ...config });
    await world.client.call("session.send", { sessionId, prompt: "go" });
    await run({ ...world, sessionId });
  });
}

test("they are checked when the agent in the background has ended and was heard, and not before", async () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const turns = [[call("task", task)], when("make it", [opened, say("made")]), [say("I wait.")], [say("It is there.")]];
  await waiting(turns, async ({ client, folder, provider }) => {
    await client.received("assistant.idle");
    expect(client.of("gate.started")).toEqual([]);
    writeFileSync(join(folder, "out.md"), "");
    open();
    await client.received("session.idle");
    expect(checks(client)).toEqual([true]);
    expect(client.of("session.error")).toEqual([]);
    provider.assertSpent();
  });
});

test("they are checked before the session is idle when nobody hears how the work ended", async () => {
  const turns = [[call("task", task)], forever, [say("I wait.")], [say("It cannot be done.")]];
  await waiting(
    turns,
    async ({ client, sessionId }) => {
      await client.received("assistant.idle");
      await client.call("session.cancelAllBackgroundAgents", { sessionId });
      await client.received("session.idle");
      expect(checks(client)).toEqual([false, false]);
      expect(client.of("session.error")).toMatchObject([{ errorType: "gate" }]);
      expect(client.of("session.idle")).toHaveLength(1);
    },
    { maxGateFailures: 1 },
  );
});

test("they are not checked after an abort", async () => {
  await waiting([[call("task", task)], forever, [say("I wait.")]], async ({ client, sessionId }) => {
    await client.received("assistant.idle");
    await client.call("session.abort", { sessionId });
    await client.received("session.idle");
    expect(client.of("gate.started")).toEqual([]);
  });
});

test("those of a session are checked when its fleet has ended, not when its plan is made", async () => {
  const query = "INSERT INTO todos (id, title, description) VALUES ('walls', 'walls', 'make it')";
  const touch = call("bash", { command: "touch out.md", description: "d" });
  const turns = [
    [call("sql", { description: "plan", query })],
    [say("It is planned.")],
    when("make it", [touch]),
    when("make it", [say("made")]),
    [say("It is there.")],
  ];
  const permissions = { approveAllToolPermissionRequests: true };
  await inSmallWorld(turns, async ({ create, client, folder, provider }) => {
    const sessionId = await create({ gates, permissions });
    await client.call("session.fleet.start", { sessionId, prompt: "a house" });
    await client.received("session.idle");
    expect(existsSync(join(folder, "out.md"))).toBe(true);
    expect(checks(client)).toEqual([true]);
    provider.assertSpent();
  });
});

test("those of a sub-agent are checked when its own agents in the background have ended", async () => {
  const touch = call("bash", { command: "touch out.md", description: "d" });
  const turns = [
    [call("task", { ...task, agent_type: "lead", name: "lead", prompt: "lead them", mode: "sync" })],
    when("lead them", [call("task", task)]),
    when("make it", [touch]),
    when("lead them", [say("I wait.")]),
    when("make it", [say("made")]),
    when("lead them", [say("It is there.")]),
    [say("done")],
  ];
  const lead = { name: "lead", prompt: "You lead.", gates, nestedBackground: true };
  const config = { gates: [], customAgents: [lead], permissions: { approveAllToolPermissionRequests: true } };
  await waiting(
    turns,
    async ({ client, provider }) => {
      await client.received("session.idle");
      expect(checks(client)).toEqual([true]);
      expect(client.of("subagent.failed")).toEqual([]);
      provider.assertSpent();
    },
    config,
  );
});
