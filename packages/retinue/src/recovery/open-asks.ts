/**
 * The asks that a log leaves open: requested, and neither settled nor ended with their call.
 *
 * Which events request and settle an ask is in the table of asks/kinds.ts; only kinds that the log keeps can be found here.
 */
import { type AnyEvent, lazy, parseEvent } from "@retinue/protocol";
import * as z from "zod";
import { ASK_KINDS, type Ask, type AskKind, isKept, KINDS } from "../asks/kinds.ts";
import type { KeptAsk } from "../session/inbox-entry.ts";
import type { StoredEvent } from "../store/store.ts";

const KEPT = ASK_KINDS.filter(isKept);
const KIND_BY_REQUEST: ReadonlyMap<string, AskKind> = new Map(KEPT.map((kind) => [KINDS[kind].requested, kind]));
const COMPLETIONS: ReadonlySet<string> = new Set(KEPT.map((kind) => KINDS[kind].completed));

const OfAsk = lazy(() => z.object({ requestId: z.string() }));
const OfCall = lazy(() => z.object({ toolCallId: z.string() }));

export function openAsks(events: readonly StoredEvent[], hasAnswer: (requestId: string) => boolean): Ask[] {
  const open = new Map<string, Ask>();
  for (const stored of events) {
    const { type, sessionId } = stored;
    const kind = KIND_BY_REQUEST.get(type);
    if (kind) {
      const ask = askOf(kind, stored);
      if (ask) open.set(ask.requestId, ask);
    } else if (open.size > 0 && COMPLETIONS.has(type)) {
      // A kept answer means that the call has no result yet.
      const { requestId = "" } = OfAsk().safeParse(read(stored)?.data).data ?? {};
      if (!hasAnswer(requestId)) open.delete(requestId);
    } else if (open.size > 0 && type === "tool.execution_complete") {
      const { toolCallId } = OfCall().safeParse(read(stored)?.data).data ?? {};
      for (const [requestId, ask] of open)
        if (ask.sessionId === sessionId && ask.callId === toolCallId) open.delete(requestId);
    }
  }
  return [...open.values()];
}

/** Asks that the store holds apart from the log, and whose calls will ask them again. */
export function keptAsks(stored: readonly KeptAsk[]): Ask[] {
  return stored.flatMap(({ requestId, askKind, sessionId, callId, payload: shown }) => {
    const kind = ASK_KINDS.find((each) => each === askKind);
    const payload = kind && KINDS[kind].payload().safeParse(shown);
    return kind && payload?.success
      ? [{ requestId, kind, sessionId, callId, payload: payload.data, comesAgain: true }]
      : [];
  });
}

function askOf<K extends AskKind>(kind: K, stored: StoredEvent): Ask<K> | undefined {
  const data = read(stored)?.data;
  const id = OfAsk().safeParse(data);
  const shown = KINDS[kind].payload().safeParse(data);
  if (!id.success || !shown.success) return undefined;
  const { requestId } = id.data;
  const payload = shown.data;
  return { requestId, kind, sessionId: stored.sessionId, callId: KINDS[kind].callOf(payload), payload };
}

/** Undefined when the event is damaged. Then the call asks again when it is continued. */
function read({ json }: StoredEvent): AnyEvent | undefined {
  try {
    return parseEvent(JSON.parse(json));
  } catch {
    return undefined;
  }
}
