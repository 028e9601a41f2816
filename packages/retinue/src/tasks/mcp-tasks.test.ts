/** Calls that an MCP server goes on with as tasks, with a server of each dialect. */
import { describe, expect, test } from "vitest";
import { TaskServer } from "../mcp/fixtures/task-server.ts";
import { call, say, when } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { allowAll, DIALECTS, mcpProgress, startedId, theTask, withTask } from "./test-mcp-tasks.ts";
import { agentsOf, by, delegate, LEAD, lifeOf, main, mainOn, resultsIn, send, userTexts } from "./test-tasks.ts";

describe.each(DIALECTS)("a task of %s", (dialect) => {
  test.each(["http", "stdio"] as const)(
    "goes on in the background, and its result is delivered once, over %s",
    async (transport) => {
      await using server = await TaskServer.start({ dialect });
      const turns = [
        main(call("jobs-worker", { job: "dig" })),
        main(say("waiting")),
        mainOn("read_agent"),
        main(say("done")),
      ];
      await inSmallWorld(turns, async (world) => {
        const { client, create, provider } = world;
        const sessionId = await create({
          mcpServers: { jobs: transport === "http" ? server.config : server.stdio },
        });
        await allowAll(client, sessionId);
        await send(world, sessionId);
        const task = await server.task();
        const id = await startedId(client);
        expect(await theTask({ client, sessionId, id })).toMatchObject({
          type: "agent",
          agentType: "mcp-task",
          status: "running",
          prompt: '{"job":"dig"}',
          executionMode: "background",
        });
        await client.until(({ type, data }) => type === "assistant.message" && data.content === "waiting");
        server.complete(task, "gold");
        await client.received("session.idle");
        const [, started, notified, last] = provider.requests;
        expect(resultsIn(started)[0]).toContain(`MCP task started in background with agent_id: ${id}`);
        expect(notified && userTexts(notified).at(-1)).toContain('The MCP task "worker" has completed.');
        expect(resultsIn(last)[1]).toContain("[Turn 0]\ngold");
        expect(lifeOf(client, id)).toEqual(["started", "completed"]);
        expect(await theTask({ client, sessionId, id })).toMatchObject({ status: "completed", result: "gold" });
        expect(server.of("tools/call")).toHaveLength(1);
        provider.assertSpent();
      });
    },
  );

  test("that fails is reported with the server's words", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      world.server.fail(world.task, "no shovel");
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({ status: "failed", error: expect.stringContaining("no shovel") });
      expect(lifeOf(world.client, world.id)).toEqual(["started", "failed"]);
    });
  });

  test("whose tool reports an error has failed", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      world.server.complete(world.task, "only clay", { isError: true });
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({
        status: "failed",
        error: "MCP server 'jobs': only clay",
      });
    });
  });

  test("that the server cancels has failed, and its owner is told", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      Object.assign(world.task, { status: "cancelled", statusMessage: "too late" });
      await world.client.received("session.idle");
      expect(await theTask(world)).toMatchObject({
        status: "failed",
        error: "The server cancelled the task: too late",
      });
      expect(world.client.of("system.notification")).toHaveLength(1);
    });
  });

  test("is cancelled at the server when it is cancelled here", async () => {
    await withTask({ dialect }, [], async (world) => {
      const { client, sessionId, id, server } = world;
      expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
      await client.received("session.idle");
      expect(server.of("tasks/cancel")).toHaveLength(1);
      expect(world.task.isCancelled).toBe(true);
      expect(await theTask(world)).toMatchObject({ status: "cancelled" });
      expect(lifeOf(client, id)).toEqual(["started", "completed (cancelled)"]);
    });
  });

  test("is cancelled at the server when the session is aborted", async () => {
    await withTask({ dialect }, [], async ({ client, sessionId, task }) => {
      await client.call("session.abort", { sessionId });
      expect(task.isCancelled).toBe(true);
    });
  });

  test("shows its state, its progress and its times", async () => {
    await withTask({ dialect, ttl: 60_000 }, [main(say("seen"))], async (world) => {
      const { server, task, client } = world;
      task.statusMessage = "digging";
      server.tell(task);
      await expect.poll(async () => (await mcpProgress(world))?.statusMessage).toBe("digging");
      if (dialect === "2025") {
        const params = { progressToken: task.token, progress: 3, total: 10, message: "three metres" };
        server.push({ method: "notifications/progress", params });
        await expect.poll(async () => (await mcpProgress(world))?.progress).toBe(3);
        expect(await mcpProgress(world)).toMatchObject({ total: 10, progressMessage: "three metres" });
      }
      expect(await mcpProgress(world)).toMatchObject({
        serverName: "jobs",
        toolName: "worker",
        taskId: task.taskId,
        status: "working",
        eventStreamWarnings: [],
        createdAt: "2026-11-18T00:00:00Z",
        lastUpdatedAt: "2026-11-18T00:00:00Z",
        ttlMs: 60_000,
      });
      server.complete(task, "gold");
      await client.received("session.idle");
    });
  });

  test("asks a person through the session, and goes on with the answer", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { client, server, task, sessionId, id } = world;
      const answer = server.ask(task, "Which colour?");
      const asked = await client.received("elicitation.requested");
      expect(asked).toMatchObject({ message: "Which colour?", elicitationSource: "jobs" });
      expect(asked).toMatchObject({ agentId: id, agentPathNames: ["worker"] });
      await client.call("session.ui.handlePendingElicitation", {
        sessionId,
        requestId: asked.requestId,
        result: { action: "accept", content: { colour: "red" } },
      });
      expect(await answer).toMatchObject({ action: "accept", content: { colour: "red" } });
      server.complete(task, "painted");
      await client.received("session.idle");
      expect(client.of("elicitation.requested")).toHaveLength(1);
      expect(client.of("elicitation.completed")).toHaveLength(1);
    });
  });

  test("goes on after a restart under its id, with no second call and one end", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { server, task, sessionId, id, client: before } = world;
      const { client } = await world.restart();
      await client.call("session.resume", { sessionId, mcpServers: { jobs: server.config } });
      expect(await theTask({ ...world, client })).toMatchObject({ status: "running" });
      const looks = server.of("tasks/get").length;
      await server.asked("tasks/get", looks + 1);
      server.complete(task, "gold");
      await client.received("session.idle");
      expect(await theTask({ ...world, client })).toMatchObject({ status: "completed", result: "gold" });
      expect(server.of("tools/call")).toHaveLength(1);
      expect(server.of("tasks/cancel")).toHaveLength(0);
      expect([...lifeOf(before, id), ...lifeOf(client, id)]).toEqual(["started", "completed"]);
      expect(client.of("system.notification")).toHaveLength(1);
    });
  });

  test("is told that nobody answers when nobody can be asked", async () => {
    await using server = await TaskServer.start({ dialect });
    const turns = [main(call("jobs-worker", {})), main(say("waiting")), main(say("seen"))];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create({ mcpServers: { jobs: server.config } }); // A client that shows no forms.
      await allowAll(client, sessionId);
      await send(world, sessionId);
      const task = await server.task();
      expect(await server.ask(task, "Which colour?")).toMatchObject({ action: "cancel" });
      server.complete(task, "any colour");
      await client.received("session.idle");
      expect(client.of("elicitation.requested")).toEqual([]);
    });
  });

  test("takes a message where the server does, and refuses it in words where it does not", async () => {
    await withTask({ dialect, canSteer: true }, [], async ({ client, sessionId, id, server }) => {
      const message = { sessionId, id, message: "deeper" };
      expect(await client.call("session.tasks.sendMessage", message)).toEqual({ sent: true });
      expect(server.steered).toEqual(["deeper"]);
      server.options.canSteer = false;
      expect(await client.call("session.tasks.sendMessage", message)).toEqual({
        sent: false,
        error: `The MCP task ${id} takes no messages: the server 'jobs' does not support it. Start a new task instead.`,
      });
    });
  });

  test("is listed for the model, waited for with read_agent, and not told a second time", async () => {
    await using server = await TaskServer.start({ dialect });
    const turns = [
      main(call("jobs-worker", { job: "dig" })),
      main(call("list_agents")),
      mainOn("read_agent", { wait: true }),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ mcpServers: { jobs: server.config } });
      await allowAll(client, sessionId);
      await send(world, sessionId);
      const task = await server.task();
      await client.until(({ type, data }) => type === "tool.execution_start" && data.toolName === "read_agent");
      server.complete(task, "gold");
      await client.received("session.idle");
      const [, listed, read] = resultsIn(provider.requests.at(-1));
      expect(listed).toContain('mcp-task - "jobs: worker"');
      expect(read).toContain("Agent has completed.");
      expect(read).toContain("[Turn 0]\ngold");
      expect(client.of("system.notification")).toEqual([]);
    });
  });

  test("reads in write_agent that it takes no messages", async () => {
    const turns = [mainOn("write_agent", { message: "deeper" }), main(say("told"))];
    await using server = await TaskServer.start({ dialect });
    await inSmallWorld([main(call("jobs-worker", {})), ...turns], async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ mcpServers: { jobs: server.config } });
      await allowAll(client, sessionId);
      await send(world, sessionId);
      await client.until(({ type, data }) => type === "assistant.message" && data.content === "told");
      expect(resultsIn(provider.requests.at(-1)).at(-1)).toContain("Start a new task instead.");
    });
  });

  test("is found by a search for its result", async () => {
    const search = [main(say("seen")), main(call("session_search", { query: "swordfish" })), main(say("found"))];
    await withTask({ dialect }, search, async (world) => {
      const { server, task, client, provider, sessionId } = world;
      server.complete(task, "The word is swordfish.");
      await client.received("session.idle");
      await world.send(sessionId, "look for it");
      expect(resultsIn(provider.requests.at(-1)).at(-1)).toContain("The word is swordfish.");
    });
  });

  test("is cancelled at the server when its session is left for good", async () => {
    await withTask({ dialect }, [], async ({ client, sessionId, task }) => {
      await client.call("session.destroy", { sessionId });
      expect(task.isCancelled).toBe(true);
    });
  });

  test("goes on at the server when the connection of its client is lost", async () => {
    await withTask({ dialect }, [main(say("seen"))], async (world) => {
      const { client, sessionId, task, server } = world;
      client.close();
      await client.ended;
      expect(task.isCancelled).toBeUndefined();
      const again = world.anotherClient();
      await again.call("session.resume", { sessionId, mcpServers: { jobs: server.config } });
      server.complete(task, "gold");
      await again.received("session.idle");
      expect(await theTask({ ...world, client: again })).toMatchObject({ status: "completed", result: "gold" });
    });
  });

  test("is cancelled with the sub-agent whose time is up", async () => {
    await using server = await TaskServer.start({ dialect });
    const turns = [
      main(delegate("plan", { agent_type: "lead", budget: { maxSeconds: 1 } })),
      by("plan", call("jobs-worker", { job: "dig" })),
      by("plan", say("waiting")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create({ mcpServers: { jobs: server.config }, customAgents: [LEAD] });
      await allowAll(client, sessionId);
      await send(world, sessionId);
      await client.received("session.idle");
      expect((await server.task()).isCancelled).toBe(true);
      const [lead, mcp] = await agentsOf(client, sessionId);
      expect([lead?.reason, mcp?.status]).toEqual(["timed_out", "cancelled"]);
    });
  });

  test.each(["lead", "general-purpose"])(
    "of a sub-agent (%s) belongs to it, which waits for it and reads its notice",
    async (agent) => {
      await using server = await TaskServer.start({ dialect });
      const turns = [
        main(delegate("plan", { agent_type: agent })),
        by("plan", call("jobs-worker", { job: "dig" })),
        by("plan", say("waiting")),
        by("plan", say("I have heard")),
        main(say("done")),
      ];
      await inSmallWorld(turns, async (world) => {
        const { client, create, provider } = world;
        const sessionId = await create({ mcpServers: { jobs: server.config }, customAgents: [LEAD] });
        await allowAll(client, sessionId);
        await send(world, sessionId);
        const task = await server.task();
        await client.until(({ type, data }) => type === "assistant.message" && data.content === "waiting");
        const [lead, mcp] = await agentsOf(client, sessionId);
        expect(mcp).toMatchObject({ agentType: "mcp-task", parentId: lead?.id, pathNames: ["plan", "worker"] });
        server.complete(task, "gold");
        await client.received("session.idle");
        expect(client.of("subagent.completed").map(({ agentName }) => agentName)).toEqual(["mcp-task", agent]);
        provider.assertSpent();
      });
    },
  );
});

