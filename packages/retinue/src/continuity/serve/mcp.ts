/**
 * The operations that models may use, as an MCP server on stdio.
 *
 * Who calls is known from the harness, not from the model: Codex names the session in the request, Claude Code the call, which its hook has
 * reported before.
 */

import { McpServer } from "@modelcontextprotocol/server";
import { type StdioServerHandle, serveStdio } from "@modelcontextprotocol/server/stdio";
import { AppError, messageOf } from "@retinue/protocol";
import * as z from "zod";
import { fields, text } from "../ingest/readers/fields.ts";
import searchWords from "../recall/session-search.md";
import type { Continuity } from "../records/continuity.ts";
import { OWNER } from "../records/scope.ts";
import type { Operation } from "./operation.ts";
import { operations } from "./operations.ts";

/** What models read, where the summary is not enough. */
const WORDS: Readonly<Record<string, string>> = { session_search: searchWords.trim() };

export interface McpOptions {
  continuity: Continuity;
  env: NodeJS.ProcessEnv;
  version?: string;
}

export function serveMcp(options: McpOptions): StdioServerHandle {
  return serveStdio(() => continuityMcp(options));
}

export function continuityMcp({ continuity, env, version = "1" }: McpOptions): McpServer {
  const server = new McpServer({ name: "retinue", version });
  for (const operation of operations) {
    if (!operation.tool) continue;
    const description = WORDS[operation.name] ?? operation.summary;
    const annotations = { readOnlyHint: true, openWorldHint: false };
    // A plugin may add the session to the arguments; nothing else that is not in the schema gets through.
    const inputSchema = operation.tool.extend({
      currentSessionKey: z.string().optional().describe("Set by the harness; leave it out."),
    });
    server.registerTool(operation.name, { description, inputSchema, annotations }, async (args, { mcpReq }) =>
      answer(continuity, operation, { ...args, ...(await callerSession(continuity, fields(mcpReq._meta), env)) }),
    );
  }
  return server;
}

async function answer(continuity: Continuity, operation: Operation, input: object) {
  try {
    const result = await operation.call(continuity, OWNER, input);
    return {
      content: [{ type: "text" as const, text: typeof result === "string" ? result : JSON.stringify(result, null, 1) }],
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { content: [{ type: "text" as const, text: messageOf(error) }], isError: true };
  }
}

/** The session that asks, and for a child that is not known yet its parent's. */
export async function callerSession(
  { transcripts }: Continuity,
  meta: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
): Promise<{ currentSessionKey?: string; parentSessionKey?: string }> {
  const thread = text(meta.threadId);
  const root = text(meta.sessionId);
  if (thread && root)
    return codexSession({ thread, root, parent: text(fields(meta["x-codex-turn-metadata"]).parent_thread_id) });
  const call = text(meta["claudecode/toolUseId"]);
  const calling = call ? (await transcripts.calls.caller(call))?.sessionKey : undefined;
  const current = calling ?? env.RETINUE_SESSION_KEY ?? env.CLAUDE_CODE_SESSION_ID;
  return current ? { currentSessionKey: current } : {};
}

function codexSession({ thread, root, parent }: { thread: string; root: string; parent?: string }) {
  const key = (id: string) => (id === root ? root : `${root}:${id}`);
  return { currentSessionKey: key(thread), ...(parent && { parentSessionKey: key(parent) }) };
}
