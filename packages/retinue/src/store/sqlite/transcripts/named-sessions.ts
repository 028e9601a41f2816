/** The sessions that the changes of one transaction name, each looked up once. The lock keeps others from changing them meanwhile. */
import type { SessionName } from "../../transcript-records.ts";
import { type Row, type Rows, text } from "./rows.ts";

export interface NamedSession {
  readonly id: number;
  readonly reading?: string;
  /** Kept up to date by the writer. */
  nextSeq: number;
  project?: string;
}

interface NewSession {
  at: number;
  project?: string;
  title?: string;
}

export class NamedSessions {
  readonly rows: Rows;
  readonly #byName = new Map<string, NamedSession>();
  /** A session may be named with or without its harness in front. */
  readonly #byId = new Map<number, NamedSession>();
  /** The keys under which missing sessions would be stored. */
  readonly #missing = new Map<string, string>();

  constructor(rows: Rows) {
    this.rows = rows;
  }

  /** When another harness of the same agent has taken the key, the harness is put in front. */
  find(name: SessionName): NamedSession | undefined {
    const known = this.#byName.get(nameText(name));
    if (known || this.#missing.has(nameText(name))) return known;
    const { agentId, sessionKey, harness } = name;
    const row = this.#row(agentId, sessionKey);
    const isTaken = row !== undefined && row.harness !== harness;
    const storedKey = isTaken ? `${harness}:${sessionKey}` : sessionKey;
    const own = isTaken ? this.#row(agentId, storedKey) : row;
    if (own) return this.#keep(name, own);
    this.#missing.set(nameText(name), storedKey);
    return undefined;
  }

  findOrMake(name: SessionName, session: NewSession): NamedSession {
    return this.find(name) ?? this.make(name, session);
  }

  /** Adds a session that was not found. */
  make(name: SessionName, { at, project, title }: NewSession): NamedSession {
    const { agentId, sessionKey, harness } = name;
    const storedKey = this.#missing.get(nameText(name)) ?? sessionKey;
    const sql = `INSERT INTO transcript_sessions (agent_id, session_key, harness, project, title, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id, harness, next_seq, project, reading`;
    const row = this.rows.get(sql, agentId, storedKey, harness, project ?? null, title ?? null, at, at);
    return this.#keep(name, row ?? {});
  }

  #row(agentId: string, sessionKey: string): Row | undefined {
    const sql =
      "SELECT id, harness, next_seq, project, reading FROM transcript_sessions WHERE agent_id = ? AND session_key = ?";
    return this.rows.get(sql, agentId, sessionKey);
  }

  #keep(name: SessionName, row: Row): NamedSession {
    const id = Number(row.id);
    const session = this.#byId.get(id) ?? {
      id,
      nextSeq: Number(row.next_seq),
      project: text(row.project),
      reading: text(row.reading),
    };
    this.#byId.set(id, session);
    this.#byName.set(nameText(name), session);
    return session;
  }
}

const nameText = ({ agentId, sessionKey, harness }: SessionName) => `${agentId}\n${harness}\n${sessionKey}`;
