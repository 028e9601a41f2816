/**
 * Our own sessions: the transcript is a fold of the event log, written in the same transaction as the events.
 *
 * `foldEvent` is pure: what one event of the wire means for the transcript. `recordTranscript` applies it.
 */
import type { Database } from "../../store/sqlite-door.ts";
import { addCheckpoint } from "../records/checkpoints.ts";
import { linkParent } from "../records/lineage.ts";
import { sql } from "../records/transaction.ts";
import { appendTurns, DEFAULT_AGENT, endSession, lastSeq, type NewTurn, openSession } from "../records/transcripts.ts";

export const OWN_HARNESS = "retinue";

/** An event as the log keeps it. `json` is the envelope; it is parsed only when the type matters here. */
export interface RecordedEvent {
  sessionId: string;
  type: string;
  json: string;
}

export type TranscriptChange =
  | { type: "turn"; turn: NewTurn }
  | { type: "opened"; project?: string }
  | { type: "moved"; project: string }
  | { type: "named"; title: string }
  | { type: "child"; childId: string; parentId?: string; title?: string }
  | { type: "checkpoint"; summary: string }
  | { type: "ended"; reason?: string };

type Data = Readonly<Record<string, unknown>>;
type Fold = (data: Data, envelope: Data) => TranscriptChange | undefined;

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
const object = (value: unknown): Data => (typeof value === "object" && value !== null ? (value as Data) : {});
const said = (role: NewTurn["role"], content: unknown): TranscriptChange | undefined => {
  const words = text(content);
  return words === undefined ? undefined : { type: "turn", turn: { role, text: words } };
};

const FOLDS: Readonly<Record<string, Fold>> = {
  "user.message": (data) => (data.isAutopilotContinuation === true ? undefined : said("user", data.content)),
  "assistant.message": (data) => said("assistant", data.content),
  "system.notification": (data) => said("system", data.content),
  "session.error": (data) => said("system", data.message),
  "tool.execution_start": (data) => ({
    type: "turn",
    turn: {
      role: "assistant",
      tool: text(data.toolName) ?? "unknown",
      callId: text(data.toolCallId),
      text: argumentsText(data.arguments),
    },
  }),
  "tool.execution_complete": (data) => {
    const words = data.success === false ? object(data.error).message : object(data.result).content;
    return { type: "turn", turn: { role: "tool", callId: text(data.toolCallId), text: text(words) ?? "" } };
  },
  "session.start": (data) => ({ type: "opened", project: text(object(data.context).cwd) }),
  "session.context_changed": (data) => ({ type: "moved", project: String(data.cwd) }),
  "session.title_changed": (data) => ({ type: "named", title: String(data.title) }),
  "session.compaction_complete": (data) => {
    const summary = data.success === true ? text(data.summaryContent) : undefined;
    return summary === undefined ? undefined : { type: "checkpoint", summary };
  },
  "subagent.started": (data, envelope) => ({
    type: "child",
    childId: String(envelope.agentId ?? data.toolCallId),
    parentId: text(data.parentId),
    title: text(data.agentDisplayName) ?? text(data.agentName),
  }),
  "subagent.completed": (data) => ({ type: "ended", reason: data.cancelled === true ? "cancelled" : "completed" }),
  "subagent.failed": () => ({ type: "ended", reason: "failed" }),
  "session.shutdown": (data) => ({ type: "ended", reason: text(data.shutdownType) }),
};

export function foldEvent({
  type,
  json,
}: Pick<RecordedEvent, "type" | "json">): { at: number; change: TranscriptChange } | undefined {
  const fold = FOLDS[type];
  if (!fold) return undefined;
  const envelope = object(JSON.parse(json));
  const change = fold(object(envelope.data), envelope);
  const at = Date.parse(String(envelope.timestamp));
  return change && { at: Number.isNaN(at) ? 0 : at, change };
}

/**
 * Writes what the events mean for the transcript. To be called inside the transaction that appends them.
 * `rootId` is the session at the top: children that name no parent are its own.
 */
export function recordTranscript(
  db: Database,
  rootId: string,
  events: readonly RecordedEvent[],
  agentId = DEFAULT_AGENT,
): void {
  for (const event of events) {
    const folded = foldEvent(event);
    if (folded) apply(db, { rootId, agentId, sessionId: event.sessionId, ...folded });
  }
}

interface Application {
  rootId: string;
  sessionId: string;
  agentId: string;
  at: number;
  change: TranscriptChange;
}

function apply(db: Database, { rootId, sessionId, agentId, at, change }: Application): void {
  const own = (sessionKey: string) => ownSession(db, { sessionKey, agentId, at });
  switch (change.type) {
    case "turn":
      appendTurns(db, own(sessionId), [{ ...change.turn, at }], { now: at });
      return;
    case "opened":
    case "moved":
      openSession(db, { sessionKey: sessionId, harness: OWN_HARNESS, agentId, at, project: change.project });
      return;
    case "named":
      sql(db, "UPDATE transcript_sessions SET title = ? WHERE id = ?").run(change.title, own(sessionId).id);
      return;
    case "child": {
      const project = projectOf(db, own(rootId).id);
      const child = openSession(db, {
        sessionKey: change.childId,
        harness: OWN_HARNESS,
        agentId,
        at,
        project,
        title: change.title,
      });
      linkParent(db, { childId: child.id, parentId: own(change.parentId ?? rootId).id, how: "subagent.started" });
      return;
    }
    case "checkpoint": {
      const session = own(sessionId);
      addCheckpoint(db, {
        sessionId: session.id,
        summary: change.summary,
        uptoSeq: lastSeq(db, session.id),
        origin: "compaction",
        at,
      });
      return;
    }
    case "ended":
      endSession(db, own(sessionId).id, { at, reason: change.reason });
      return;
    default:
      change satisfies never;
  }
}

/** By key alone: one look-up on the way of every event. */
function ownSession(
  db: Database,
  { sessionKey, agentId, at }: { sessionKey: string; agentId: string; at: number },
): { id: number } {
  const found = sql(db, "SELECT id FROM transcript_sessions WHERE agent_id = ? AND session_key = ?").get(
    agentId,
    sessionKey,
  );
  return found ? { id: Number(found.id) } : openSession(db, { sessionKey, harness: OWN_HARNESS, agentId, at });
}

function projectOf(db: Database, id: number): string | undefined {
  return text(sql(db, "SELECT project FROM transcript_sessions WHERE id = ?").get(id)?.project);
}

function argumentsText(args: unknown): string {
  return typeof args === "string" ? args : JSON.stringify(args ?? {});
}
