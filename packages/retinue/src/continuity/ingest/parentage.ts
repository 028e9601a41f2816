/** A child session's parent, from what its harness reported, and what the child inherits from it. */
import type { SessionName } from "../../store/transcript-records.ts";
import { inheritBlock, maxCharsFor } from "../recall/inherit.ts";
import { spawningSession } from "../records/calls.ts";
import { tailCharsOf } from "../records/config.ts";
import type { Continuity } from "../records/continuity.ts";
import { onlyCandidate, type Parentage } from "../records/lineage.ts";
import { actingProject, type Caller, hasEntities, mayWrite, parentOf } from "../records/scope.ts";
import { type Attempt, find } from "./conversation.ts";
import type { Draft } from "./draft.ts";
import type { HookAnswer } from "./hook-input.ts";
import { readOn } from "./reading.ts";

/** Finds the parent of a new child and drafts the link, or why there is none. */
export async function settleParent(continuity: Continuity, child: Draft, attempt: Attempt): Promise<Parentage> {
  const known = child.session && (await parentOf(continuity.transcripts, child.session));
  if (known && !mayWrite(attempt.caller, known))
    return { reason: "the parent session is outside of what this token may read" };
  if (known) return { parent: known, how: child.session?.lineage ?? "recorded before" };
  const parentage = await parentOfChild(continuity, child, attempt);
  if (parentage.parent) child.add({ type: "parent", parent: parentage.parent, how: parentage.how });
  else child.add({ type: "no-parent", reason: parentage.reason });
  return parentage;
}

async function parentOfChild(continuity: Continuity, child: Draft, attempt: Attempt): Promise<Parentage> {
  const { transcripts, world } = continuity;
  const { caller, input } = attempt;
  if (input.parentSessionKey !== undefined) {
    const parent = await find(continuity, attempt, { key: input.parentSessionKey });
    return parent
      ? { parent, how: "named by the harness" }
      : { reason: `the parent session ${input.parentSessionKey} is not known` };
  }
  if (child.name.sessionKey === input.sessionKey) {
    const project = actingProject(caller, input.project) ?? child.session?.project;
    return await onlyCandidate(transcripts, { ...child.name, project });
  }
  const root = await find(continuity, attempt, { key: input.sessionKey });
  if (!root) return { reason: `the parent session ${input.sessionKey} is not known` };
  const { parentage, call } = await spawningSession(transcripts, { root, child: child.name, now: world.now() });
  if (parentage.parent && !mayWrite(caller, parentage.parent))
    return { reason: "the parent session is outside of what this token may read" };
  if (call) child.add({ type: "call-claimed", call });
  return parentage;
}

/** The inherit block, when the parent is certain and has something to say. */
export async function answerChild(
  { transcripts, config, world }: Continuity,
  { sessionKey, harness }: SessionName,
  { parentage, caller }: { parentage: Parentage; caller: Caller },
): Promise<HookAnswer> {
  if (!parentage.parent) return { sessionKey, reason: parentage.reason };
  const { parent } = parentage;
  const tailChars = tailCharsOf("brief", config);
  if (tailChars === undefined)
    return { sessionKey, parentSessionKey: parent.sessionKey, reason: "inheritContext is off" };
  // Reads what the parent has said by now, even when no hook has reported it.
  await readOn(transcripts, parent, { now: world.now() });
  const inject = await inheritBlock(transcripts, parent, {
    tailChars,
    maxChars: maxCharsFor(harness),
    hasEntities: hasEntities(caller),
  });
  return {
    sessionKey,
    parentSessionKey: parent.sessionKey,
    ...(inject ? { inject } : { reason: "the parent has said nothing yet" }),
  };
}
