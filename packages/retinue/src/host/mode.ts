/** Changing the mode of a session, with its event. It ends a mode that only the current prompt has. */
import type { Session } from "../session/session.ts";
import type { Mode } from "../session/state.ts";

export function setMode({ root }: Session, newMode: Mode): void {
  const { mode, modeNow: previousMode } = root.state;
  if (newMode !== mode || newMode !== previousMode) root.append("session.mode_changed", { previousMode, newMode });
}
