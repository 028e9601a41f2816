/**
 * Tasks of the protocol revision 2025-11-25: the caller asks for one, polls it, and fetches the result.
 *
 * While such a task needs input, the server sends its questions as requests of its own, along with the request for the result.
 */
import { type Client, ProtocolError } from "@modelcontextprotocol/client";
import * as z from "zod";
import {
  ASK_LIMIT_MS,
  type AskOptions,
  anything,
  errorIn,
  resultIn,
  type ServerTask,
  type TaskLook,
  taskFields,
} from "./server-task.ts";

/** How long a server is asked to keep a task, and its result. It may decide otherwise. */
export const WANTED_TTL_MS = 24 * 3_600_000;

export const Task2025 = z.looseObject({
  ...taskFields,
  ttl: z.number().nonnegative().nullish(),
  pollInterval: z.number().nonnegative().optional(),
});

/** The library's own time limit is switched off for the result, which comes when the task has ended. */
const NO_LIMIT_MS = 2 ** 31 - 1;

const Supported = z.looseObject({
  tasks: z.looseObject({ requests: z.looseObject({ tools: z.looseObject({ call: z.looseObject({}) }) }) }),
});
const Tool = z.looseObject({ execution: z.looseObject({ taskSupport: z.enum(["required", "optional"]) }) });

/** Whether this tool is to be called as a task. */
export function wantsTask(client: Client, tool: unknown): boolean {
  return Supported.safeParse(client.getServerCapabilities()).success && Tool.safeParse(tool).success;
}

export function lookOf(task: z.output<typeof Task2025>): TaskLook {
  const { taskId, status, statusMessage: message, createdAt, lastUpdatedAt: updatedAt, ttl, pollInterval } = task;
  return { taskId, status, message, createdAt, updatedAt, ttlMs: ttl, pollMs: pollInterval };
}

export function task2025(taskId: string): ServerTask {
  /** The request for the result that is under way. */
  let asked: { client: Client; result: Promise<Pick<TaskLook, "result" | "error">> } | undefined;

  const resultOf = (client: Client, { signal }: AskOptions) => {
    if (asked?.client === client) return asked.result;
    const request = { method: "tasks/result", params: { taskId } };
    const result = client
      .request(request, anything, { signal, timeout: NO_LIMIT_MS })
      .then(resultIn, (error: unknown) => {
        // The error of the call is its result; any other is none, and the next look asks again.
        if (error instanceof ProtocolError) return errorIn(error);
        asked = undefined;
        throw error;
      });
    result.catch(() => undefined); // Read by the look that finds the task ended.
    asked = { client, result };
    return result;
  };

  return {
    async look(client, options) {
      const request = { method: "tasks/get", params: { taskId } };
      const look = lookOf(await client.request(request, Task2025, { ...options, timeout: ASK_LIMIT_MS }));
      if (look.taskId !== taskId) return look;
      if (look.status === "input_required") void resultOf(client, options);
      if (look.status !== "completed" && look.status !== "failed") return look;
      return { ...look, ...(await resultOf(client, options)) };
    },
    async cancel(client, options) {
      const request = { method: "tasks/cancel", params: { taskId } };
      await client.request(request, anything, { ...options, timeout: ASK_LIMIT_MS });
    },
  };
}
