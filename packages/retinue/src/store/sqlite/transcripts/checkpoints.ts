/** Checkpoints as rows. */
import * as z from "zod";
import type { Checkpoint } from "../../transcript-records.ts";
import type { Checkpoints } from "../../transcripts.ts";
import { insertCheckpoint } from "./changes.ts";
import type { Row, Rows } from "./rows.ts";

const Entities = z.array(z.string());

export function sqliteCheckpoints(rows: Rows): Checkpoints {
  return {
    async add(sessionId, checkpoint) {
      return rows.transaction(() => toCheckpoint(insertCheckpoint(rows, sessionId, checkpoint)));
    },
    async list(sessionId, limit = 100) {
      const sql = "SELECT * FROM session_checkpoints WHERE session_id = ? ORDER BY id DESC LIMIT ?";
      return rows.all(sql, sessionId, limit).map(toCheckpoint);
    },
  };
}

function toCheckpoint(row: Row): Checkpoint {
  return {
    id: Number(row.id),
    summary: String(row.summary),
    entities: Entities.parse(JSON.parse(String(row.entities))),
    uptoSeq: Number(row.upto_seq),
    origin: String(row.origin),
    at: Number(row.created_at),
  };
}
