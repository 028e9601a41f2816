/**
 * Finds turns in the full-text index.
 *
 * The work is bounded whatever the size of the store: session ids are words of the index, so one or a few sessions are cheap to search,
 * and when there are more matches than `CANDIDATES` only the newest are ranked.
 */
import type { Match, Term, TurnSearch } from "../../transcripts.ts";
import type { Rows } from "./rows.ts";
import { matchPlan, resolveScope, type Scope } from "./search-plan.ts";
import { toSession, toTurn } from "./session-rows.ts";
import { indexedUpto } from "./turn-index.ts";

const CANDIDATES = 2_000;
const RANKED = 100;

export function sqliteSearch(rows: Rows): TurnSearch {
  const counts = new TermCounts(rows);
  return {
    async matches({ terms, within, wanted }) {
      const scope = resolveScope(rows, within);
      if (scope === "nothing" || terms.length === 0) return { all: [], some: [] };
      const run = (match: string) => ranked(rows, { match, scope, wanted });
      const all = run(terms.map(quoted).join(" AND "));
      const isEnough = all.length >= wanted || terms.length === 1;
      return { all, some: isEnough ? [] : run(alternatives(counts, { terms, scope })) };
    },
    async turns(ids) {
      return ids.flatMap((id) => {
        const turn = rows.get("SELECT * FROM transcript_turns WHERE id = ?", id);
        const session = turn && rows.get("SELECT * FROM transcript_sessions WHERE id = ?", Number(turn.session_id));
        return turn && session ? [{ turn: toTurn(turn), session: toSession(session) }] : [];
      });
    },
  };
}

/** In quotes, so that FTS5 never takes it for an operator. */
const quoted = ({ words, isPrefix }: Term) => `"${words.join(" ").replaceAll('"', '""')}"${isPrefix ? "*" : ""}`;

function ranked(rows: Rows, { match, scope, wanted }: { match: string; scope: Scope; wanted: number }): Match[] {
  const plan = matchPlan(match, scope);
  const sql = `SELECT best.id, best.relevance, t.at FROM (
      SELECT id, relevance FROM (
        SELECT f.rowid AS id, -bm25(transcript_index, 1.0, 0.0) AS relevance FROM transcript_index f ${plan.join}
        WHERE transcript_index MATCH ?${plan.where} ORDER BY f.rowid DESC LIMIT ${CANDIDATES}
      ) ORDER BY relevance DESC, id DESC LIMIT ?
    ) best JOIN transcript_turns t ON t.id = best.id`;
  const found = rows.all(sql, plan.match, ...plan.values, Math.max(RANKED, wanted));
  return found.map(({ id, relevance, at }) => ({ id: Number(id), relevance: Number(relevance), at: Number(at) }));
}

/** Any of the rarest terms, as many as can be ranked completely. Words that are nearly everywhere say little. */
function alternatives(counts: TermCounts, { terms, scope }: { terms: readonly Term[]; scope: Scope }): string {
  const counted = terms
    .map((term) => ({ match: quoted(term), count: counts.upto(quoted(term), scope) }))
    .sort((a, b) => a.count - b.count);
  let room = CANDIDATES;
  const rare = counted.filter(({ count }) => {
    room -= count;
    return room > 0;
  });
  return (rare.length > 0 ? rare : counted).map(({ match }) => match).join(" OR ");
}

const MAX_COUNTS = 10_000;

/** How many turns have a term, remembered until the index grows. */
class TermCounts {
  readonly #rows: Rows;
  #known = new Map<string, number>();
  #indexedUpto = -1;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /** How many turns have the term, up to as many as matter. */
  upto(match: string, scope: Scope): number {
    const narrow = typeof scope === "object" && "sessions" in scope ? { sessions: scope.sessions } : "everything";
    const plan = matchPlan(match, narrow);
    this.#forgetWhenGrown();
    const before = this.#known.get(plan.match);
    if (before !== undefined) return before;
    const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM transcript_index WHERE transcript_index MATCH ? LIMIT ${CANDIDATES})`;
    const found = Number(this.#rows.get(sql, plan.match)?.n);
    if (this.#known.size < MAX_COUNTS) this.#known.set(plan.match, found);
    return found;
  }

  #forgetWhenGrown(): void {
    const now = indexedUpto(this.#rows);
    if (now === this.#indexedUpto) return;
    this.#indexedUpto = now;
    this.#known = new Map();
  }
}
