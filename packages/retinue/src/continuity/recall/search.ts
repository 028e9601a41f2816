/** Finds turns: by all the words, then by any of the rarer ones; best match first, newer before older. */

import { redact } from "../../secrets/redact.ts";
import type { TranscriptSession, Turn } from "../../store/transcript-records.ts";
import type { Match, SearchWithin, Term, TranscriptStore } from "../../store/transcripts.ts";
import { indexAll } from "../records/turn-index.ts";
import { parseQuery } from "./query.ts";
import { snippet } from "./snippet.ts";

export interface SearchRequest {
  query: string;
  within: SearchWithin;
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

export interface Found {
  hits: Hit[];
  hasMore: boolean;
}

export async function search(
  store: TranscriptStore,
  { query, within, now, limit = 10, offset = 0 }: SearchRequest,
): Promise<Found> {
  const terms = parseQuery(query);
  if (terms.length === 0) return { hits: [], hasMore: false };
  await indexAll(store);
  const { all, some } = await store.search.matches({ terms, within, wanted: offset + limit + 1 });
  const ranked = byRelevanceAndAge(merge(all, some), now);
  const page = ranked.slice(offset, offset + limit);
  const found = await store.search.turns(page.map(({ id }) => id));
  const relevance = new Map(page.map((match) => [match.id, match.relevance]));
  const hits: Hit[] = [];
  for (const each of found) hits.push(await toHit(each, { relevance: relevance.get(each.turn.id) ?? 0, terms }));
  return { hits, hasMore: ranked.length > offset + limit };
}

function merge(all: readonly Match[], some: readonly Match[]): Match[] {
  const seen = new Set(all.map(({ id }) => id));
  // A turn with all the words is never below one with some of them.
  const floor = Math.max(0, ...some.map(({ relevance }) => relevance));
  return [
    ...all.map((each) => ({ ...each, relevance: each.relevance + floor })),
    ...some.filter(({ id }) => !seen.has(id)),
  ];
}

const FORTNIGHT = 14 * 24 * 3_600_000;

function byRelevanceAndAge(found: readonly Match[], now: number): Match[] {
  const aged = found.map((each) => {
    const age = Math.max(0, now - each.at);
    return { ...each, relevance: each.relevance * (0.7 + 0.3 * Math.exp(-age / FORTNIGHT)) };
  });
  return aged.sort((a, b) => b.relevance - a.relevance || b.id - a.id);
}

async function toHit(
  { turn, session }: { turn: Turn; session: TranscriptSession },
  { relevance, terms }: { relevance: number; terms: readonly Term[] },
): Promise<Hit> {
  return {
    sessionKey: session.sessionKey,
    snippet: await snippet(turn, terms),
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
