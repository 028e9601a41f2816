/** Shells of the main agent and of sub-agents as tasks, as a client sees them. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { by, byHeld, delegate, held, main, quiet, resultsIn, send, shellsOf } from "./test-tasks.ts";

const bash = (command: string, more: object = {}) => call("bash", { command, description: "waits", ...more });

/** A session in which everything is allowed. */
async function allowed({ client, create }: SmallWorld): Promise<string> {
  const sessionId = await create();
  await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
  return sessionId;
}

test("in plan mode a sub-agent of a sub-agent runs no command that is not known to change nothing", async () => {
  const turns = [
    main(delegate("outer")),
    by("outer", delegate("inner")),
    by("inner", bash("touch pwned")),
    by("inner", bash("ls")),
    by("inner", say("tried")),
    by("outer", say("tried")),
    main(say("done")),
  ];
  await inSmallWorld(turns, async (world) => {
    const { client, folder, provider } = world;
    const sessionId = await allowed(world);
    await client.call("session.mode.set", { sessionId, mode: "plan" });
    await world.send(sessionId, "go");
    const results = provider.requests.flatMap(resultsIn);
    expect(results.some((text) => text.includes("Plan mode: only commands that are known to change nothing"))).toBe(
      true,
    );
    expect(existsSync(join(folder, "pwned"))).toBe(false);
    provider.assertSpent();
  });
});

