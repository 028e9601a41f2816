/**
 * When the store refuses, the clients are told once what happened and what to do. Work waits where it needs the store, what is unwritten
 * stays in memory, and the log tries again (session/outage.ts).
 *
 * When the lease is lost there is no next try: the session closes in this process, and clients have to resume it.
 */
import { type AppError, messageOf } from "@retinue/protocol";
import { passingEvent } from "../session/passing-event.ts";
import type { Session } from "../session/session.ts";
import type { TreeParts } from "../tree/parts.ts";

export interface FailedSession {
  session: Session;
  tree: Pick<TreeParts, "participants">;
  close(options: { isLost: boolean; type: "error" }): Promise<void>;
}

const WHAT_TO_DO =
  "Nothing that was acknowledged is lost. The session waits and goes on by itself when the store can be written again: make room on " +
  "the disk, give access to the home folder, or end the program that holds the database. To stop the work instead, abort it.";

export function onStoreFailure(hosted: FailedSession, error: AppError): void {
  if (error.code === "store_unavailable") {
    sendStoreFailure(hosted, { message: `${error.message}. ${WHAT_TO_DO}`, errorCode: error.code });
    return;
  }
  sendStoreFailure(hosted, { message: error.message, errorCode: error.code });
  if (error.code === "lease_lost")
    hosted
      .close({ isLost: true, type: "error" })
      .catch((failed: unknown) => sendStoreFailure(hosted, { message: messageOf(failed) }));
}

/** Past the log, which cannot be written. The code tells whoever waits for the session whether it goes on: only with `store_unavailable` it does. */
export function sendStoreFailure(
  hosted: Pick<FailedSession, "session" | "tree">,
  { message, errorCode }: { message: string; errorCode?: string },
): void {
  send(hosted, "session.error", { errorType: "storage", message, errorCode });
}

export function sendRecovery(hosted: Pick<FailedSession, "session" | "tree">): void {
  send(hosted, "session.info", {
    infoType: "storage",
    message: "The store can be written again; the session goes on.",
  });
}

function send(
  { session, tree }: Pick<FailedSession, "session" | "tree">,
  type: "session.error" | "session.info",
  data: { message: string; errorType?: string; errorCode?: string; infoType?: string },
): void {
  tree.participants.send([passingEvent(session, type, data)]);
}
