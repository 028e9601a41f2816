/**
 * Tasks of the extension `io.modelcontextprotocol/tasks`: the server decides which call becomes one, and the state of a task carries its
 * questions and its result.
 */
import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { ASK_LIMIT_MS, anything, resultIn, type ServerTask, type TaskLook, taskFields, words } from "./server-task.ts";

export const EXTENSION = "io.modelcontextprotocol/tasks";

export const Task2026 = z.looseObject({
  ...taskFields,
  ttlMs: z.number().nonnegative().nullish(),
  pollIntervalMs: z.number().nonnegative().optional(),
});

const Detailed = Task2026.extend({
  result: z.unknown().optional(),
  error: z.looseObject({ message: words }).optional(),
  inputRequests: z
    .record(z.string(), z.looseObject({ method: z.string(), params: z.record(z.string(), z.unknown()).optional() }))
    .optional(),
});

export function lookOf(task: z.output<typeof Task2026>): TaskLook {
  const { taskId, status, statusMessage: message, createdAt, lastUpdatedAt: updatedAt, ttlMs, pollIntervalMs } = task;
  return { taskId, status, message, createdAt, updatedAt, ttlMs, pollMs: pollIntervalMs };
}

export function task2026(taskId: string): ServerTask {
  const ask = async <T extends z.ZodType>(
    client: Client,
    { method, more = {}, schema, signal }: { method: string; more?: object; schema: T; signal: AbortSignal },
  ) => await client.request({ method, params: { taskId, ...more } }, schema, { signal, timeout: ASK_LIMIT_MS });
  const listening = new WeakSet<Client>();
  return {
    listen(client, { signal, onLost }) {
      if (listening.has(client)) return;
      listening.add(client);
      const filter = { taskIds: [taskId], toolsListChanged: false };
      void client
        .listen(filter, { signal, timeout: ASK_LIMIT_MS })
        .then(async ({ closed }) => {
          if ((await closed) !== "local") onLost("the server has ended the stream of its news");
          listening.delete(client);
        })
        .catch(() => undefined); // A server need not send news; it is asked anyway.
    },
    async look(client, { signal }) {
      const task = await ask(client, { method: "tasks/get", schema: Detailed, signal });
      const look = lookOf(task);
      if (look.status === "completed") return { ...look, ...resultIn(task.result) };
      if (look.status === "failed") return { ...look, error: task.error?.message };
      return look.status === "input_required" ? { ...look, questions: task.inputRequests ?? {} } : look;
    },
    async cancel(client, { signal }) {
      await ask(client, { method: "tasks/cancel", schema: anything, signal });
    },
    async answer(client, answers, { signal }) {
      await ask(client, { method: "tasks/update", more: { inputResponses: answers }, schema: anything, signal });
    },
  };
}
