/** Operations on what was said: search, transcripts, lists, lineage, inherit block, checkpoints, deletion. */
import * as z from "zod";
import { readOn } from "../ingest/reading.ts";
import { inheritBlock, maxCharsFor } from "../recall/inherit.ts";
import { search } from "../recall/search.ts";
import { addCheckpoint, listCheckpoints } from "../records/checkpoints.ts";
import { Inherit, tailCharsOf } from "../records/config.ts";
import type { Continuity } from "../records/continuity.ts";
import { lineageTree } from "../records/lineage.ts";
import { redact } from "../records/redact.ts";
import { deleteTranscript, prune } from "../records/retention.ts";
import { actingAgent, type Caller, findSession, maySee, parentOf, readable, requireSession } from "../records/scope.ts";
import { inTransaction } from "../records/transaction.ts";
import { lastSeq, readTurns, speaker, type TranscriptSession, toSession } from "../records/transcripts.ts";
import { flag, number, operation, word } from "./operation.ts";

const key = { key: word(), agentId: word().optional(), harness: word().optional() };
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

export function runSearch(continuity: Continuity, caller: Caller, input: z.output<typeof SearchInput>) {
  const { db, world } = continuity;
  const now = world.now();
  const given = input.agentId ?? undefined;
  if (given !== undefined) actingAgent(caller, given);
  const current = input.currentSessionKey
    ? findSession(db, caller, { key: input.currentSessionKey, agentId: given })
    : undefined;
  const asked = given ?? current?.agentId;
  const named = input.sessionKey ? findSession(db, caller, { key: input.sessionKey, agentId: asked }) : undefined;
  if (input.sessionKey && !named)
    return { hits: [], hasMore: false, note: `No session ${input.sessionKey} is known here.` };
  // A sub-agent that names no session looks into its parent's.
  const parentKey = current ? undefined : input.parentSessionKey;
  const parent = parentKey
    ? findSession(db, caller, { key: parentKey, agentId: given })
    : current && parentOf(db, current);
  const session = named ?? (input.lineage ? undefined : parent);
  for (const each of [session, current]) if (each) readOn(db, each, { now });
  return search(db, {
    query: input.query,
    caller,
    agentId: asked ?? named?.agentId ?? actingAgent(caller, undefined),
    now,
    session: input.lineage ? undefined : session,
    lineageOf: input.lineage ? (session ?? current) : undefined,
    project: input.project ?? undefined,
    harness: input.harness ?? undefined,
    since: input.since ?? undefined,
    until: input.until ?? undefined,
    limit: input.limit || 10,
    offset: input.offset ?? 0,
  });
}

/** What lists and trees show of a session. */
function summary(session: TranscriptSession) {
  const { id: _, parentId: __, reading: ___, createdAt, updatedAt, endedAt, title, ...rest } = session;
  const iso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  return {
    ...rest,
    title: title && redact(title),
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    endedAt: iso(endedAt),
  };
}

const session = (continuity: Continuity, caller: Caller, input: { key: string; agentId?: string; harness?: string }) =>
  requireSession(continuity.db, caller, input);

