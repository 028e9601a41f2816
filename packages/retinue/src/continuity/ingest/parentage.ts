/** A child session's parent, from what its harness said, and what the child is told of it. */

import { inheritBlock, maxCharsFor } from "../recall/inherit.ts";
import { spawningSession } from "../records/calls.ts";
import { tailCharsOf } from "../records/config.ts";
import type { Continuity } from "../records/continuity.ts";
import { linkParent, onlyCandidate, type Parentage, recordNoParent } from "../records/lineage.ts";
import { type Caller, parentOf } from "../records/scope.ts";
import type { TranscriptSession } from "../records/transcripts.ts";
import { find } from "./conversation.ts";
import type { HookAnswer, HookInput } from "./hook-input.ts";
import { readOn } from "./reading.ts";

/** Finds the parent of a new child and records it, or records why there is none. */
export function settleParent(
  continuity: Continuity,
  caller: Caller,
  child: TranscriptSession,
  input: HookInput,
): Parentage {
  const { db } = continuity;
  const parentage = parentOfChild(continuity, caller, child, input);
  if (parentage.parent) linkParent(db, { childId: child.id, parentId: parentage.parent.id, how: parentage.how });
  else recordNoParent(db, child.id, parentage.reason);
  return parentage;
}

function parentOfChild(continuity: Continuity, caller: Caller, child: TranscriptSession, input: HookInput): Parentage {
  const { db, world } = continuity;
  const known = parentOf(db, child);
  if (known) return { parent: known, how: child.lineage ?? "recorded before" };
  if (input.parentSessionKey !== undefined) {
    const parent = find(continuity, caller, input, input.parentSessionKey);
    return parent
      ? { parent, how: "named by the harness" }
      : { reason: `the parent session ${input.parentSessionKey} is not known` };
  }
  if (child.sessionKey === input.sessionKey) return onlyCandidate(db, child);
  const root = find(continuity, caller, input, input.sessionKey);
  if (!root) return { reason: `the parent session ${input.sessionKey} is not known` };
  return spawningSession(db, { root, childId: child.id, now: world.now() });
}

/** The inherit block, when the parent is certain and has something to say. */
export function answerChild(
  { db, config, world }: Continuity,
  child: TranscriptSession,
  parentage: Parentage,
): HookAnswer {
  const { sessionKey } = child;
  if (!parentage.parent) return { sessionKey, reason: parentage.reason };
  const { parent } = parentage;
  const tailChars = tailCharsOf("brief", config);
  if (tailChars === undefined)
    return { sessionKey, parentSessionKey: parent.sessionKey, reason: "inheritContext is off" };
  // What the parent has said by now, also when no hook told it.
  readOn(db, parent, { now: world.now() });
  const inject = inheritBlock(db, parent, { tailChars, maxChars: maxCharsFor(child.harness) });
  return {
    sessionKey,
    parentSessionKey: parent.sessionKey,
    ...(inject ? { inject } : { reason: "the parent has said nothing yet" }),
  };
}
