/**
 * A copy of a session up to an event, as a session of its own.
 *
 * The copy has the events and the folder. Tasks stay with the original: the events show what sub-agents did, and the copy cannot send
 * them further messages. What had started by then and not ended has an end in the copy, because nobody there works on it.
 */
import { randomUUID } from "node:crypto";
import { cpSync, existsSync } from "node:fs";
import { basename } from "node:path";
import { AppError, type EventOf } from "@retinue/protocol";
import { leftOpen } from "../recovery/left-open.ts";
import { openHooks } from "../recovery/open-hooks.ts";
import { lastCheckpoint } from "../recovery/replay.ts";
import { createFolder, cutCheckpoints, sessionFolder } from "../session/folder.ts";
import type { NewEvent, SessionRecord, StoredEvent } from "../store/store.ts";
import { envelopeOf, eventOf } from "../store/stored-event.ts";
import { ENVIRONMENT } from "./environment.ts";
import { releaseLease, withLease } from "./session-lease.ts";
import { readLimits, SESSION_LIMITS } from "./session-limits.ts";
import type { Sessions } from "./sessions.ts";
import { endsOf } from "./settle-left-open.ts";

export interface ForkRequest {
  sessionId: string;
  /** The first event that the copy does not have. */
  toEventId?: string;
  name?: string;
}

export async function forkSession(
  sessions: Sessions,
  { sessionId, toEventId, name: wanted }: ForkRequest,
): Promise<{ sessionId: string; name?: string }> {
  await sessions.find(sessionId)?.session.log.committed();
  const {
    store,
    world,
    shared: { runtime },
  } = sessions;
  const original = await store.sessions.get(sessionId);
  if (!original || original.parentId) throw new AppError("session_not_found", `Session not found: ${sessionId}`);
  const events = eventsBefore(await store.events.read(sessionId), toEventId);
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
  const copies = events.map((event) => copyOf(event, { from: sessionId, to: id }));
  const ofFork = <Left extends { sessionId: string }>(each: Left): Left =>
    each.sessionId === sessionId ? { ...each, sessionId: id } : each;
  const open = leftOpen(events, () => false).map(ofFork);
  const hooks = openHooks(events).map(ofFork);
  const limits = await readLimits(store, sessionId);
  const environment = await ENVIRONMENT.get(store.documents, sessionId);
  await withLease(store, id, async (lease) => {
    const ends = await endsOf(open, { lease, lastId: copies.at(-1)?.id ?? null, world, hooks });
    await store.commit({
      lease,
      at: now,
      created: [record],
      events: [...copies, ...ends],
      documents: [SESSION_LIMITS.put(id, limits), ...(environment ? [ENVIRONMENT.put(id, environment)] : [])],
    });
    await releaseLease(store, lease);
  });
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
  const at = events.findIndex((event) => envelopeOf(event).id === toEventId);
  if (at < 0) throw new AppError("invalid_params", `Event not found: ${toEventId}`);
  if (at === 0) throw new AppError("invalid_params", "A fork needs at least the first event");
  return events.slice(0, at);
}

/** Events keep their ids, so an event of the original can be found in the copy; only the session id changes. */
function copyOf(event: StoredEvent, { from, to }: { from: string; to: string }): NewEvent {
  const { sessionId, type } = event;
  const { id, timestamp, data } = envelopeOf(event);
  const copy = { sessionId: sessionId === from ? to : sessionId, type, id, timestamp, data, json: event.json };
  const said = sessionId === from ? ofStart(event, to) : ofBoundary(event, { from, to });
  const own = said ? { ...copy, data: said.data, json: JSON.stringify(said) } : copy;
  return sessionId === from ? own : { ...own, agentId: sessionId };
}

/** Two events name the session that they are copied from. */
function ofStart(event: StoredEvent, to: string): EventOf<"session.start"> | undefined {
  const start = eventOf(event, "session.start");
  return start && { ...start, data: { ...start.data, sessionId: to } };
}

function ofBoundary(
  event: StoredEvent,
  { from, to }: { from: string; to: string },
): EventOf<"subagent_session_boundary"> | undefined {
  const boundary = eventOf(event, "subagent_session_boundary");
  return boundary?.data.parentId === from ? { ...boundary, data: { ...boundary.data, parentId: to } } : undefined;
}

function copyFolder(from: string, to: string, events: readonly StoredEvent[]): void {
  createFolder(to);
  if (existsSync(from)) cpSync(from, to, { recursive: true, filter: (path) => basename(path) !== "events.jsonl" });
  cutCheckpoints(to, lastCheckpoint(events));
}
