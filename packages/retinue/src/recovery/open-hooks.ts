/** The hooks that a log leaves open: asked, and without an answer, because the process that asked them has ended. */
import type { EventData } from "@retinue/protocol";
import type { Log } from "../session/log.ts";
import type { StoredEvent } from "../store/store.ts";
import { eventOf } from "../store/stored-event.ts";

export interface OpenHook {
  /** In which it was asked. */
  sessionId: string;
  start: EventData<"hook.start">;
}

export function openHooks(events: readonly StoredEvent[]): OpenHook[] {
  const open = new Map<string, OpenHook>();
  for (const event of events) {
    const start = read(event, "hook.start");
    if (start) open.set(start.hookInvocationId, { sessionId: event.sessionId, start });
    else open.delete(read(event, "hook.end")?.hookInvocationId ?? "");
  }
  return [...open.values()];
}

/** They are not asked again under their old id: a call that goes on asks its hooks anew. */
export function endHooks(log: Pick<Log, "append">, hooks: readonly OpenHook[]): void {
  for (const { sessionId, start } of hooks) {
    const { input: _, ...frame } = start;
    log.append("hook.end", { ...frame, success: false, error: { message: "interrupted" } }, { sessionId });
  }
}

/** Undefined for another event, and for one that is damaged. */
function read<T extends "hook.start" | "hook.end">(event: StoredEvent, type: T): EventData<T> | undefined {
  try {
    return eventOf(event, type)?.data;
  } catch {
    return undefined;
  }
}
