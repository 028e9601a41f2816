/**
 * What a client may call about a session that is open here and that it has not joined.
 *
 * The one place that decides this, for every method that names a session. A client joins by creating or resuming a session, which the
 * others see and which declares what it can be asked; whoever has not joined may look the session up and delete it, and nothing else.
 */
import { AppError, type ServerMethodName } from "@retinue/protocol";
import type { Sessions } from "../host/sessions.ts";
import type { Client } from "../tree/client.ts";

/** A method that is not listed needs a client that has joined, so that a new one is closed until somebody decides. */
const OPEN_TO_ALL: ReadonlySet<string> = new Set<ServerMethodName>([
  // Coming and going.
  "session.create",
  "session.resume",
  "session.detach",
  "session.destroy",
  // Looking it up, and deleting it.
  "session.getMetadata",
  "session.setForeground",
  "session.delete",
  "sessions.getMetadata",
  "sessions.delete",
  // What is stored of it, open or not, and a copy of that under an id of its own.
  "sessions.getEventFilePath",
  "sessions.readPersistedEvents",
  "sessions.save",
  "sessions.fork",
]);

/** Throws what the client would read of a session that is not open: to a client that has not joined, it is not. */
export function checkMembership(
  method: string,
  params: unknown,
  { client, sessions }: { client: Client; sessions: Sessions },
): void {
  if (OPEN_TO_ALL.has(method)) return;
  if (typeof params !== "object" || params === null || !("sessionId" in params)) return;
  if (typeof params.sessionId !== "string") return; // Refused when the parameters are parsed.
  const hosted = sessions.find(params.sessionId);
  if (!hosted || hosted.tree.participants.of(client)) return;
  throw new AppError(
    "session_not_found",
    `Session not found for sessionId: ${params.sessionId} (it is open, but this client has not joined it: call session.resume first)`,
  );
}
