/** What is stored for a session and cannot be read is left out, and its clients are told which it was. */
import type { Session } from "../session/session.ts";

export function warnUnreadable(root: Session, problems: readonly string[]): void {
  for (const message of problems) root.announce("session.warning", { warningType: "storage", message });
}
