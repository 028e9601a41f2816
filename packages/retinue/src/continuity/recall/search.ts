/**
 * Finds turns: by all the words, then by any of the telling ones; best match first, newer before older.
 *
 * Work is bounded whatever the size of the store: a single session and small sets of sessions are words of the index itself, and of
 * more matches than `CANDIDATES` only the newest are ranked.
 */
import type { Database } from "../../store/sqlite-door.ts";
import { redact } from "../records/redact.ts";
import { sql } from "../records/transaction.ts";
import { toSession, toTurn } from "../records/transcripts.ts";
import { indexAll } from "../records/turn-index.ts";
import { parseQuery, type Term } from "./query.ts";
import { matchPlan, resolveScope, type Scope, type SearchFilters } from "./search-plan.ts";
import { snippet } from "./snippet.ts";
import { countUpto } from "./term-counts.ts";

export interface SearchRequest extends SearchFilters {
  query: string;
  now: number;
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

interface Candidate {
  id: number;
  at: number;
  relevance: number;
}

function candidates(
  db: Database,
  { match, within, wanted }: { match: string; within: Scope; wanted: number },
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

const conjunction = (terms: readonly Term[]) => terms.map(({ match }) => match).join(" AND ");

/** Any of the rarest terms, as many as can all be ranked. Words that stand nearly everywhere say little. */
function alternatives(db: Database, terms: readonly Term[], within: Scope): string {
  const counted = terms
    .map((term) => ({ term, count: countUpto(db, term.match, { within, limit: CANDIDATES }) }))
    .sort((a, b) => a.count - b.count);
  let room = CANDIDATES;
  const telling = counted.filter(({ count }) => {
    room -= count;
    return room > 0;
  });
  return (telling.length > 0 ? telling : counted).map(({ term }) => term.match).join(" OR ");
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
