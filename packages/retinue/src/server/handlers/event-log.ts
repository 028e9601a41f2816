/** Reading the events of an open session in pages, and waiting for new ones. */
import type { Params } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import type { LoggedEvent } from "../../session/log.ts";
import { wireEvents } from "../../store/stored-event.ts";
import { addInterest, dropInterest } from "../../tree/interests.ts";
import { type Page, type PageQuery, readPage, tailCursor } from "../event-page.ts";
import { type Handlers, hosted } from "../handler.ts";

const MAX_WAIT_MS = 30_000;

export const eventLogHandlers: Handlers = {
  "session.eventLog.read": async (params, scope) => {
    const target = hosted(params, scope);
    await target.session.log.committed();
    const { waitMs = 0, direction = "forward" } = params;
    const query = { ...params, matches: matcher(target, params) };
    if (waitMs <= 0 || direction === "backward") return await readPage(target.store, target.session.id, query);
    return await nextPage(target, query, scope);
  },
  "session.eventLog.tail": async (params, scope) => {
    const { session, store } = hosted(params, scope);
    await session.log.committed();
    return { cursor: await tailCursor(store, session.id) };
  },
  "session.eventLog.registerInterest": async (params, scope) => {
    const { session, tree } = hosted(params, scope);
    const { eventType } = params;
    const handle = session.world.newId();
    addInterest(scope.client, { handle, sessionId: session.id, eventType });
    tree.asks.redeliver();
    if (eventType === "mcp.oauth_required") await tree.signIns.offer();
    return { handle };
  },
  "session.eventLog.releaseInterest": (params, scope) => {
    const { tree } = hosted(params, scope);
    dropInterest(scope.client, params.handle);
    tree.asks.redeliver();
    return { success: true }; // Also for a handle that is unknown or was released before.
  },
};

type Read = Params<"session.eventLog.read">;

function matcher({ session }: HostedSession, { types = "*", agentScope = "all", agentIds }: Read) {
  const wanted = types === "*" ? undefined : new Set(types);
  const agents = agentIds && new Set(agentIds);
  return ({ type, sessionId }: { type: string; sessionId: string }): boolean => {
    if (wanted && !wanted.has(type)) return false;
    return agents ? agents.has(sessionId) : agentScope === "all" || sessionId === session.id;
  };
}

/** The stored events, or else the first new ones that match; an empty page when none come in time. */
async function nextPage(
  { session, store }: HostedSession,
  query: Read & Required<Pick<PageQuery, "matches">>,
  { signal }: { signal: AbortSignal },
): Promise<Page> {
  const fresh: LoggedEvent[] = [];
  let wake: () => void = () => undefined;
  let timer: NodeJS.Timeout | undefined;
  const isWanted = (event: LoggedEvent) =>
    query.matches(event) && (!event.ephemeral || query.includeEphemeral !== false);
  // Listen before the first read, so that no event is missed between reading and waiting.
  const stop = session.log.listen((events) => {
    fresh.push(...events.filter(isWanted));
    if (fresh.length > 0) wake();
  });
  try {
    const page = await readPage(store, session.id, query);
    if (page.events.length > 0 || page.cursorStatus === "expired") return page;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (fresh.length > 0 || signal.aborted) resolve();
      signal.addEventListener("abort", wake, { once: true });
      timer = setTimeout(wake, Math.min(query.waitMs ?? 0, MAX_WAIT_MS));
    });
    if (fresh.length === 0) return page;
    const stored = await readPage(store, session.id, { ...query, cursor: page.cursor });
    return { ...stored, events: inOrder(stored, fresh) };
  } finally {
    stop();
    clearTimeout(timer);
    signal.removeEventListener("abort", wake);
  }
}

/** Stored events with the ephemeral ones in between, unless there are more than the caller takes. */
function inOrder({ events, hasMore }: Page, fresh: readonly LoggedEvent[]): Page["events"] {
  const beyond = fresh.filter((event) => !event.ephemeral).at(events.length);
  const upTo = beyond === undefined ? fresh : fresh.slice(0, fresh.indexOf(beyond));
  const isWhole = upTo.filter((event) => !event.ephemeral).length === events.length;
  return hasMore || !isWhole ? events : wireEvents(upTo);
}
