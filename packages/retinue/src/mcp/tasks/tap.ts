/**
 * What a server sends about its tasks, taken off the transport before the client library sees it, because the library knows no tasks: the
 * answer to a call that has become a task, and news of running ones.
 */
import type { JSONRPCMessage, JSONRPCRequest, Transport } from "@modelcontextprotocol/client";
import * as z from "zod";
import * as extension from "./extension-2026.ts";
import * as revision from "./revision-2025.ts";
import { words } from "./server-task.ts";
import { CARRIED, type StartedTask, type TaskNews } from "./task-news.ts";

const Started = z.union([
  z
    .looseObject({ task: revision.Task2025 })
    .transform(({ task }): StartedTask => ({ dialect: "2025-11-25", ...revision.lookOf(task) })),
  extension.Task2026.extend({ resultType: z.literal("task") }).transform(
    (task): StartedTask => ({ dialect: extension.EXTENSION, ...extension.lookOf(task) }),
  ),
]);

const Progress = z.looseObject({
  progressToken: z.union([z.string(), z.number()]),
  progress: z.number(),
  total: z.number().optional(),
  message: words.optional(),
});
const News = z.looseObject({ taskId: z.string() });

const NEWS: readonly string[] = ["notifications/tasks/status", "notifications/tasks"];

/** Called once the client is connected, which sets the handler of the transport. */
export function tapTasks(transport: Transport, news: TaskNews, { giveUp }: { giveUp(task: StartedTask): void }): void {
  /** The requests that became tasks: their progress goes on under the id of the request. */
  const byRequest = new Map<string | number, string>();
  /** The calls that have no answer yet: nothing else becomes a task. */
  const calls = new Set<string | number>();
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    for (const each of [message].flat()) if (isCall(each)) calls.add(each.id);
    await send(message, options);
  };
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const raw: JSONRPCMessage = message;
    const isOfCall = !("method" in raw) && raw.id !== undefined && calls.delete(raw.id);
    if (isOfCall && "result" in raw && isTask(raw.result)) {
      const { data: task, error } = Started.safeParse(raw.result);
      if (task) byRequest.set(raw.id, task.taskId);
      const result = task ? carrierOf(news.offer(task, () => giveUp(task))) : unusable(z.prettifyError(error));
      return deliver?.({ ...message, result }, extra);
    }
    if (!isForFollower(raw, { news, byRequest })) deliver?.(message, extra);
  };
}

function isForFollower(
  message: JSONRPCMessage,
  { news, byRequest }: { news: TaskNews; byRequest: ReadonlyMap<string | number, string> },
): boolean {
  if (!("method" in message) || "id" in message) return false;
  if (message.method === "notifications/progress") {
    const { data } = Progress.safeParse(message.params);
    const taskId = data && byRequest.get(data.progressToken);
    if (!data || taskId === undefined) return false;
    news.of(taskId)?.onProgress({ progress: data.progress, total: data.total, message: data.message });
    return true;
  }
  if (!NEWS.includes(message.method)) return false;
  const { data } = News.safeParse(message.params);
  if (data) news.of(data.taskId)?.onNews();
  return true;
}

const isCall = (message: JSONRPCMessage): message is JSONRPCRequest =>
  "method" in message && "id" in message && message.method === "tools/call";

const isTask = (result: object): boolean =>
  ("resultType" in result && result.resultType === "task") || ("task" in result && !("content" in result));

/** A result that the library lets pass: as a failed one it need not have the structured content that the tool promises. */
const carrierOf = (claim: string): Record<string, unknown> => ({
  resultType: "complete",
  content: [],
  isError: true,
  _meta: { [CARRIED]: claim },
});

/** Nobody could ask for such a task again, so the call has failed. */
const unusable = (problem: string): Record<string, unknown> => ({
  resultType: "complete",
  content: [{ type: "text", text: `the server answered with a task that cannot be followed: ${problem}` }],
  isError: true,
});
