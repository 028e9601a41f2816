/** Sessions by the beginning of their id, as people type them. */
import { AppError } from "@retinue/protocol";
import type { SessionMetadata } from "@retinue/sdk";

export function sessionByPrefix(sessions: readonly SessionMetadata[], prefix: string): SessionMetadata {
  const exact = sessions.find(({ sessionId }) => sessionId === prefix);
  if (exact) return exact;
  const found = prefix === "" ? [] : sessions.filter(({ sessionId }) => sessionId.startsWith(prefix));
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only)
    throw new AppError(
      "session_not_found",
      `There is no session ${prefix}. "retinue sessions list" shows what there is.`,
    );
  const ids = found.slice(0, 5).map(({ sessionId }) => sessionId.slice(0, prefix.length + 6));
  throw new AppError(
    "session_not_found",
    `${found.length} sessions begin with ${prefix}: ${ids.join(", ")}${found.length > 5 ? ", …" : ""}. Give more of the id.`,
  );
}
