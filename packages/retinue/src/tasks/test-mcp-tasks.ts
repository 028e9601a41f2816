/** For tests of MCP tasks: a session whose main agent has started one. */
import { expect } from "vitest";
import { type ServedTask, TaskServer, type TaskServerOptions } from "../mcp/fixtures/task-server.ts";
import { call, say, type Turn } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { agentsOf, main, send } from "./test-tasks.ts";

export const DIALECTS = ["2025", "2026"] as const;
const onDisk = { isOnDisk: true };

export interface TaskWorld extends SmallWorld {
  server: TaskServer;
  sessionId: string;
  /** At the server. */
  task: ServedTask;
  /** Of the task in the session. */
  id: string;
}

/** The main agent has called `worker`, and the server has made a task of it. */
export async function withTask(
  options: TaskServerOptions,
  turns: readonly Turn[],
  test: (world: TaskWorld) => Promise<void>,
): Promise<void> {
  await using server = await TaskServer.start(options);
  await inSmallWorld(
    [main(call("jobs-worker", { job: "dig" })), main(say("waiting")), ...turns],
    async (world) => {
      const sessionId = await world.create({ mcpServers: { jobs: server.config }, requestElicitation: true });
      await allowAll(world.client, sessionId);
      await send(world, sessionId);
      const task = await server.task();
      await test({ ...world, server, sessionId, task, id: await startedId(world.client) });
      expect(server.problems).toEqual([]);
    },
    onDisk,
  );
}

export async function allowAll(client: TestClient, sessionId: string): Promise<void> {
  await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
}

export async function startedId(client: TestClient): Promise<string> {
  const { agentId = "" } = await client.until(({ type }) => type === "subagent.started");
  return agentId;
}

export async function theTask({ client, sessionId, id }: Pick<TaskWorld, "client" | "sessionId" | "id">) {
  return (await agentsOf(client, sessionId)).find((task) => task.id === id);
}

export async function mcpProgress({ client, sessionId, id }: Pick<TaskWorld, "client" | "sessionId" | "id">) {
  const { progress } = await client.call("session.tasks.getProgress", { sessionId, id });
  return progress?.type === "agent" ? progress.mcpTask : undefined;
}
