/** A message to a running task. No dialect defines one; some servers take it as `tasks/steer`. */
import { type Client, ProtocolError } from "@modelcontextprotocol/client";
import { ASK_LIMIT_MS, type AskOptions, anything } from "./server-task.ts";

const METHOD_NOT_FOUND = -32601;

/** False when the server knows no such request. */
export async function steer(
  client: Client,
  { taskId, message }: { taskId: string; message: string },
  { signal }: AskOptions,
): Promise<boolean> {
  try {
    const request = { method: "tasks/steer", params: { taskId, message } };
    await client.request(request, anything, { signal, timeout: ASK_LIMIT_MS });
    return true;
  } catch (error) {
    if (error instanceof ProtocolError && error.code === METHOD_NOT_FOUND) return false;
    throw error;
  }
}
