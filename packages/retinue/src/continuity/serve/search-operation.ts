/** session_search: whose sessions are searched, and which of them are read first. HTTP, MCP, the command line and our own agents use it. */
import * as z from "zod";
import { readOn } from "../ingest/reading.ts";
import { type Found, search } from "../recall/search.ts";
import type { Continuity } from "../records/continuity.ts";
import { actingAgent, type Caller, findSession, parentOf, readable } from "../records/scope.ts";
import { flag, number, operation, word } from "./operation.ts";

const time = () =>
  z.union([
    z.number(),
    z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
    z.iso.date().transform((text) => Date.parse(text)),
  ]);

const SearchInput = z.object({
  query: z.string().max(4_000),
  sessionKey: word().nullish(),
  currentSessionKey: word().nullish(),
  /** The parent of a current session that is not known yet. */
  parentSessionKey: word().nullish(),
  project: word().nullish(),
  agentId: word().nullish(),
  harness: word().nullish(),
  lineage: flag().nullish(),
  since: time().nullish(),
  until: time().nullish(),
  limit: number().max(100).nullish(),
  offset: number().max(10_000).nullish(),
});

/** What a model may ask. */
export const SearchTool = z.object({
  query: z.string().min(1).describe("Words, a question, or a phrase in quotes."),
  sessionKey: z
    .string()
    .optional()
    .describe("Only this session. Default: the parent session when you are a sub-agent."),
  limit: z.number().int().min(1).max(50).optional(),
});

export async function runSearch(
  { transcripts, world }: Continuity,
  caller: Caller,
  input: z.output<typeof SearchInput>,
): Promise<Found & { note?: string }> {
  const now = world.now();
  const given = input.agentId ?? undefined;
  if (given !== undefined) actingAgent(caller, given);
  const find = async (key: string | null | undefined, agentId: string | undefined) =>
    key ? await findSession(transcripts, caller, { key, agentId }) : undefined;
  const current = await find(input.currentSessionKey, given);
  const asked = given ?? current?.agentId;
  const named = await find(input.sessionKey, asked);
  if (input.sessionKey && !named)
    return { hits: [], hasMore: false, note: `No session ${input.sessionKey} is known here.` };
  // A sub-agent that names no session searches its parent's.
  const parent = current ? await parentOf(transcripts, current) : await find(input.parentSessionKey, given);
  const session = named ?? (input.lineage ? undefined : parent);
  for (const each of [session, current]) if (each) await readOn(transcripts, each, { now });
  const agentId = asked ?? named?.agentId ?? actingAgent(caller, undefined);
  return await search(transcripts, {
    query: input.query,
    within: {
      ...readable(caller, agentId),
      sessionId: input.lineage ? undefined : session?.id,
      treeOf: input.lineage ? (session ?? current)?.id : undefined,
      project: input.project ?? undefined,
      harness: input.harness ?? undefined,
      since: input.since ?? undefined,
      until: input.until ?? undefined,
    },
    now,
    limit: input.limit || 10,
    offset: input.offset ?? 0,
  });
}

export const searchOperation = operation({
  name: "session_search",
  method: "POST",
  path: "/api/sessions/search",
  summary: "Finds what was said, in one session or in all that the caller may see.",
  input: SearchInput,
  tool: SearchTool,
  run: runSearch,
});
