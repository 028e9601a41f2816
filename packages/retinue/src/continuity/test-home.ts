/** A small world for the tests of continuity: a store in memory, a clock that is set by hand. */
import { openSqlite, type SqliteStore } from "../store/sqlite/store.ts";
import { DEFAULT_AGENT, type NewTurn, type SessionName, type TranscriptSession } from "../store/transcript-records.ts";
import { HookInput } from "./ingest/hook-input.ts";
import { DEFAULT_CONFIG } from "./records/config.ts";
import type { Continuity } from "./records/continuity.ts";
import type { TranscriptRoots } from "./records/transcript-roots.ts";

export interface TestHome extends Continuity {
  time: { now: number };
  /** For what no port shows: a full disk, the shape of a table. */
  db: SqliteStore["db"];
  close(): void;
}

export const NOON = Date.UTC(2026, 10, 15, 12);

export function testHome({ path = ":memory:", roots = {} }: { path?: string; roots?: TranscriptRoots } = {}): TestHome {
  const store = openSqlite({ path });
  const time = { now: NOON };
  let ids = 0;
  return {
    transcripts: store.transcripts,
    db: store.db,
    close: () => store.close(),
    time,
    roots,
    config: DEFAULT_CONFIG,
    world: { now: () => time.now, newId: () => `id-${++ids}` },
  };
}

export const hook = (fields: { sessionKey: string } & Record<string, unknown>) =>
  HookInput.parse({ harness: "claude-code", project: "/projects/shop", ...fields });

export interface SessionFacts extends Partial<SessionName> {
  sessionKey: string;
  at?: number;
  project?: string;
}

/** The session with this key, made when it is not there. */
export async function openSession(
  { transcripts, time }: TestHome,
  { sessionKey, harness = "claude-code", agentId = DEFAULT_AGENT, at = time.now, project }: SessionFacts,
): Promise<TranscriptSession> {
  const name = { sessionKey, harness, agentId };
  await transcripts.record({ changes: [{ type: "opened", session: name, at, project }] });
  const { session } = await transcripts.sessions.resolve(name);
  if (!session) throw new Error(`no session ${sessionKey}`);
  return session;
}

export async function appendTurns(
  { transcripts }: TestHome,
  session: SessionName,
  { turns, at }: { turns: readonly NewTurn[]; at: number },
): Promise<void> {
  await transcripts.record({ changes: [{ type: "turns", session, at, turns }] });
}
