/** Sessions by the beginning of their id, as people type them. */
import { AppError } from "@retinue/protocol";
import type { SessionMetadata } from "@retinue/sdk";

export function sessionByPrefix(sessions: readonly SessionMetadata[], prefix: string): SessionMetadata {
  return byPrefix(sessions, { prefix, idOf: ({ sessionId }) => sessionId });
}

export function byPrefix<Session>(
  sessions: readonly Session[],
  { prefix, idOf }: { prefix: string; idOf(session: Session): string },
): Session {
  const exact = sessions.find((session) => idOf(session) === prefix);
  if (exact) return exact;
  const found = prefix === "" ? [] : sessions.filter((session) => idOf(session).startsWith(prefix));
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only)
    throw new AppError(
      "session_not_found",
      `There is no session ${prefix}. "retinue sessions list" shows what there is.`,
    );
  const ids = found.slice(0, 5).map((session) => idOf(session).slice(0, prefix.length + 6));
  throw new AppError(
    "session_not_found",
    `${found.length} sessions begin with ${prefix}: ${ids.join(", ")}${found.length > 5 ? ", …" : ""}. Give more of the id.`,
  );
}
