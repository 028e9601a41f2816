/**
 * Finds turns: by all the words, then by any of the telling ones; best match first, newer before older.
 *
 * Work is bounded whatever the size of the store: a single session and small sets of sessions are words of the index itself, and of
 * more matches than `CANDIDATES` only the newest are ranked.
 */
import type { Database } from "../store/sqlite-door.ts";
import { rootOf, subtree } from "./lineage.ts";
import { parseQuery, type Term } from "./query.ts";
import { redact } from "./redact.ts";
import { type Caller, readable } from "./scope.ts";
import { snippet } from "./snippet.ts";
import { sql } from "./transaction.ts";
import { type TranscriptSession, toSession, toTurn } from "./transcripts.ts";
import { indexAll } from "./turn-index.ts";

export interface SearchRequest {
  query: string;
  caller: Caller;
  agentId: string;
  now: number;
  /** Only this session. */
  session?: TranscriptSession;
  /** Only the tree that this session belongs to. */
  lineageOf?: TranscriptSession;
  project?: string;
  harness?: string;
  since?: number;
  until?: number;
  limit?: number;
  offset?: number;
}

export interface Hit {
  sessionKey: string;
  snippet: string;
  score: number;
  /** ISO time of the turn. */
  at: string;
  seq: number;
  role: string;
  tool?: string;
  harness: string;
  project?: string;
  title?: string;
  agentId: string;
}

const CANDIDATES = 2_000;
/** As many sessions as are looked up by name in the index; beyond that each match is checked. */
const NAMED_SESSIONS = 200;
const RANKED = 100;
const FORTNIGHT = 14 * 24 * 3_600_000;

export function search(db: Database, request: SearchRequest): { hits: Hit[]; hasMore: boolean } {
  const terms = parseQuery(request.query);
  if (terms.length === 0) return { hits: [], hasMore: false };
  indexAll(db);
  const within = resolveScope(db, request);
  if (within === "nothing") return { hits: [], hasMore: false };

  const { limit = 10, offset = 0 } = request;
  const wanted = offset + limit + 1;
  const run = (match: string) => candidates(db, { match, within, wanted });
  const strict = run(conjunction(terms));
  const found =
    strict.length >= wanted || terms.length === 1 ? strict : merge(strict, run(alternatives(db, terms, within)));
  const ranked = byRelevanceAndAge(found, request.now);
  const page = ranked.slice(offset, offset + limit);
  return { hits: page.map((each) => toHit(db, each, terms)), hasMore: ranked.length > offset + limit };
}

type Scope =
  | "everything"
  | "nothing"
  | { sessions: readonly number[]; times?: Times }
  | { where: string; values: readonly (string | number)[] };
interface Times {
  since?: number;
  until?: number;
}

/** The sessions to look in, in the cheapest form that says it. */
function resolveScope(db: Database, request: SearchRequest): Scope {
  const times =
    request.since === undefined && request.until === undefined
      ? undefined
      : { since: request.since, until: request.until };
  const { where, values } = conditions(db, request);
  if (!times && where === "s.agent_id = ?" && isOnlyAgent(db, request.agentId)) return "everything";
  const few = db
    .prepare(`SELECT id FROM transcript_sessions s WHERE ${where} LIMIT ${NAMED_SESSIONS + 1}`)
    .all(...values);
  if (few.length === 0) return "nothing";
  if (few.length <= NAMED_SESSIONS) return { sessions: few.map(({ id }) => Number(id)), times };
  const { clause, values: timeValues } = timeClause(times);
  return { where: `${where}${clause}`, values: [...values, ...timeValues] };
}

function conditions(db: Database, request: SearchRequest): { where: string; values: (string | number)[] } {
  const { where, values } = readable(db, request.caller, request.agentId);
  const clauses = [where];
  const add = (clause: string, value: string | number | undefined) => {
    if (value === undefined) return;
    clauses.push(clause);
    values.push(value);
  };
  add("s.id = ?", request.session?.id);
  add("s.project = ?", request.project);
  add("s.harness = ?", request.harness);
  if (request.lineageOf) clauses.push(`s.id IN (${subtree(db, rootOf(db, request.lineageOf).id).join(",")})`);
  return { where: clauses.join(" AND "), values };
}

function isOnlyAgent(db: Database, agentId: string): boolean {
  // Two questions, each answered by one end of the index; asked together they would read all of it.
  const ends =
    "SELECT (SELECT min(agent_id) FROM transcript_sessions) AS first, (SELECT max(agent_id) FROM transcript_sessions) AS last";
  const { first, last } = sql(db, ends).get();
  return first === agentId && last === agentId;
}

interface Candidate {
  id: number;
  at: number;
  relevance: number;
}

