/** A runtime whose store refuses for a while: a host's answer is given again, and nothing else is. */
import { expect, test } from "vitest";
import { RetinueClient } from "./client.ts";
import { FakeRuntime } from "./testing/index.ts";
import { defineTool } from "./tools.ts";

const ANSWER = "session.tools.handlePendingToolCall";

function world() {
  const runtime = new FakeRuntime();
  const errors: string[] = [];
  let runs = 0;
  const handler = () => `run ${++runs}`;
  const client = new RetinueClient({
    connection: runtime.connection(),
    onError: (error) => errors.push(String(error)),
  });
  return {
    runtime,
    client,
    errors,
    config: { tools: [defineTool("t", { handler })] },
    refuse: (message = "The store could not be written") => {
      runtime.emit("s", "session.error", { errorType: "storage", message });
      throw new Error(message);
    },
    recover: () => runtime.emit("s", "session.info", { infoType: "storage", message: "back" }),
    ask: () =>
      runtime.emit("s", "external_tool.requested", {
        requestId: "r",
        sessionId: "s",
        toolCallId: "c",
        toolName: "t",
        arguments: {},
      }),
    [Symbol.asyncDispose]: async () => void (await client.stop()),
  };
}

test("an answer that could not be recorded is given again when the store is back, and the tool runs once", async () => {
  await using app = world();
  const answers: unknown[] = [];
  app.runtime.handle(ANSWER, ({ result }) => {
    answers.push(result);
    return answers.length === 1 ? app.refuse() : { success: true };
  });
  await app.client.createSession({ sessionId: "s", ...app.config });
  app.ask();
  await expect.poll(() => answers).toEqual(["run 1"]);
  app.recover();
  await expect.poll(() => answers).toEqual(["run 1", "run 1"]);
  expect(app.errors).toEqual([]);
});

test("a host tool of a session that was resumed runs although the store refused while its caller was looked up", async () => {
  await using app = world();
  let lists = 0;
  const answers: unknown[] = [];
  app.runtime.handle(ANSWER, ({ result }) => {
    answers.push(result);
    return { success: true };
  });
  app.runtime.handle("session.tasks.list", () => (++lists === 1 ? app.refuse() : { tasks: [CHILD] }));
  await app.client.resumeSession("s", app.config);
  app.runtime.emit("s", "external_tool.requested", {
    requestId: "r",
    sessionId: "child",
    toolCallId: "c",
    toolName: "t",
    arguments: {},
  });
  await expect.poll(() => lists).toBe(1);
  app.recover();
  await expect.poll(() => answers).toEqual(["run 1"]);
  expect(app.errors).toEqual([]);
});

test.each([
  ["without an outage", () => raise("broken")],
  ["because the session is gone", (app: { refuse(message: string): unknown }) => app.refuse("Session not found: s")],
])("an answer that is refused %s is reported and not given again", async (_why, refuse) => {
  await using app = world();
  let answers = 0;
  app.runtime.handle(ANSWER, () => {
    answers += 1;
    return refuse(app);
  });
  await app.client.createSession({ sessionId: "s", ...app.config });
  app.ask();
  await expect.poll(() => app.errors).toHaveLength(1);
  app.recover();
  await app.client.ping(); // Whatever the event led to has been sent before.
  expect(answers).toBe(1);
});

const CHILD = {
  type: "agent",
  id: "child",
  toolCallId: "task",
  agentType: "explore",
  description: "d",
  status: "running",
  startedAt: new Date(0).toISOString(),
};

function raise(message: string): never {
  throw new Error(message);
}
