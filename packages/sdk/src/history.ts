/** What a runtime has stored of a session, read in pages, and whether the session has something to do. */
import type { SessionEvent } from "@retinue/protocol";
import { isUnknownMethod } from "./handshake.ts";
import type { Call } from "./rpc.ts";

/** One answer must fit into one frame, however long the log is. */
const PAGE = 1_000;

export interface History {
  /** All stored events, those of sub-agents included. */
  events: SessionEvent[];
  isActive: boolean;
}

/** `isBusy` counts where a runtime cannot say whether it has something to do. */
export async function readHistory(call: Call, sessionId: string, isBusy: () => boolean): Promise<History> {
  const events = await readAll(call, sessionId);
  return { events, isActive: (await hasActiveWork(call, sessionId)) ?? isBusy() };
}

/** Undefined: the runtime cannot say. */
export async function hasActiveWork(call: Call, sessionId: string): Promise<boolean | undefined> {
  try {
    return (await call("session.metadata.activity", { sessionId })).hasActiveWork;
  } catch (error) {
    if (isUnknownMethod(error)) return undefined;
    throw error;
  }
}

async function readAll(call: Call, sessionId: string): Promise<SessionEvent[]> {
  try {
    return await readPages(call, sessionId);
  } catch (error) {
    if (!isUnknownMethod(error)) throw error;
    return (await call("session.getMessages", { sessionId })).events;
  }
}

async function readPages(call: Call, sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  let cursor: string | undefined;
  for (;;) {
    const what = { max: PAGE, agentScope: "all", includeEphemeral: false } as const;
    const page = await call("session.eventLog.read", { sessionId, cursor, ...what });
    for (const event of page.events) if (!event.ephemeral) events.push(event);
    if (!page.hasMore || page.events.length === 0) return events;
    cursor = page.cursor;
  }
}
