/** Warns the clients of a session of stored data that cannot be read and was left out. */
import type { Session } from "../session/session.ts";

export function warnUnreadable(root: Session, problems: readonly string[]): void {
  for (const message of problems) root.announce("session.warning", { warningType: "storage", message });
}
