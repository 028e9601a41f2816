/**
 * Which files a hook may name as a transcript: regular files inside the folders where that harness keeps its own. Links are followed
 * first, so that a link inside such a folder leads nowhere else.
 */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { AppError } from "@retinue/protocol";
import { isWithin, realPath } from "./paths.ts";

export type TranscriptRoots = Readonly<Record<string, readonly string[]>>;

export function transcriptRoots(env: NodeJS.ProcessEnv, more: TranscriptRoots = {}): TranscriptRoots {
  const home = env.HOME ?? homedir();
  const known: TranscriptRoots = {
    "claude-code": [join(env.CLAUDE_CONFIG_DIR ?? join(home, ".claude"), "projects")],
    codex: [join(env.CODEX_HOME ?? join(home, ".codex"), "sessions")],
  };
  const harnesses = new Set([...Object.keys(known), ...Object.keys(more)]);
  return Object.fromEntries(
    [...harnesses].map((harness) => [harness, [...(known[harness] ?? []), ...(more[harness] ?? [])]]),
  );
}

/** The real path of a transcript. One that does not exist yet must lie in a folder that is allowed. */
export function allowedTranscript(roots: TranscriptRoots, harness: string, path: string): string {
  const real = realPath(resolve(path));
  const allowed = (roots[harness] ?? []).some((root) => isWithin(real.path, realPath(resolve(root)).path));
  if (!allowed || real.isOther) {
    throw new AppError("authentication_failed", `${harness} keeps no transcripts there; the file was not read`);
  }
  return real.path;
}