describe("a shell", () => {
  test("that cannot be started is not a task, and the model reads why", async () => {
    const turns = [main(bash("echo a\0b")), main(say("understood"))];
    await inSmallWorld(turns, async (world) => {
      const { client, provider } = world;
      const sessionId = await allowed(world);
      await world.send(sessionId, "go");
      expect(resultsIn(provider.requests.at(-1))[0]).toContain("without null bytes");
      expect(await shellsOf(client, sessionId)).toEqual([]);
    });
  });

  test("is refused to an agent that has closed, since nobody would end it", async () => {
    await inSmallWorld([], async ({ client, create, runtime }) => {
      const sessionId = await create();
      const ofAgent = runtime.sessions.find(sessionId)?.tasks.shells.ofAgent("closed");
      await ofAgent?.closeAll();
      expect(() => ofAgent?.start({ command: "sleep 300", description: "waits", cwd: "/" })).toThrow(
        "The agent has ended, so it cannot start a shell",
      );
      await client.call("session.tasks.waitForPending", { sessionId });
      expect(await shellsOf(client, sessionId)).toEqual([]);
    });
  });

  test("in the background is a task that shows its output, does not delay the idle, and ends with a notice that wakes the session", async () => {
    const turns = [
      main(bash("until [ -e done ]; do sleep 0.02; done; echo got it", { mode: "async", shellId: "sh" })),
      main(say("started")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, folder } = world;
      const sessionId = await allowed(world);
      await send(world, sessionId);
      await client.received("session.idle");
      const after = client.events.length;
      const [shell] = await shellsOf(client, sessionId);
      expect(shell).toMatchObject({
        type: "shell",
        id: "sh",
        status: "running",
        description: "waits",
        attachmentMode: "attached",
        executionMode: "background",
        canPromoteToBackground: false,
      });
      const { progress } = await client.call("session.tasks.getProgress", { sessionId, id: "sh" });
      expect(progress).toMatchObject({ type: "shell", pid: shell?.pid });
      writeFileSync(join(folder, "done"), "");
      await client.call("session.tasks.waitForPending", { sessionId });
      await client.received("session.idle", { after });
      expect(client.of("system.notification")).toMatchObject([{ kind: { type: "shell_completed", shellId: "sh" } }]);
      const ended = await client.call("session.tasks.getProgress", { sessionId, id: "sh" });
      expect(ended.progress).toMatchObject({ type: "shell", recentOutput: expect.stringContaining("got it") });
      expect((await shellsOf(client, sessionId))[0]).toMatchObject({ status: "completed" });
      expect(await client.call("session.tasks.cancel", { sessionId, id: "sh" })).toEqual({ cancelled: false });
      expect(await client.call("session.tasks.remove", { sessionId, id: "sh" })).toEqual({ removed: true });
      expect(await shellsOf(client, sessionId)).toEqual([]);
    });
  });

  test("that runs cannot be removed, and is cancelled without a notice", async () => {
    const turns = [main(bash("sleep 300", { mode: "async", shellId: "sh" })), main(say("started"))];
    await inSmallWorld(turns, async (world) => {
      const { client, provider } = world;
      const sessionId = await allowed(world);
      await send(world, sessionId);
      await client.received("assistant.idle");
      expect(await client.call("session.tasks.remove", { sessionId, id: "sh" })).toEqual({ removed: false });
      expect(await client.call("session.tasks.cancel", { sessionId, id: "sh" })).toEqual({ cancelled: true });
      await client.received("session.idle");
      expect((await shellsOf(client, sessionId))[0]).toMatchObject({ status: "cancelled" });
      expect(client.of("system.notification")).toEqual([]);
      provider.assertSpent();
    });
  });

  test("that a call waits for can be promoted: the call returns and the shell goes on", async () => {
    const turns = [
      main(bash("echo ready; exec sleep 300", { shellId: "sh", initial_wait: 600 })),
      main(say("meanwhile")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, provider } = world;
      const sessionId = await allowed(world);
      await send(world, sessionId);
      await client.received("tool.execution_partial_result");
      const { task } = await client.call("session.tasks.getCurrentPromotable", { sessionId });
      expect(task).toMatchObject({ type: "shell", id: "sh", executionMode: "sync", canPromoteToBackground: true });
      expect(await client.call("session.tasks.promoteToBackground", { sessionId, id: "sh" })).toEqual({
        promoted: true,
      });
      expect(await client.call("session.tasks.promoteToBackground", { sessionId, id: "sh" })).toEqual({
        promoted: false,
      });
      await client.received("assistant.idle");
      expect(resultsIn(provider.requests.at(-1))[0]).toContain("sh");
      expect((await shellsOf(client, sessionId))[0]).toMatchObject({ status: "running", executionMode: "background" });
      await client.received("session.idle");
      await client.call("session.tasks.cancel", { sessionId, id: "sh" });
      await quiet(client, sessionId);
      expect(client.of("session.idle")).toHaveLength(1);
    });
  });

  test("that is detached does not delay the idle and is not waited for", async () => {
    const turns = [main(bash("sleep 300", { detach: true, shellId: "sh" })), main(say("started"))];
    await inSmallWorld(turns, async (world) => {
      const { client } = world;
      const sessionId = await allowed(world);
      await world.send(sessionId, "go");
      await client.call("session.tasks.waitForPending", { sessionId });
      expect((await shellsOf(client, sessionId))[0]).toMatchObject({ attachmentMode: "detached" });
      expect(await client.call("session.tasks.cancel", { sessionId, id: "sh" })).toEqual({ cancelled: true });
    });
  });

  test("of a sub-agent is listed and can be cancelled, and ends with the sub-agent", async () => {
    const hold = held(say("gold"));
    const turns = [
      main(delegate("dig")),
      by(
        "dig",
        bash("sleep 300", { mode: "async", shellId: "one" }),
        bash("sleep 300", { mode: "async", shellId: "two" }),
      ),
      byHeld("dig", hold),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client } = world;
      const sessionId = await allowed(world);
      await send(world, sessionId);
      await hold.reached;
      expect((await shellsOf(client, sessionId)).map(({ id }) => id).sort()).toEqual(["one", "two"]);
      expect(await client.call("session.tasks.cancel", { sessionId, id: "one" })).toEqual({ cancelled: true });
      const [agent] = (await client.call("session.tasks.list", { sessionId })).tasks;
      await client.call("session.tasks.cancel", { sessionId, id: agent?.id ?? "" });
      await client.received("session.idle");
      expect(await shellsOf(client, sessionId)).toEqual([]);
    });
  });
});
