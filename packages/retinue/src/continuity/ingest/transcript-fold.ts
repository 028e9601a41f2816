/**
 * Our own sessions: the transcript is a fold of the event log, stored in the same commit as the events.
 *
 * Pure: what recorded events mean for the transcript. The log puts the changes into its batch, and the store writes them.
 */
import type { EventData, EventType } from "@retinue/protocol";
import {
  DEFAULT_AGENT,
  type NewTurn,
  OWN_HARNESS,
  type SessionName,
  type TranscriptChange,
} from "../../store/transcript-records.ts";

/** An event as the log has it. */
export interface RecordedEvent {
  readonly type: EventType;
  readonly data: object;
  readonly timestamp: string;
  /** The session whose event it is. */
  readonly sessionId: string;
  /** Absent for the root session. */
  readonly agentId?: string;
}

/** Where an event belongs: its session, and the root session, which is the parent of children that name none. */
interface Place {
  session: SessionName;
  root: SessionName;
  /** The sub-agent that the event names. */
  agentId: string | undefined;
  at: number;
}

type Fold<T extends EventType> = (data: EventData<T>, place: Place) => TranscriptChange[];

const own = (sessionKey: string): SessionName => ({ agentId: DEFAULT_AGENT, sessionKey, harness: OWN_HARNESS });
const turn = ({ session, at }: Place, said: NewTurn): TranscriptChange[] => [
  { type: "turns", session, at, turns: [said] },
];
const spoken = (place: Place, { role, text }: { role: NewTurn["role"]; text: string | undefined }) =>
  text ? turn(place, { role, text }) : [];

const FOLDS: { readonly [T in EventType]?: Fold<T> } = {
  "user.message": ({ content, isAutopilotContinuation }, place) =>
    isAutopilotContinuation ? [] : spoken(place, { role: "user", text: content }),
  "assistant.message": ({ content }, place) => spoken(place, { role: "assistant", text: content }),
  "system.notification": ({ content }, place) => spoken(place, { role: "system", text: content }),
  "session.error": ({ message }, place) => spoken(place, { role: "system", text: message }),
  "tool.execution_start": ({ toolName, toolCallId, arguments: args }, place) =>
    turn(place, { role: "assistant", tool: toolName, callId: toolCallId, text: argumentsText(args) }),
  "tool.execution_complete": ({ success, error, result, toolCallId }, place) =>
    turn(place, { role: "tool", callId: toolCallId, text: (success ? result?.content : error?.message) ?? "" }),
  "session.start": ({ context }, { session, at }) => [{ type: "opened", session, at, project: context?.cwd }],
  "session.context_changed": ({ cwd }, { session, at }) => [{ type: "opened", session, at, project: cwd }],
  "session.title_changed": ({ title }, { session, at }) => [{ type: "titled", session, at, title }],
  "session.compaction_complete": ({ success, summaryContent }, { session, at }) =>
    success && summaryContent
      ? [{ type: "checkpoint", session, at, summary: summaryContent, origin: "compaction" }]
      : [],
  "subagent.started": ({ agentDisplayName, agentName, parentId, toolCallId }, { root, agentId, at }) => {
    const session = own(agentId ?? toolCallId);
    const parent = parentId ? own(parentId) : root;
    return [
      { type: "opened", session, at, projectOf: root, title: agentDisplayName || agentName },
      { type: "parent", session, at, parent, how: "subagent.started" },
    ];
  },
  "subagent.completed": ({ cancelled }, { session, at }) => [
    { type: "ended", session, at, reason: cancelled ? "cancelled" : "completed" },
  ],
  "subagent.failed": (_, { session, at }) => [{ type: "ended", session, at, reason: "failed" }],
  "session.shutdown": ({ shutdownType }, { session, at }) => [{ type: "ended", session, at, reason: shutdownType }],
};

/** What recorded events of the session tree below `rootId` mean for the transcript. */
export function foldTranscript(rootId: string, events: readonly RecordedEvent[]): TranscriptChange[] {
  const root = own(rootId);
  return events.flatMap(({ type, data, timestamp, sessionId, agentId }) => {
    // The log gives each event the data of its type.
    const fold = FOLDS[type] as ((data: object, place: Place) => TranscriptChange[]) | undefined;
    const at = Date.parse(timestamp);
    return fold?.(data, { session: own(sessionId), root, agentId, at: Number.isNaN(at) ? 0 : at }) ?? [];
  });
}

function argumentsText(args: unknown): string {
  return typeof args === "string" ? args : JSON.stringify(args ?? {});
}
