/** Changing the mode of a session, with its event. */
import type { Session } from "../session/session.ts";
import type { Mode } from "../session/state.ts";

export function setMode({ root }: Session, newMode: Mode): void {
  const previousMode = root.state.mode;
  if (newMode !== previousMode) root.append("session.mode_changed", { previousMode, newMode });
}
