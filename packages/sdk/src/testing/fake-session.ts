/** The log of one session of the fake runtime: stored events, and pages of them. */
import type { EventData, EventType, SessionEvent } from "@retinue/protocol";
import { isPersisted } from "@retinue/protocol";

export interface EmitOptions {
  /** The sub-agent whose event it is. */
  agentId?: string;
}

export class FakeSession {
  readonly sessionId: string;
  readonly stored: SessionEvent[] = [];

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  /** Makes an event and stores it where a runtime would. */
  event<Type extends EventType>(type: Type, data: EventData<Type>, { agentId }: EmitOptions = {}): SessionEvent {
    const isStored = isPersisted(type);
    const event = {
      type,
      data,
      id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      parentId: this.stored.at(-1)?.id ?? null,
      ...(isStored ? {} : { ephemeral: true }),
      ...(agentId === undefined ? {} : { agentId }),
    } as SessionEvent;
    if (isStored) this.stored.push(event);
    return event;
  }

  /** One page, as `session.eventLog.read` answers it; a cursor is a position. */
  page({ cursor, max = 100, direction }: { cursor?: unknown; max?: unknown; direction?: unknown }) {
    const size = Number(max);
    if (direction === "backward") {
      const end = cursor === undefined ? this.stored.length : Number(cursor);
      const start = Math.max(0, end - size);
      return { events: this.stored.slice(start, end), cursor: String(start), hasMore: start > 0, cursorStatus: "ok" };
    }
    const start = Number(cursor ?? 0);
    const end = Math.min(this.stored.length, start + size);
    const hasMore = end < this.stored.length;
    return { events: this.stored.slice(start, end), cursor: String(end), hasMore, cursorStatus: "ok" };
  }
}