describe("of the extension", () => {
  test.each(["http", "stdio"] as const)(
    "news of a task is subscribed to, so that it need not be polled, over %s",
    async (transport) => {
      await using server = await TaskServer.start({ dialect: "2026", pollMs: 3_600_000 });
      const turns = [main(call("jobs-worker", {})), main(say("waiting")), main(say("seen"))];
      await inSmallWorld(turns, async (world) => {
        const { client, create } = world;
        const jobs = transport === "http" ? server.config : server.stdio;
        const sessionId = await create({ mcpServers: { jobs } });
        await allowAll(client, sessionId);
        await send(world, sessionId);
        const task = await server.task();
        await server.when(() => JSON.stringify(server.of("subscriptions/listen")).includes(task.taskId));
        server.complete(task, "gold");
        await client.received("session.idle");
        expect(server.of("tasks/get")).toHaveLength(2);
      });
    },
  );

  test("a stream of news that ends is a warning, and is asked for again", async () => {
    await withTask({ dialect: "2026" }, [main(say("seen"))], async (world) => {
      const { server, task, client } = world;
      const isListening = (times: number) => () =>
        server.of("subscriptions/listen").filter(({ params }) => JSON.stringify(params).includes(task.taskId)).length >=
        times;
      await server.when(isListening(1));
      server.endNews();
      await server.when(isListening(2));
      expect((await mcpProgress(world))?.eventStreamWarnings.map(({ message }) => message)).toContain(
        "the server has ended the stream of its news",
      );
      server.complete(task, "gold");
      await client.received("session.idle");
    });
  });

  test("several questions of a task are asked one after the other, each once", async () => {
    await withTask({ dialect: "2026" }, [main(say("seen"))], async (world) => {
      const { client, server, task, sessionId } = world;
      const answers = [server.ask(task, "Which colour?"), server.ask(task, "Which wall?")];
      for (const [index, colour] of ["red", "north"].entries()) {
        await expect.poll(() => client.of("elicitation.requested").length).toBe(index + 1);
        const { requestId = "" } = client.of("elicitation.requested").at(-1) ?? {};
        const result = { action: "accept" as const, content: { colour } };
        await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      }
      expect(await Promise.all(answers)).toMatchObject([
        { content: { colour: "red" } },
        { content: { colour: "north" } },
      ]);
      server.complete(task, "painted");
      await client.received("session.idle");
      expect(client.of("elicitation.requested").map(({ message }) => message)).toEqual([
        "Which colour?",
        "Which wall?",
      ]);
    });
  });

  test("a task may ask the model and for the folders of the session", async () => {
    const owl = when((request) => JSON.stringify(request.messages).includes("Which bird?"), [say("an owl")]);
    await withTask({ dialect: "2026" }, [owl, main(say("seen"))], async (world) => {
      const { server, task, client, folder } = world;
      const messages = [{ role: "user", content: { type: "text", text: "Which bird?" } }];
      task.inputRequests = {
        bird: { method: "sampling/createMessage", params: { messages, maxTokens: 10 } },
        folders: { method: "roots/list" },
      };
      task.status = "input_required";
      await server.when(() => task.status === "working");
      const given = server.of("tasks/update").map(({ params }) => params?.inputResponses);
      expect(Object.assign({}, ...given)).toMatchObject({
        bird: { role: "assistant", content: { type: "text", text: "an owl" } },
        folders: { roots: [{ uri: `file://${folder}` }] },
      });
      server.complete(task, "an owl in a folder");
      await client.received("session.idle");
    });
  });

  test("a task that asks for what nobody can answer fails, and is cancelled at the server", async () => {
    await withTask({ dialect: "2026" }, [main(say("seen"))], async (world) => {
      const { task, client } = world;
      task.inputRequests = { q: { method: "coffee/brew" } };
      task.status = "input_required";
      await client.received("session.idle");
      expect(await theTask(world)).toMatchObject({
        status: "failed",
        error: "The task asks for 'coffee/brew', which nobody here can answer.",
      });
      expect(task.isCancelled).toBe(true);
    });
  });
});
