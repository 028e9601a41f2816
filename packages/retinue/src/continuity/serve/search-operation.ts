/** session_search: whose sessions are searched, and which of them are read first. HTTP, MCP, the command line and our own agents use it. */
import * as z from "zod";
import { DEFAULT_AGENT, type TranscriptSession } from "../../store/transcript-records.ts";
import type { TranscriptStore } from "../../store/transcripts.ts";
import { pathWord } from "../ingest/hook-input.ts";
import { readOn } from "../ingest/reading.ts";
import { type Found, search } from "../recall/search.ts";
import type { Continuity } from "../records/continuity.ts";
import { tidyPath } from "../records/paths.ts";
import { inProjectOf, isSameTree } from "../records/reach.ts";
import { actingAgent, type Caller, findSession, parentOf, readable, visibility } from "../records/scope.ts";
import { flag, number, operation, word } from "./operation.ts";
import { SearchTool } from "./search-input.ts";

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
  project: pathWord().nullish(),
  agentId: word().nullish(),
  harness: word().nullish(),
  lineage: flag().nullish(),
  since: time().nullish(),
  until: time().nullish(),
  limit: number().max(100).nullish(),
  offset: number().max(10_000).nullish(),
});

export async function runSearch(
  continuity: Continuity,
  caller: Caller,
  input: z.output<typeof SearchInput>,
): Promise<Found & { note?: string }> {
  const { transcripts, world } = continuity;
  const now = world.now();
  const { self, parent, reach, given } = await whoAsks(continuity, caller, input);
  if (!reach && !self)
    return nothing("The session that asks is not known here, so there is nothing that it may search.");
  const asked = given ?? self?.agentId;
  const named = await namedSession(transcripts, { caller, self, reach, key: input.sessionKey, agentId: asked });
  if (input.sessionKey && !named) return nothing(`No session ${input.sessionKey} is known in this project.`);
  // A sub-agent that names no session searches its parent's.
  const session = named ?? (input.lineage ? undefined : parent);
  for (const each of [session, self]) if (each) await readOn(transcripts, each, { now });
  const isOwnTree = session && self && (await isSameTree(transcripts, session, self));
  const scope = isOwnTree ? caller : reach; // Without one, a session that has no project: it searches its own tree.
  return await search(transcripts, {
    query: input.query,
    within: {
      ...readable(scope ?? caller, caller.agentId ?? asked ?? named?.agentId ?? DEFAULT_AGENT),
      sessionId: input.lineage ? undefined : session?.id,
      treeOf: input.lineage || !scope ? (session ?? self)?.id : undefined,
      project: input.project == null ? undefined : tidyPath(input.project),
      harness: input.harness ?? undefined,
      since: input.since ?? undefined,
      until: input.until ?? undefined,
    },
    now,
    limit: input.limit || 10,
    offset: input.offset ?? 0,
  });
}

const nothing = (note: string) => ({ hits: [], hasMore: false, note });

interface Asker {
  /** The agent that was named. */
  given: string | undefined;
  /** The session that asks, or where it is not known yet its parent. */
  self: TranscriptSession | undefined;
  parent: TranscriptSession | undefined;
  /** The caller, bound to the project of the session. Absent: it has none. */
  reach: Caller | undefined;
}

async function whoAsks(
  { transcripts, config }: Continuity,
  caller: Caller,
  input: z.output<typeof SearchInput>,
): Promise<Asker> {
  const given = input.agentId ?? undefined;
  if (given !== undefined) actingAgent(caller, given);
  const find = async (key: string | null | undefined) =>
    key ? await findSession(transcripts, caller, { key, agentId: given }) : undefined;
  const current = await find(input.currentSessionKey);
  const above = current ? await parentOf(transcripts, current) : await find(input.parentSessionKey);
  const parent = above && (await visibility(transcripts, caller, { sessions: [above] }))(above) ? above : undefined;
  const self = current ?? parent;
  const isForSession = Boolean(input.currentSessionKey ?? input.parentSessionKey);
  if (!isForSession || config.search.acrossProjects) return { given, self, parent, reach: caller };
  const place = self?.project;
  // A caller that is bound to a project already stays in it.
  const reach = place === undefined ? (caller.project === undefined ? undefined : caller) : inProjectOf(caller, place);
  return { given, self, parent, reach };
}

/** The session that was named: in the project, or in the tree of the one that asks. */
async function namedSession(
  transcripts: TranscriptStore,
  { caller, reach, self, key, agentId }: NamedQuery,
): Promise<TranscriptSession | undefined> {
  if (!key) return undefined;
  const near = reach && (await findSession(transcripts, reach, { key, agentId }));
  if (near || !self) return near;
  const far = await findSession(transcripts, caller, { key, agentId });
  return far && (await isSameTree(transcripts, far, self)) ? far : undefined;
}

interface NamedQuery {
  caller: Caller;
  reach: Caller | undefined;
  self: TranscriptSession | undefined;
  key: string | null | undefined;
  agentId: string | undefined;
}

export const searchOperation = operation({
  name: "session_search",
  method: "POST",
  path: "/api/sessions/search",
  summary: "Finds what was said, in one session or in all that the caller may see.",
  input: SearchInput,
  tool: SearchTool(),
  run: runSearch,
});
