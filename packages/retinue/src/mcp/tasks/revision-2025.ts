/**
 * Tasks of the protocol revision 2025-11-25: the caller asks for one, polls it, and fetches the result.
 *
 * While such a task needs input, the server sends its questions as requests of its own, along with the request for the result.
 */
import { type Client, ProtocolError } from "@modelcontextprotocol/client";
import * as z from "zod";
import { NO_LIMIT_MS } from "../time-limit.ts";
import {
  ASK_LIMIT_MS,
  type AskOptions,
  anything,
  resultIn,
  type ServerTask,
  type TaskLook,
  taskFields,
} from "./server-task.ts";

/** How long a server is asked to keep a task, and its result. It may decide otherwise. */
export const WANTED_TTL_MS = 24 * 3_600_000;

const RELATED = "io.modelcontextprotocol/related-task";

export const Task2025 = z.looseObject({
  ...taskFields,
  ttl: z.number().nonnegative().nullish(),
  pollInterval: z.number().nonnegative().optional(),
});

const Supported = z.looseObject({
  tasks: z.looseObject({ requests: z.looseObject({ tools: z.looseObject({ call: z.looseObject({}) }) }) }),
});
const Tool = z.looseObject({ execution: z.looseObject({ taskSupport: z.enum(["required", "optional"]) }) });

/** The task that a result says it is of. */
const Related = z
  .looseObject({ _meta: z.looseObject({ [RELATED]: z.looseObject({ taskId: z.string() }) }) })
  .transform(({ _meta }) => _meta[RELATED].taskId);

/** Whether this tool is to be called as a task. */
export function wantsTask(client: Client, tool: unknown): boolean {
  return Supported.safeParse(client.getServerCapabilities()).success && Tool.safeParse(tool).success;
}

export function lookOf(task: z.output<typeof Task2025>): TaskLook {
  const { taskId, status, statusMessage: message, createdAt, lastUpdatedAt: updatedAt, ttl, pollInterval } = task;
  return { taskId, status, message, createdAt, updatedAt, ttlMs: ttl, pollMs: pollInterval };
}

export function task2025(taskId: string): ServerTask {
  /** The clients through which the server can ask its questions. */
  const listening = new WeakSet<Client>();
  const request = { method: "tasks/result", params: { taskId } };

  /** Holds a request open, along which the server sends its questions. Its answer is fetched again when the task has ended. */
  const listen = (client: Client, { signal }: AskOptions): void => {
    if (listening.has(client)) return;
    listening.add(client);
    const forget = () => listening.delete(client);
    client.request(request, anything, { signal, timeout: NO_LIMIT_MS }).then(forget, forget);
  };

  const resultOf = async (client: Client, options: AskOptions): Promise<Partial<TaskLook>> => {
    try {
      const answer = await client.request(request, anything, { ...options, timeout: ASK_LIMIT_MS });
      const { data: related } = Related.safeParse(answer);
      // The name of the task is in the answer only here, so one of another task is as wrong as its state would be.
      return related === undefined || related === taskId ? resultIn(answer) : { taskId: related };
    } catch (error) {
      if (error instanceof ProtocolError) return { error: error.message }; // The error of the call is its result.
      throw error;
    }
  };

  return {
    async look(client, options) {
      const get = { method: "tasks/get", params: { taskId } };
      const look = lookOf(await client.request(get, Task2025, { ...options, timeout: ASK_LIMIT_MS }));
      if (look.taskId !== taskId) return look;
      if (look.status === "input_required") listen(client, options);
      if (look.status !== "completed" && look.status !== "failed") return look;
      return { ...look, ...(await resultOf(client, options)) };
    },
    async cancel(client, options) {
      const cancel = { method: "tasks/cancel", params: { taskId } };
      await client.request(cancel, anything, { ...options, timeout: ASK_LIMIT_MS });
    },
  };
}
