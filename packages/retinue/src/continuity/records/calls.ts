/** Calls that are under way in other harnesses: who is about to start a child. */
import type { OpenCall, SessionName, TranscriptSession } from "../../store/transcript-records.ts";
import type { TranscriptStore } from "../../store/transcripts.ts";
import type { Parentage } from "./lineage.ts";

const SPAWN_TOOLS = /^(?:agent|task|sessions_spawn|.*spawn_agent)$/i;
export const isSpawnTool = (tool: string) => SPAWN_TOOLS.test(tool);

/** After this time a call without an end is forgotten. */
const MAX_AGE = 10 * 60_000;

/**
 * The session below `root` that has a spawning call open, and that call. Without one it is the root itself, which the harness named.
 * When several sessions have one open, it is unknown which of them it was.
 */
export async function spawningSession(
  { calls }: TranscriptStore,
  { root, child, now }: { root: TranscriptSession; child: SessionName; now: number },
): Promise<{ parentage: Parentage; call?: OpenCall }> {
  const unclaimed = await calls.unclaimed({ root, since: now - MAX_AGE });
  const isChild = ({ agentId, sessionKey }: SessionName) =>
    agentId === child.agentId && sessionKey === child.sessionKey;
  const open = unclaimed.filter(({ tool, session }) => isSpawnTool(tool) && !isChild(session));
  const [first] = open;
  if (!first) return { parentage: { parent: root, how: "named by the harness" } };
  if (open.some(({ session }) => session.id !== first.session.id))
    return { parentage: { reason: "several agents of this session were starting one at once" } };
  return { parentage: { parent: first.session, how: "its call was open" }, call: first };
}
