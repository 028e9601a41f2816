/** Reading the events of an open session in pages, and waiting for new ones. */
import type { Params, SessionEvent } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import { addInterest, dropInterest } from "../../host/interests.ts";
import { type Page, readPage, tailCursor } from "../event-page.ts";
import { type Handlers, hosted } from "../handler.ts";

const MAX_WAIT_MS = 30_000;

export const eventLogHandlers: Handlers = {
  "session.eventLog.read": async (params, scope) => {
    const target = hosted(params, scope);
    target.session.log.flush();
    const matches = matcher(target, params);
    const page = readPage(target.store, target.session.id, { ...params, matches });
    const { waitMs = 0, direction = "forward" } = params;
    if (page.events.length > 0 || waitMs <= 0 || direction === "backward" || page.cursorStatus === "expired")
      return page;
    return await nextPage(target, params, { page, signal: scope.signal });
  },
  "session.eventLog.tail": (params, scope) => {
    const { session, store } = hosted(params, scope);
    session.log.flush();
    return { cursor: tailCursor(store, session.id) };
  },
  "session.eventLog.registerInterest": (params, scope) => ({
    handle: addInterest(hosted(params, scope), params.eventType),
  }),
  "session.eventLog.releaseInterest": (params, scope) => ({
    success: dropInterest(hosted(params, scope), params.handle),
  }),
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

/** The first events that come and match; the page as it was when none come in time. */
async function nextPage(
  target: HostedSession,
  params: Read,
  { page, signal }: { page: Page; signal: AbortSignal },
): Promise<Page> {
  const matches = matcher(target, params);
  return await new Promise<Page>((resolve) => {
    const settle = (result: Page) => {
      stop();
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      resolve(result);
    };
    const giveUp = () => settle(page);
    const timer = setTimeout(giveUp, Math.min(params.waitMs ?? 0, MAX_WAIT_MS));
    signal.addEventListener("abort", giveUp, { once: true });
    const stop = target.session.log.listen((told) => {
      const found = told.filter((event) => matches(event) && (!event.ephemeral || params.includeEphemeral !== false));
      if (found.length === 0) return;
      const stored = readPage(target.store, target.session.id, { ...params, cursor: page.cursor, matches });
      // In their order with the passing ones, unless there are more than the caller takes.
      const events = stored.hasMore ? stored.events : found.map(({ json }) => JSON.parse(json) as SessionEvent);
      settle({ ...stored, events });
    });
  });
}