function candidates(
  db: Database,
  { match, within, wanted }: { match: string; within: Exclude<Scope, "nothing">; wanted: number },
): Candidate[] {
  const plan = matchPlan(match, within);
  const rows = sql(
    db,
    `SELECT best.id, best.relevance, t.at FROM (
       SELECT id, relevance FROM (
         SELECT f.rowid AS id, -bm25(transcript_index, 1.0, 0.0) AS relevance FROM transcript_index f ${plan.join}
         WHERE transcript_index MATCH ?${plan.where} ORDER BY f.rowid DESC LIMIT ${CANDIDATES}
       ) ORDER BY relevance DESC, id DESC LIMIT ?
     ) best JOIN transcript_turns t ON t.id = best.id`,
  ).all(plan.match, ...plan.values, Math.max(RANKED, wanted));
  return rows.map(({ id, relevance, at }) => ({ id: Number(id), relevance: Number(relevance), at: Number(at) }));
}

const JOIN = "JOIN transcript_turns t ON t.id = f.rowid JOIN transcript_sessions s ON s.id = t.session_id";

function matchPlan(match: string, within: Exclude<Scope, "nothing">) {
  const text = `text : (${match})`;
  if (within === "everything") return { match: text, join: "", where: "", values: [] };
  if ("where" in within) return { match: text, join: JOIN, where: ` AND ${within.where}`, values: within.values };
  const { clause, values } = timeClause(within.times);
  const sessions = within.sessions.map((id) => `"s${id}"`).join(" OR ");
  return { match: `session : (${sessions}) AND ${text}`, join: clause === "" ? "" : JOIN, where: clause, values };
}

function timeClause(times: Times | undefined): { clause: string; values: number[] } {
  const clause = `${times?.since === undefined ? "" : " AND t.at >= ?"}${times?.until === undefined ? "" : " AND t.at <= ?"}`;
  return { clause, values: [times?.since, times?.until].filter((value) => value !== undefined) };
}

const conjunction = (terms: readonly Term[]) => terms.map(({ match }) => match).join(" AND ");

/** Any of the rarest terms, as many as can all be ranked. Words that stand nearly everywhere say little. */
function alternatives(db: Database, terms: readonly Term[], within: Exclude<Scope, "nothing">): string {
  const counted = terms
    .map((term) => ({ term, count: countUpto(db, term.match, within) }))
    .sort((a, b) => a.count - b.count);
  let room = CANDIDATES;
  const telling = counted.filter(({ count }) => {
    room -= count;
    return room > 0;
  });
  return (telling.length > 0 ? telling : counted).map(({ term }) => term.match).join(" OR ");
}

function countUpto(db: Database, match: string, within: Exclude<Scope, "nothing">): number {
  const narrow = typeof within === "object" && "sessions" in within ? { sessions: within.sessions } : "everything";
  const plan = matchPlan(match, narrow);
  return Number(
    sql(
      db,
      `SELECT count(*) AS n FROM (SELECT 1 FROM transcript_index WHERE transcript_index MATCH ? LIMIT ${CANDIDATES})`,
    ).get(plan.match).n,
  );
}

function merge(strict: readonly Candidate[], loose: readonly Candidate[]): Candidate[] {
  const seen = new Set(strict.map(({ id }) => id));
  // A turn with all the words is never below one with some of them.
  const floor = Math.max(0, ...loose.map(({ relevance }) => relevance));
  return [
    ...strict.map((each) => ({ ...each, relevance: each.relevance + floor })),
    ...loose.filter(({ id }) => !seen.has(id)),
  ];
}

function byRelevanceAndAge(found: readonly Candidate[], now: number): Candidate[] {
  const aged = found.map((each) => {
    const age = Math.max(0, now - each.at);
    return { ...each, relevance: each.relevance * (0.7 + 0.3 * Math.exp(-age / FORTNIGHT)) };
  });
  return aged.sort((a, b) => b.relevance - a.relevance || b.id - a.id);
}

function toHit(db: Database, { id, relevance }: Candidate, terms: readonly Term[]): Hit {
  const turn = toTurn(sql(db, "SELECT * FROM transcript_turns WHERE id = ?").get(id));
  const session = toSession(
    sql(db, "SELECT s.* FROM transcript_sessions s JOIN transcript_turns t ON t.session_id = s.id WHERE t.id = ?").get(
      id,
    ),
  );
  return {
    sessionKey: session.sessionKey,
    snippet: snippet(turn, terms),
    score: Math.round(relevance * 1_000) / 1_000,
    at: new Date(turn.at).toISOString(),
    seq: turn.seq,
    role: turn.role,
    tool: turn.tool,
    harness: session.harness,
    project: session.project,
    title: session.title && redact(session.title),
    agentId: session.agentId,
  };
}
