/** Names and paths of a project in messages for a person. */
import { visible } from "@retinue/protocol";

/** As it can be pasted into a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${visible(text).replaceAll("'", "'\\''")}'`;
}

/** For a list of names, where nothing is decided by what is cut. */
export function brief(text: string, most = 80): string {
  const shown = visible(text.slice(0, most + 1)); // It only grows, so what is behind that is cut in any case.
  return shown.length <= most ? shown : `${shown.slice(0, most - 1)}…`;
}
