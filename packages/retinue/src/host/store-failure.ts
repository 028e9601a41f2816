/**
 * When the store refuses a commit, the run ends, the clients get an error, and the unwritten events stay in memory for the next try.
 * When the lease is lost there is no next try: the session closes in this process, and clients have to resume it.
 */
import type { AppError } from "@retinue/protocol";
import type { Runner } from "../loop/runner.ts";
import type { Session } from "../session/session.ts";
import { Stop } from "../session/stop.ts";
import type { TreeParts } from "../tree/parts.ts";

export interface FailedSession {
  session: Session;
  runner: Runner;
  tree: Pick<TreeParts, "participants">;
  close(options: { isLost: boolean; type: "error" }): Promise<void>;
}

export function onStoreFailure(hosted: FailedSession, error: AppError): void {
  const { runner } = hosted;
  sendStoreFailure(hosted, error);
  if (error.code === "lease_lost") void hosted.close({ isLost: true, type: "error" });
  else if (runner.isRunning) void runner.stop(new Stop("abort", "store unavailable"));
}

export function sendStoreFailure(
  { session, tree }: Pick<FailedSession, "session" | "tree">,
  { message }: AppError,
): void {
  const type = "session.error";
  const event = {
    type,
    data: { errorType: "storage", message },
    id: session.world.newId(),
    timestamp: new Date(session.world.now()).toISOString(),
    parentId: null,
    ephemeral: true as const,
  } as const;
  tree.participants.send([{ ...event, sessionId: session.id, json: JSON.stringify(event) }]);
}
