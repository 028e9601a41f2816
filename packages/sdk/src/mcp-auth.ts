/** Tokens for MCP servers that the program gets by itself: who is asked, for what, and what the answer may be. */
import type { McpSignInRequest, McpTokenAnswer } from "@retinue/protocol";
import type { Call } from "./rpc.ts";

/** What the runtime knows about the server that wants a token. */
export type McpAuthRequest = Omit<McpSignInRequest, "httpResponse">;

export interface McpAuthToken {
  accessToken: string;
  tokenType?: string;
  /** Seconds. */
  expiresIn?: number;
}

export type McpAuthResult = ({ kind: "token" } & McpAuthToken) | { kind: "cancelled" };

type Answer = McpAuthResult | McpAuthToken | null | undefined;
export type McpAuthHandler = (request: McpAuthRequest, context: { sessionId: string }) => Answer | Promise<Answer>;

/** The runtime asks only clients that say so. */
export async function registerForTokens(
  call: Call,
  { sessionId, config }: { sessionId: string; config: { onMcpAuthRequest?: McpAuthHandler } },
): Promise<void> {
  if (!config.onMcpAuthRequest) return;
  await call("session.eventLog.registerInterest", { sessionId, eventType: "mcp.oauth_required" });
}

/** Anything but a token is a refusal. */
export async function tokenFor(
  handler: McpAuthHandler,
  { httpResponse: _, ...request }: McpSignInRequest,
  sessionId: string,
): Promise<McpTokenAnswer> {
  const answer = await handler(request, { sessionId });
  if (!answer || !("accessToken" in answer) || typeof answer.accessToken !== "string") return { kind: "cancelled" };
  return { ...answer, kind: "token" };
}
