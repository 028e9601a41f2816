/** Who said a turn, as a line of a transcript begins. The view `session_transcripts` writes the same. */
import type { Turn } from "../../store/transcript-records.ts";

export function speaker({ role, tool }: Pick<Turn, "role" | "tool">): string {
  if (role === "assistant" && tool) return `Call ${tool}`;
  return role === "tool" ? "Result" : `${role.charAt(0).toUpperCase()}${role.slice(1)}`;
}