export const sessionOperations = [
  operation({
    name: "session_search",
    method: "POST",
    path: "/api/sessions/search",
    summary: "Finds what was said, in one session or in all that the caller may see.",
    input: SearchInput,
    tool: SearchTool,
    run: runSearch,
  }),
  operation({
    name: "session_list",
    method: "GET",
    path: "/api/sessions",
    summary: "Sessions, last used first.",
    input: z.object({
      project: word().optional(),
      harness: word().optional(),
      agentId: word().optional(),
      running: flag().optional(),
      limit: number().max(1_000).default(50),
      offset: number().default(0),
    }),
    run({ db }, caller, { project, harness, agentId, running, limit, offset }) {
      const { where, values } = readable(db, caller, actingAgent(caller, agentId));
      // What is left of a deleted session is only where its reader stands.
      const more = ` AND NOT (s.turn_count = 0 AND s.next_seq > 1)${project ? " AND s.project = ?" : ""}${harness ? " AND s.harness = ?" : ""}${running ? " AND s.ended_at IS NULL" : ""}`;
      const found = db
        .prepare(
          `SELECT * FROM transcript_sessions s WHERE ${where}${more} ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?`,
        )
        .all(...values, ...[project, harness].filter((value) => value !== undefined), limit, offset);
      return { sessions: found.map((row) => summary(toSession(row))) };
    },
  }),
  operation({
    name: "session_transcript",
    method: "GET",
    path: "/api/sessions/{key}/transcript",
    summary: "The turns of a session, page by page, as text or JSON.",
    input: z.object({
      ...key,
      after: number().default(0),
      limit: number().min(1).max(1_000).default(200),
      format: z.enum(["json", "text"]).default("json"),
    }),
    tool: z.object({
      key: z.string().describe("The session's key."),
      after: z.number().int().optional(),
      limit: z.number().int().max(200).optional(),
    }),
    run(continuity, caller, input) {
      const found = session(continuity, caller, input);
      readOn(continuity.db, found, { now: continuity.world.now() });
      const turns = readTurns(continuity.db, found.id, { after: input.after, limit: input.limit }).map((turn) => ({
        ...turn,
        text: redact(turn.text),
      }));
      if (input.format === "text") return turns.map((turn) => `${speaker(turn)}: ${turn.text}`).join("\n");
      const next = turns.length === input.limit ? turns.at(-1)?.seq : undefined;
      return {
        ...summary(found),
        turns: turns.map(({ seq, role, tool, callId, text, at }) => ({
          seq,
          role,
          tool,
          callId,
          text,
          at: new Date(at).toISOString(),
        })),
        next,
      };
    },
  }),
  operation({
    name: "session_lineage",
    method: "GET",
    path: "/api/sessions/{key}/lineage",
    summary: "The tree of sessions that this one belongs to, and how each link is known.",
    input: z.object(key),
    run: (continuity, caller, input) =>
      lineageTree(continuity.db, session(continuity, caller, input), (each) => maySee(continuity.db, caller, each)),
  }),
  operation({
    name: "session_inherit",
    method: "GET",
    path: "/api/sessions/{key}/inherit",
    summary: "The inherit block that a child of this session would be given now.",
    input: z.object({ ...key, inherit: Inherit.default("brief") }),
    run(continuity, caller, input) {
      const parent = session(continuity, caller, input);
      readOn(continuity.db, parent, { now: continuity.world.now() });
      const tailChars = tailCharsOf(input.inherit, continuity.config);
      return {
        inject:
          tailChars === undefined
            ? undefined
            : inheritBlock(continuity.db, parent, { tailChars, maxChars: maxCharsFor(parent.harness) }),
      };
    },
  }),
  operation({
    name: "checkpoint_add",
    method: "POST",
    path: "/api/sessions/{key}/checkpoints",
    summary: "Keeps a summary of a session up to now, with the entities that it is about.",
    input: z.object({
      ...key,
      summary: z.string().min(1).max(20_000),
      entities: z.array(word()).max(50).default([]),
      origin: word().default("api"),
    }),
    run(continuity, caller, input) {
      const { db, world } = continuity;
      const found = session(continuity, caller, input);
      readOn(db, found, { now: world.now() });
      return inTransaction(db, () =>
        addCheckpoint(db, {
          sessionId: found.id,
          summary: input.summary,
          entities: input.entities,
          uptoSeq: lastSeq(db, found.id),
          origin: input.origin,
          at: world.now(),
        }),
      );
    },
  }),
  operation({
    name: "checkpoint_list",
    method: "GET",
    path: "/api/sessions/{key}/checkpoints",
    summary: "The checkpoints of a session, newest first.",
    input: z.object(key),
    run: (continuity, caller, input) => ({
      checkpoints: listCheckpoints(continuity.db, session(continuity, caller, input).id).map((each) => ({
        ...each,
        summary: redact(each.summary),
      })),
    }),
  }),
  operation({
    name: "session_delete",
    method: "DELETE",
    path: "/api/sessions/{key}",
    summary: "Deletes the transcript of a session and of its children.",
    input: z.object(key),
    run: (continuity, caller, input) => ({
      deleted: deleteTranscript(continuity.db, session(continuity, caller, input).id),
    }),
  }),
  operation({
    name: "session_prune",
    method: "POST",
    path: "/api/sessions/prune",
    summary: "Deletes sessions that are older than an age, or the oldest ones above a size.",
    access: "owner",
    input: z.object({ olderThanDays: number().optional(), maxBytes: number().optional() }),
    run: ({ db, world }, _caller, limits) => ({ deleted: prune(db, { ...limits, now: world.now() }) }),
  }),
];
