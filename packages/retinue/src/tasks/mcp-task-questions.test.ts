/** Questions of MCP tasks beside other work: of many tasks at once, during calls that run, and for pages instead of forms. */
import { describe, expect, test } from "vitest";
import { TaskServer } from "../mcp/fixtures/task-server.ts";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { allowAll, DIALECTS, theTask, withTask } from "./test-mcp-tasks.ts";
import { main, resultsIn, send } from "./test-tasks.ts";

const RELATED = "io.modelcontextprotocol/related-task";

describe.each(DIALECTS)("a task of %s", (dialect) => {
  test("has its question answered, also when forty tasks of its server ask at once", async () => {
    await using server = await TaskServer.start({ dialect });
    const calls = Array.from({ length: 40 }, (_, job) => call("jobs-worker", { job: String(job) }));
    await inSmallWorld([main(...calls), main(say("waiting")), main(say("seen"))], async ({ client, create }) => {
      const sessionId = await create({ mcpServers: { jobs: server.config }, requestElicitation: true });
      await allowAll(client, sessionId);
      await send({ client }, sessionId);
      await client.until(({ type, data }) => type === "assistant.message" && data.content === "waiting");
      const ended = [...server.tasks.values()].map(async (task) => {
        const answer = await server.ask(task, `Which colour for ${task.args.job}?`);
        server.complete(task, JSON.stringify(answer));
      });
      await expect.poll(() => client.of("elicitation.requested").length).toBe(40);
      for (const { requestId } of client.of("elicitation.requested")) {
        const result = { action: "accept" as const, content: { colour: "red" } };
        await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      }
      await Promise.all(ended);
      await client.received("session.idle");
    });
  });

  test("sends a person to a page, whose address comes with the question", async () => {
    await withTask({ dialect }, [main(say("seen"))], async ({ client, server, task, sessionId, id }) => {
      const params = { mode: "url", message: "Sign in there", url: "https://example.com/in", elicitationId: "e" };
      task.status = "input_required";
      if (dialect === "2026") task.inputRequests = { e: { method: "elicitation/create", params } };
      else {
        await server.asked("tasks/result");
        const meta = { [RELATED]: { taskId: task.taskId } };
        server.push({ id: "e", method: "elicitation/create", params: { ...params, _meta: meta } });
      }
      const { requestId, ...asked } = await client.received("elicitation.requested");
      expect(asked).toMatchObject({ mode: "url", url: params.url, message: params.message, agentId: id });
      const result = { action: "accept" as const };
      await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      server.complete(task, "in");
      await client.received("session.idle");
    });
  });

  test("goes on past the time that its server gave first, when the server lifts that", async () => {
    await withTask({ dialect, ttl: 60_000 }, [main(say("seen"))], async (world) => {
      const { client, server, task, sessionId, id } = world;
      const ttl = async () => {
        const { progress } = await client.call("session.tasks.getProgress", { sessionId, id });
        return progress?.type === "agent" ? progress.mcpTask?.ttlMs : undefined;
      };
      await expect.poll(ttl).toBe(60_000);
      task.ttl = null;
      await expect.poll(ttl).toBe(null);
      server.complete(task, "gold");
      await client.received("session.idle");
    });
  });
});

test("a call that hangs has its time limit, also while a task of its server waits for a person", async () => {
  await using server = await TaskServer.start({ dialect: "2025" });
  const turns = [
    main(call("jobs-worker", {})),
    main(say("waiting")),
    main(call("jobs-plain", {})),
    main(say("done")),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async (world) => {
    const { client, create, provider } = world;
    const jobs = { ...server.config, timeout: 2_000 };
    const sessionId = await create({ mcpServers: { jobs }, requestElicitation: true });
    await allowAll(client, sessionId);
    await send(world, sessionId);
    const task = await server.task();
    await client.until(({ type, data }) => type === "assistant.message" && data.content === "waiting");
    server.options.holds = new Promise(() => undefined);
    await send(world, sessionId);
    await server.asked("tools/call", 2);
    void server.ask(task, "Which colour?");
    await client.received("elicitation.requested");
    await client.until(({ type, data }) => type === "assistant.message" && data.content === "done");
    expect(resultsIn(provider.requests.at(-1)).at(-1)).toContain("no answer within");
    server.complete(task, "any colour");
    await client.received("session.idle");
  });
});

test("a result that names another task is not the result of this one", async () => {
  await withTask({ dialect: "2025" }, [main(say("seen"))], async (world) => {
    const { client, server, task } = world;
    const of = { [RELATED]: { taskId: "another" } };
    const result = { content: [{ type: "text", text: "of another" }], _meta: of };
    server.options.instead = ({ method }) => (method === "tasks/result" ? { result } : undefined);
    server.complete(task, "gold");
    await client.received("session.idle");
    expect(await theTask(world)).toMatchObject({
      status: "failed",
      error: "The server cannot say how the task stands: the server answered for another task, another",
    });
  });
});

test("a server that sends a person to a page has its address shown, also outside of a task", async () => {
  await withTask({ dialect: "2025" }, [main(say("seen"))], async ({ client, server, task, sessionId }) => {
    const params = { mode: "url", message: "Sign in there", url: "https://example.com/in", elicitationId: "e" };
    server.push({ id: "e", method: "elicitation/create", params });
    const { requestId, ...asked } = await client.received("elicitation.requested");
    expect(asked).toMatchObject({ mode: "url", url: params.url });
    const result = { action: "accept" as const };
    await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
    server.complete(task, "in");
    await client.received("session.idle");
  });
});
