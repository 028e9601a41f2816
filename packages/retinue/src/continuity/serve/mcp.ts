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
import { inProjectOf, isSameTree } from "../records/reach.ts";
import { type Caller, findSession, OWNER } from "../records/scope.ts";
import type { Operation } from "./operation.ts";
import { operations } from "./operations.ts";
import { searchOperation } from "./search-operation.ts";

/** What models read, where the summary is not enough. */
const WORDS: Readonly<Record<string, string>> = { session_search: searchWords.trim() };

export interface McpOptions {
  continuity: Continuity;
  env: NodeJS.ProcessEnv;
  /** Where the harness has started the server. */
  cwd?: string;
  version?: string;
}

export function serveMcp(options: McpOptions): StdioServerHandle {
  return serveStdio(() => continuityMcp(options));
}

export function continuityMcp({ continuity, env, cwd = process.cwd(), version = "1" }: McpOptions): McpServer {
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
      answer(continuity, operation, { args, asker: await callerSession(continuity, fields(mcpReq._meta), env), cwd }),
    );
  }
  return server;
}

type Asker = Awaited<ReturnType<typeof callerSession>>;

async function answer(
  continuity: Continuity,
  operation: Operation,
  { args, asker, cwd }: { args: object; asker: Asker; cwd: string },
) {
  try {
    const caller = await reachOf(continuity, asker, { operation, args, cwd });
    const result = await operation.call(continuity, caller, { ...args, ...asker });
    return {
      content: [{ type: "text" as const, text: typeof result === "string" ? result : JSON.stringify(result, null, 1) }],
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { content: [{ type: "text" as const, text: messageOf(error) }], isError: true };
  }
}

/**
 * What a model may see here: the project of the session that its harness names, else that of the folder in which the harness has started
 * this server. What the model itself says about who it is does not count.
 */
async function reachOf(
  { transcripts, config }: Continuity,
  { currentSessionKey, parentSessionKey }: Asker,
  { operation, args, cwd }: { operation: Operation; args: object; cwd: string },
): Promise<Caller> {
  if (config.search.acrossProjects) return OWNER;
  const find = async (key: string | undefined) =>
    key === undefined ? undefined : await findSession(transcripts, OWNER, { key });
  const self = (await find(currentSessionKey)) ?? (await find(parentSessionKey));
  if (operation.name === searchOperation.name && self?.project !== undefined) return OWNER; // It keeps to the session itself.
  const wanted = await find(text(fields(args).key));
  if (self && wanted && (await isSameTree(transcripts, wanted, self))) return OWNER;
  return inProjectOf(OWNER, self?.project ?? cwd);
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
