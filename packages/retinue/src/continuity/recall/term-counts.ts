/** How common a word is: the fewer turns have it, the more it tells. */
import type { Database } from "../../store/sqlite-door.ts";
import { sql } from "../records/transaction.ts";
import { matchPlan, type Scope } from "./search-plan.ts";

const MAX_COUNTS = 10_000;
const counts = new WeakMap<Database, { upto: number; known: Map<string, number> }>();

/** How many turns have the term, up to as many as matter. Remembered until the index grows. */
export function countUpto(db: Database, match: string, { within, limit }: { within: Scope; limit: number }): number {
  const narrow = typeof within === "object" && "sessions" in within ? { sessions: within.sessions } : "everything";
  const plan = matchPlan(match, narrow);
  const known = countsOf(db);
  const before = known.get(plan.match);
  if (before !== undefined) return before;
  const count = `SELECT count(*) AS n FROM (SELECT 1 FROM transcript_index WHERE transcript_index MATCH ? LIMIT ${limit})`;
  const found = Number(sql(db, count).get(plan.match).n);
  if (known.size < MAX_COUNTS) known.set(plan.match, found);
  return found;
}

function countsOf(db: Database): Map<string, number> {
  const upto = Number(sql(db, "SELECT value FROM continuity_meta WHERE key = 'indexed_upto'").get().value);
  const kept = counts.get(db);
  if (kept?.upto === upto) return kept.known;
  const known = new Map<string, number>();
  counts.set(db, { upto, known });
  return known;
}
