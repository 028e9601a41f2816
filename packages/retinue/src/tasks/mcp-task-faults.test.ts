/** MCP tasks that do not go as they should: servers that forget, lie, stay silent or go away, and calls that must not become tasks. */
import { describe, expect, test } from "vitest";
import { TaskServer } from "../mcp/fixtures/task-server.ts";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { allowAll, DIALECTS, mcpProgress, startedId, theTask, withTask } from "./test-mcp-tasks.ts";
import { agentsOf, held, lifeOf, main, mainHeld, resultsIn, send, userTexts } from "./test-tasks.ts";

describe.each(DIALECTS)("a task of %s", (dialect) => {
  test("that never ends is given up and cancelled when the server's time for it is over", async () => {
    await withTask({ dialect, ttl: 300 }, [main(say("seen"))], async (world) => {
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({
        status: "failed",
        reason: "timed_out",
        error: "The task had not ended when its time was up.",
      });
      expect(world.task.isCancelled).toBe(true);
    });
  });

  test("is one of fifty at once: each has its own answer and its own end, and is told once", async () => {
    await using server = await TaskServer.start({ dialect });
    const jobs = Array.from({ length: 50 }, (_, index) => `job-${index}`);
    const waiting = held(say("waiting"));
    const turns = [main(...jobs.map((job) => call("jobs-worker", { job }))), mainHeld(waiting), main(say("seen"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create({ mcpServers: { jobs: server.config } });
      await allowAll(client, sessionId);
      await send({ client }, sessionId);
      await waiting.reached;
      for (const task of server.tasks.values()) server.complete(task, `did ${task.args.job}`);
      const running = async () => (await agentsOf(client, sessionId)).filter(({ status }) => status === "running");
      await expect.poll(running).toEqual([]);
      waiting.go();
      await client.received("session.idle");
      const tasks = await agentsOf(client, sessionId);
      expect(tasks.map(({ result }) => result).sort()).toEqual(jobs.map((job) => `did ${job}`).sort());
      const told = provider.requests.slice(-1).flatMap(userTexts).join("\n");
      for (const { id } of tasks) {
        expect(lifeOf(client, id)).toEqual(["started", "completed"]);
        expect(told.split(id).length - 1).toBeGreaterThan(0);
      }
      expect(client.of("system.notification")).toHaveLength(50);
      expect(server.problems).toEqual([]);
      provider.assertSpent();
    });
  });

  test("that ends twice has the first end only", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { server, task, client, id } = world;
      server.complete(task, "gold");
      await client.received("session.idle");
      server.complete(task, "silver");
      server.fail(task, "clay");
      expect(await theTask(world)).toMatchObject({ status: "completed", result: "gold" });
      expect(lifeOf(client, id)).toEqual(["started", "completed"]);
    });
  });

  test("that its server forgets is lost, in words", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      world.server.tasks.clear();
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({
        status: "failed",
        reason: "lost",
        error: expect.stringContaining("The server no longer knows the task"),
      });
    });
  });

  test("is not taken for another one that its server answers for", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { server, task } = world;
      server.options.instead = ({ method }) =>
        method === "tasks/get"
          ? { result: { resultType: "complete", ...task, taskId: "another", status: "completed", ttl: null } }
          : undefined;
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({
        status: "failed",
        error: "The server cannot say how the task stands: the server answered for another task, another",
      });
      expect((await mcpProgress(world))?.eventStreamWarnings.map(({ message }) => message)).toContain(
        "the server answered for another task, another",
      );
    });
  });

  test("goes on when its server answers a message with a task, as if that were a call", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { server, task, client, sessionId, id } = world;
      server.options.instead = ({ method }) =>
        method === "tasks/steer"
          ? { result: { resultType: "complete", task: { taskId: task.taskId, status: "working" } } }
          : undefined;
      expect(await client.call("session.tasks.sendMessage", { sessionId, id, message: "deeper" })).toEqual({
        sent: true,
      });
      const looks = server.of("tasks/get").length;
      await server.asked("tasks/get", looks + 12); // Longer than a call has to take its task.
      expect(server.of("tasks/cancel")).toEqual([]);
      server.complete(task, "gold");
      await client.received("session.idle");
    });
  });

  test("goes on when its server was away for a while, and the warning is kept", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { server, task } = world;
      const port = await server.stop();
      await expect.poll(async () => (await mcpProgress(world))?.eventStreamWarnings.length).toBeGreaterThan(0);
      server.complete(task, "gold", { tells: false });
      await server.listen(port);
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({ status: "completed", result: "gold" });
      expect(server.of("tools/call")).toHaveLength(1);
    });
  });

  test("is found by polling alone when nothing is sent about it", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      world.server.breakStreams();
      world.server.complete(world.task, "gold", { tells: false });
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({ status: "completed", result: "gold" });
    });
  });

  test("is cancelled here also when its server does not react to that", async () => {
    await withTask({ dialect }, [], async (world) => {
      const { server, client, sessionId, id } = world;
      server.options.instead = ({ method }) =>
        method === "tasks/cancel" ? { error: { code: -32603, message: "never" } } : undefined;
      expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
      expect(await theTask(world)).toMatchObject({ status: "cancelled" });
    });
  });

  test("without an id, or with the id of another one, fails the call in words", async () => {
    await using server = await TaskServer.start({ dialect });
    const broken = dialect === "2025" ? { task: { status: "working" } } : { resultType: "task", status: "working" };
    const turns = [
      main(call("jobs-worker", { job: "a" })),
      main(call("jobs-worker", { job: "b" })),
      main(call("jobs-worker", { job: "c" })),
      main(say("done")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      server.options.instead = ({ method, params }) => {
        if (method !== "tools/call" || !server.tasks.size) return undefined;
        const [first] = server.tasks.values();
        const same = { taskId: first?.taskId, status: "working", ttl: null, ttlMs: null };
        if (JSON.stringify(params?.arguments) === '{"job":"b"}') return { result: broken };
        return { result: dialect === "2025" ? { task: same } : { resultType: "task", ...same } };
      };
      const sessionId = await create({ mcpServers: { jobs: server.config } });
      await allowAll(client, sessionId);
      await send(world, sessionId);
      await client.until(({ type, data }) => type === "assistant.message" && data.content === "done");
      const results = resultsIn(provider.requests.at(-1));
      expect(results[1]).toContain("the server answered with a task that cannot be followed");
      expect(results[2]).toContain("answered with the task of another call");
      expect(await agentsOf(client, sessionId)).toHaveLength(1);
      server.complete(await server.task(), "gold");
      await client.received("session.idle");
    });
  });

  test("whose call had not ended when the process did is found by it, and not started again", async () => {
    await using server = await TaskServer.start({ dialect });
    await inSmallWorld(
      [main(call("jobs-worker", { job: "dig" })), main(say("waiting")), main(say("seen"))],
      async (world) => {
        const { client: before, create, provider } = world;
        before.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) =>
          hookType === "postToolUse" ? new Promise(() => undefined) : {},
        );
        const sessionId = await create({ mcpServers: { jobs: server.config }, hooks: true });
        await allowAll(before, sessionId);
        await send(world, sessionId);
        const id = await startedId(before);
        await before.until(({ type, data }) => type === "hook.start" && data.hookType === "postToolUse");
        const { client } = await world.restart();
        const mcpServers = { jobs: server.config };
        await client.call("session.resume", { sessionId, mcpServers, continuePendingWork: true });
        await client.until(({ type, data }) => type === "assistant.message" && data.content === "waiting");
        expect(resultsIn(provider.requests.at(-1))).toEqual([
          expect.stringContaining(`MCP task started in background with agent_id: ${id}`),
        ]);
        server.complete(await server.task(), "gold");
        await client.received("session.idle");
        expect(server.of("tools/call")).toHaveLength(1);
        expect([...lifeOf(before, id), ...lifeOf(client, id)]).toEqual(["started", "completed"]);
      },
      { isOnDisk: true },
    );
  });

  test("that the session has no server for any more after a restart is lost, in words", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { client } = await world.restart();
      await client.call("session.resume", { sessionId: world.sessionId });
      await client.received("session.idle");
      expect(await theTask({ ...world, client })).toMatchObject({
        status: "failed",
        reason: "lost",
        error: "The session has no such MCP server any more.",
      });
    });
  });

  test("ends with its server when that is taken out of the session", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { client, sessionId } = world;
      await client.call("session.resume", { sessionId, mcpServers: {} });
      await client.received("session.idle");
      expect(await theTask(world)).toMatchObject({ status: "failed", reason: "lost" });
    });
  });

  test("at a server of the selected agent goes on when that agent is deselected, and after a restart", async () => {
    await using server = await TaskServer.start({ dialect });
    const digger = { name: "digger", description: "Digs.", prompt: "Dig.", mcpServers: { jobs: server.stdio } };
    const config = { customAgents: [digger], agent: "digger" };
    const turns = [
      main(call("jobs-worker", { job: "a" })),
      main(say("one")),
      main(say("one seen")),
      main(call("jobs-worker", { job: "b" })),
      main(say("two")),
      main(say("two seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const { client, create } = world;
        const sessionId = await create(config);
        await allowAll(client, sessionId);
        await send(world, sessionId);
        await client.until(({ type, data }) => type === "assistant.message" && data.content === "one");
        await client.call("session.agent.deselect", { sessionId });
        server.complete(await server.task(0), "gold");
        await client.received("session.idle");
        await client.call("session.agent.select", { sessionId, name: "digger" });
        await send(world, sessionId);
        await client.until(({ type, data }) => type === "assistant.message" && data.content === "two");
        const { client: again } = await world.restart();
        await again.call("session.resume", { sessionId, ...config });
        server.complete(await server.task(1), "silver");
        await again.received("session.idle");
        expect((await agentsOf(again, sessionId)).map(({ result }) => result)).toEqual(["gold", "silver"]);
        expect(server.of("tools/call")).toHaveLength(2);
      },
      { isOnDisk: true },
    );
  });

  test("asks its question once, also over a restart, and takes the answer", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { server, task, sessionId } = world;
      const mcpServers = { jobs: server.config };
      const answer = server.ask(task, "Which colour?");
      const { requestId } = await world.client.received("elicitation.requested");
      const listened = server.of("tasks/result").length;
      const { client } = await world.restart();
      await client.call("session.resume", {
        sessionId,
        mcpServers,
        requestElicitation: true,
        continuePendingWork: true,
      });
      if (dialect === "2025") {
        await server.asked("tasks/result", listened + 1);
        void server.ask(task, "Which colour?"); // Its request was lost with the connection.
      }
      const again = await client.received("elicitation.requested");
      expect(again).toMatchObject({ requestId, isRepeat: true });
      const result = { action: "accept" as const, content: { colour: "red" } };
      await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      if (dialect === "2026") expect(await answer).toEqual(result);
      server.complete(task, "painted");
      await client.received("session.idle");
      expect(client.of("elicitation.requested")).toHaveLength(1);
    });
  });

  test("is one of a hundred that run at once, and each is delivered to its call", async () => {
    await using server = await TaskServer.start({ dialect, pollMs: 1_000 });
    const all = Array.from({ length: 100 }, (_, job) => String(job));
    const turns = [main(...all.map((job) => call("jobs-worker", { job }))), main(say("waiting")), main(say("seen"))];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create({ mcpServers: { jobs: server.config } });
      await allowAll(client, sessionId);
      await send(world, sessionId);
      await client.until(({ type, data }) => type === "assistant.message" && data.content === "waiting");
      for (const task of server.tasks.values()) server.complete(task, `answer ${task.args.job}`);
      await client.received("session.idle");
      const tasks = await agentsOf(client, sessionId);
      expect(tasks.map(({ prompt, result }) => [prompt, result])).toEqual(
        all.map((job) => [JSON.stringify({ job }), `answer ${job}`]),
      );
    });
  });

  test("whose call was aborted before it could take it is cancelled at the server", async () => {
    await using server = await TaskServer.start({ dialect });
    await inSmallWorld([main(call("jobs-worker", {}))], async (world) => {
      const { client, create } = world;
      const sessionId = await create({ mcpServers: { jobs: server.stdio } });
      await allowAll(client, sessionId);
      let answer = () => {};
      server.options.holds = new Promise<void>((resolve) => {
        answer = resolve;
      });
      await send(world, sessionId);
      await server.task();
      await client.call("session.abort", { sessionId });
      answer();
      await server.asked("tasks/cancel");
      expect(await agentsOf(client, sessionId)).toEqual([]);
    });
  });

  test("has a bounded error and keeps the rest of it as its answer", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      world.server.complete(world.task, "x".repeat(10_000), { isError: true });
      await world.client.received("session.idle");
      const { error = "", result = "" } = (await theTask(world)) ?? {};
      expect(error.length).toBeLessThan(2_100);
      expect(result.length).toBeGreaterThan(10_000);
    });
  });

  test("has bounded words, however much its server says", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { server, task } = world;
      task.statusMessage = "x".repeat(1_000_000);
      server.tell(task);
      await expect.poll(async () => (await mcpProgress(world))?.statusMessage?.length).toBe(2001);
      server.complete(task, "gold");
      await world.client.received("session.idle");
    });
  });

  test("is not started when the permission for its call is refused", async () => {
    await using server = await TaskServer.start({ dialect });
    await inSmallWorld([main(call("jobs-worker", {})), main(say("done"))], async (world) => {
      const { client, create, send: run } = world;
      const sessionId = await create({ mcpServers: { jobs: server.config }, hooks: true });
      client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) =>
        hookType === "preToolUse" ? { output: { permissionDecision: "deny" } } : {},
      );
      await run(sessionId, "go");
      expect(server.of("tools/call")).toHaveLength(0);
      expect(await agentsOf(client, sessionId)).toEqual([]);
    });
  });
});

describe("of the revision of 2025", () => {
  test.each([
    ["required", 1],
    ["optional", 1],
    ["forbidden", 0],
    [undefined, 0],
  ])("a tool whose task support is %s is called as a task %i times", async (support, count) => {
    await using server = await TaskServer.start({ dialect: "2025", support });
    const turns = [main(call("jobs-worker", {})), main(say("waiting")), main(say("seen"))];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ mcpServers: { jobs: server.config } });
      await allowAll(client, sessionId);
      await send(world, sessionId);
      await client.until(({ type, data }) => type === "assistant.message" && data.content === "waiting");
      expect(await agentsOf(client, sessionId)).toHaveLength(count);
      if (count === 0) expect(resultsIn(provider.requests.at(-1))).toEqual(["answered at once"]);
      for (const task of server.tasks.values()) server.complete(task, "gold");
      await client.received("session.idle");
    });
  });
});
