/**
 * Who started whom, as recorded facts.
 *
 * A link is made from a signal that names the parent. Where a harness names none, the only running session of the project may be
 * taken; when there are several, the reason is kept instead of a guess.
 */

import { redact } from "../../secrets/redact.ts";
import type { SessionName, TranscriptSession } from "../../store/transcript-records.ts";
import type { TranscriptStore } from "../../store/transcripts.ts";

export type Parentage = { parent: TranscriptSession; how: string } | { parent?: undefined; reason: string };

/** The only running session that could be the parent: same harness, project and agent. */
export async function onlyCandidate(
  { sessions }: TranscriptStore,
  child: SessionName & { project?: string },
): Promise<Parentage> {
  const { agentId, harness, project, sessionKey } = child;
  // Three, because one of them may be the child itself.
  const running = await sessions.running({ agentId, harness, project, limit: 3 });
  const [parent, rival] = running.filter((each) => each.sessionKey !== sessionKey);
  if (!parent) return { reason: "no running session in this project" };
  if (rival) return { reason: "several sessions run in this project; the harness names none" };
  return { parent, how: "the only running session in this project" };
}

export interface LineageNode {
  sessionKey: string;
  harness: string;
  title?: string;
  lineage?: string;
  endedAt?: number;
  children: LineageNode[];
}

const MAX_DEPTH = 64;

/** `sessions` are a whole tree with its root first. When the root may not be seen, the tree begins at `session`. */
export function lineageTree(
  sessions: readonly TranscriptSession[],
  { session, isVisible }: { session: TranscriptSession; isVisible: (each: TranscriptSession) => boolean },
): LineageNode {
  const visible = sessions.filter(isVisible);
  const [root = session] = sessions;
  const node = (
    { id, sessionKey, harness, title, lineage, endedAt }: TranscriptSession,
    depth: number,
  ): LineageNode => {
    const below = depth < MAX_DEPTH ? visible.filter(({ parentId }) => parentId === id) : [];
    const children = below.map((child) => node(child, depth + 1));
    return { sessionKey, harness, title: title && redact(title), lineage, endedAt, children };
  };
  return node(isVisible(root) ? root : session, 0);
}
