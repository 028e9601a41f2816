/** Turns as hooks bring them: in a file, as a whole transcript, one by one, or as a single message that the file does not have yet. */
import { AppError } from "@retinue/protocol";
import type { Continuity } from "../records/continuity.ts";
import { type Caller, isOwner } from "../records/scope.ts";
import { allowedTranscript } from "../records/transcript-roots.ts";
import type { Draft } from "./draft.ts";
import type { HookInput } from "./hook-input.ts";
import { takeNew, takeWhole } from "./inline.ts";
import { isNotice } from "./readers/claude-code.ts";
import { draftMessage, readFile } from "./reading.ts";

/** Drafts the turns that a hook brings, in whichever of the four forms. */
export async function receive(
  { roots }: Continuity,
  draft: Draft,
  { caller, input }: { caller: Caller; input: HookInput },
): Promise<void> {
  const path =
    input.transcriptPath === undefined
      ? undefined
      : checkedPath(input.transcriptPath, { roots, caller, harness: input.harness });
  await readFile(draft, path);
  if (input.transcript !== undefined) await takeWhole(draft, input.transcript);
  if (input.turns !== undefined) await takeNew(draft, input.turns);
  const isAwaited = path !== undefined || input.transcript !== undefined;
  if (input.userMessage?.trim()) {
    const role = isNotice(input.userMessage) ? "system" : "user";
    await draftMessage(draft, { turn: { role, text: input.userMessage }, isAwaited });
  }
  if (input.lastAssistantMessage?.trim())
    await draftMessage(draft, { turn: { role: "assistant", text: input.lastAssistantMessage }, isAwaited });
}

function checkedPath(
  path: string,
  { roots, caller, harness }: { roots: Continuity["roots"]; caller: Caller; harness: string },
): string {
  if (!isOwner(caller))
    throw new AppError("authentication_failed", "A scoped token may not name files; send the transcript itself");
  return allowedTranscript(roots, harness, path);
}
