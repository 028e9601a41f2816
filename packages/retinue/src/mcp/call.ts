/** One call of a server's tool, with its time limit and its progress. */
import {
  type CallToolResult,
  type Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { AppError, messageOf } from "@retinue/protocol";
import { type ActiveCall, CallFailed, type CallOptions } from "./call-failed.ts";
import { httpWords, isSessionUnknown } from "./http-errors.ts";
import { isSignInNeeded } from "./oauth/refusal.ts";
import { WANTED_TTL_MS, wantsTask } from "./tasks/revision-2025.ts";
import { NO_LIMIT_MS, TimeLimit } from "./time-limit.ts";

/** The call is in `active` while it runs. Throws CallFailed. */
export async function callServerTool(
  client: Client,
  request: { tool: string; args: Readonly<Record<string, unknown>>; active: Set<ActiveCall>; listed: unknown },
  options: CallOptions,
): Promise<CallToolResult> {
  const limit = new TimeLimit(options.limitMs);
  const signal = AbortSignal.any([options.signal, limit.signal]);
  const active: ActiveCall = { call: options.call, limit, signal };
  request.active.add(active);
  try {
    return await client.callTool(
      {
        name: request.tool,
        arguments: { ...request.args },
        ...(options.meta && { _meta: { ...options.meta } }),
        ...(wantsTask(client, request.listed) && { task: { ttl: WANTED_TTL_MS } }),
      },
      {
        signal,
        timeout: NO_LIMIT_MS,
        onprogress: (progress) => {
          limit.restart();
          options.onProgress?.(progressText(progress));
        },
      },
    );
  } catch (error) {
    throw failureOf(error, { options, limit });
  } finally {
    limit.clear();
    request.active.delete(active);
  }
}

function failureOf(error: unknown, { options, limit }: { options: CallOptions; limit: TimeLimit }): CallFailed {
  const cause = { cause: error };
  if (options.signal.aborted) return new CallFailed("cancelled", "the call was cancelled", cause);
  if (limit.signal.aborted) return new CallFailed("timeout", `no answer within ${limit.ms} ms`, cause);
  if (isSignInNeeded(error)) return new CallFailed("needs_auth", "the server wants the user to sign in", cause);
  const kind = isLinkFailure(error) ? "server_ended" : "server_error";
  return new CallFailed(kind, messageOf(httpWords(error)), cause);
}

/** The connection is broken, as opposed to a server that answered with an error, which the other calls have nothing to do with. */
function isLinkFailure(error: unknown): boolean {
  if (error instanceof ProtocolError) return false;
  if (error instanceof SdkHttpError) return isSessionUnknown(error);
  if (error instanceof SdkError) return LINK_CODES.has(error.code);
  return error instanceof TypeError || (error instanceof AppError && error.code === "connection_closed");
}

/** The next request needs another connection: the link is broken, or somebody must sign in first. */
export const isLinkBroken = (error: unknown): boolean => isLinkFailure(error) || isSignInNeeded(error);

/** Of a request in a session: the server does not know that session any more. */
export function isForgotten(error: unknown): boolean {
  if (error instanceof SdkHttpError) return isSessionUnknown(error);
  return error instanceof Error && error.cause !== undefined && isForgotten(error.cause);
}

const LINK_CODES: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.NotConnected,
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.SendFailed,
]);

function progressText({ progress, total, message }: { progress: number; total?: number; message?: string }): string {
  const count = total ? `${progress}/${total} (${Math.round((100 * progress) / total)}%)` : String(progress);
  return message ? `${count}: ${message}` : count;
}
