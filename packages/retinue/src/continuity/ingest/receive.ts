/** Turns as hooks bring them: in a file, whole, one by one, or as a single message that is told before its file has it. */
import { AppError } from "@retinue/protocol";
import type { Continuity } from "../records/continuity.ts";
import { type Caller, isOwner } from "../records/scope.ts";
import type { TranscriptSession } from "../records/transcripts.ts";
import type { HookInput } from "./hook-input.ts";
import { recordInline, recordNew } from "./inline.ts";
import { isNotice } from "./readers/claude-code.ts";
import { readOn, recordTold } from "./reading.ts";
import { allowedTranscript } from "./transcript-roots.ts";

/** Takes in the turns that a hook brings, in whichever of the four forms. */
export function receive(continuity: Continuity, caller: Caller, session: TranscriptSession, input: HookInput): void {
  const { db, world } = continuity;
  const now = world.now();
  const path =
    input.transcriptPath === undefined ? undefined : checkedPath(continuity, caller, input, input.transcriptPath);
  readOn(db, session, { path, now });
  if (input.transcript !== undefined) recordInline(db, session, { transcript: input.transcript, now });
  if (input.turns !== undefined) recordNew(db, session, { turns: input.turns, now });
  const isAwaited = path !== undefined || input.transcript !== undefined;
  if (input.userMessage?.trim()) {
    const turn = {
      role: isNotice(input.userMessage) ? ("system" as const) : ("user" as const),
      text: input.userMessage,
    };
    recordTold(db, session, { turn, now, isAwaited });
  }
  if (input.lastAssistantMessage?.trim()) {
    recordTold(db, session, { turn: { role: "assistant", text: input.lastAssistantMessage }, now, isAwaited });
  }
}

function checkedPath({ roots }: Continuity, caller: Caller, { harness }: HookInput, path: string): string {
  if (!isOwner(caller))
    throw new AppError("authentication_failed", "A scoped token may not name files; send the transcript itself");
  return allowedTranscript(roots, harness, path);
}
