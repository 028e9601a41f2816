/**
 * A copy of a session up to an event, as a session of its own.
 *
 * The copy has the events and the folder. Tasks stay with the original: what sub-agents did is told by the events, and none of them can
 * be sent on from the copy.
 */
import { randomUUID } from "node:crypto";
import { cpSync, existsSync } from "node:fs";
import { basename } from "node:path";
import { AppError } from "@retinue/protocol";
import { lastCheckpoint } from "../recovery/replay.ts";
import { createFolder, cutCheckpoints, sessionFolder } from "../session/folder.ts";
import type { NewEvent, SessionRecord, StoredEvent } from "../store/store.ts";
import type { Sessions } from "./sessions.ts";

export interface ForkRequest {
  sessionId: string;
  /** The first event that the copy does not have. */
  toEventId?: string;
  name?: string;
}

export function forkSession(
  sessions: Sessions,
  { sessionId, toEventId, name: wanted }: ForkRequest,
): { sessionId: string; name?: string } {
  sessions.find(sessionId)?.session.log.flush();
  const { store, world, runtime } = sessions;
  const original = store.session(sessionId);
  if (!original || original.parentId) throw new AppError("session_not_found", `Session not found: ${sessionId}`);
  const events = eventsBefore(store.events(sessionId), toEventId);
  const id = randomUUID();
  const now = world.now();
  const name = wanted ?? (original.name === undefined ? undefined : `${original.name} (fork)`);
  const record: SessionRecord = {
    ...original,
    id,
    rootId: id,
    name,
    summary: name,
    userNamed: wanted !== undefined,
    createdAt: now,
    updatedAt: now,
  };
  store.createSession(record);
  store.commit({ rootId: id, events: events.map((event) => copyOf(event, { from: sessionId, to: id })) });
  copyFolder(sessionFolder(runtime.home, sessionId), sessionFolder(runtime.home, id), events);
  const time = new Date(now).toISOString();
  sessions.announce({
    type: "session.created",
    sessionId: id,
    metadata: { startTime: time, modifiedTime: time, ...(name ? { summary: name } : {}) },
  });
  return { sessionId: id, ...(name ? { name } : {}) };
}

function eventsBefore(events: readonly StoredEvent[], toEventId: string | undefined): readonly StoredEvent[] {
  if (toEventId === undefined) return events;
  const at = events.findIndex(({ json }) => JSON.parse(json).id === toEventId);
  if (at < 0) throw new AppError("invalid_params", `Event not found: ${toEventId}`);
  if (at === 0) throw new AppError("invalid_params", "A fork needs at least the first event");
  return events.slice(0, at);
}

/** Events keep their ids, so that a place in the original is found in the copy; only the session has another name. */
function copyOf({ sessionId, type, json }: StoredEvent, { from, to }: { from: string; to: string }): NewEvent {
  const event = JSON.parse(json);
  const isStart = type === "session.start" && sessionId === from;
  const copied = isStart ? { ...event, data: { ...event.data, sessionId: to } } : event;
  return {
    sessionId: sessionId === from ? to : sessionId,
    type,
    id: event.id,
    json: isStart ? JSON.stringify(copied) : json,
  };
}

function copyFolder(from: string, to: string, events: readonly StoredEvent[]): void {
  createFolder(to);
  if (existsSync(from)) cpSync(from, to, { recursive: true, filter: (path) => basename(path) !== "events.jsonl" });
  cutCheckpoints(to, lastCheckpoint(events));
}
