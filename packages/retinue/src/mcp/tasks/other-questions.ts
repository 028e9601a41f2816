/** What a task of the extension may ask for besides forms: an answer of the model, and the folders of the session. */
import { isSpecType } from "@modelcontextprotocol/client";
import type { CallRef } from "../call-failed.ts";
import { listedRoots, type Roots } from "../roots.ts";
import type { Sample } from "../sampling.ts";
import type { TaskQuestion } from "./server-task.ts";

export interface OtherAnswers {
  /** The server's name. */
  server: string;
  sample?: Sample;
  roots?: Roots;
}

/** Throws when it cannot be answered, or when nobody allows it. */
export async function otherAnswer(
  { method, params }: TaskQuestion,
  { server, sample, roots }: OtherAnswers,
  { key, call, signal }: { key: string; call?: CallRef; signal: AbortSignal },
): Promise<Readonly<Record<string, unknown>>> {
  if (method === "roots/list" && roots) return listedRoots(roots);
  if (method !== "sampling/createMessage" || !sample)
    throw new Error(`The task asks for '${method}', which nobody here can answer.`);
  if (!isSpecType.CreateMessageRequestParams(params))
    throw new Error("The task asks the model in a way that cannot be read.");
  return { ...(await sample({ server, mcpRequestId: key, params, call }, { signal })) };
}
