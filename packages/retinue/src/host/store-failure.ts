/** The store refused to write: the run ends, the clients are told, and what is not written stays in memory for the next try. */
import type { AppError } from "@retinue/protocol";
import { Stop } from "../session/stop.ts";
import type { HostedSession } from "./hosted-session.ts";

export function tellStoreFailure({ session, runner, tree }: HostedSession, { message }: AppError): void {
  const type = "session.error";
  const event = {
    type,
    data: { errorType: "storage", message },
    id: session.world.newId(),
    timestamp: new Date(session.world.now()).toISOString(),
    parentId: null,
    ephemeral: true as const,
  } as const;
  tree.participants.tell([{ ...event, sessionId: session.id, json: JSON.stringify(event) }]);
  if (runner.isRunning) void runner.stop(new Stop("abort", "store unavailable"));
}
