/** Events that clients are sent past the log: they are recorded nowhere, and no listener is notified. */
import type { EventType } from "@retinue/protocol";
import { withoutKnownValues } from "../secrets/known-values.ts";
import type { LoggedEvent } from "./log.ts";
import type { Session } from "./session.ts";

export function passingEvent(
  { id: sessionId, world }: Pick<Session, "id" | "world">,
  type: EventType,
  data: object,
): LoggedEvent {
  const event = {
    type,
    data: withoutKnownValues(data),
    id: world.newId(),
    timestamp: new Date(world.now()).toISOString(),
    parentId: null,
    ephemeral: true as const,
  };
  return { ...event, sessionId, json: JSON.stringify(event) };
}
