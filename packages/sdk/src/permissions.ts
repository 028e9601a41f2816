/**
 * Permission asks: the host's handler, its decisions, and their names in each protocol version.
 *
 * A handler that fails or answers nonsense never approves anything.
 */
import type { PermissionDecision, PermissionRequest } from "@retinue/protocol";

export interface PermissionInvocation {
  /** The session whose handler is asked; for a sub-agent's ask this is the session at the top. */
  readonly sessionId: string;
  /** Absent on protocol 2, where an ask has no id of its own. */
  readonly requestId?: string | undefined;
  /** Set when a sub-agent asks. */
  readonly childSessionId?: string | undefined;
  readonly agentName?: string | undefined;
  /** The ask was offered before: to another client, or by a runtime that has ended since. */
  readonly isRepeat?: boolean | undefined;
}

/** `no-result` leaves the ask open, for another client or for a later answer by hand. */
export type PermissionRequestResult = PermissionDecision | { kind: "no-result" };

export type PermissionHandler = (
  request: PermissionRequest,
  invocation: PermissionInvocation,
) => PermissionRequestResult | Promise<PermissionRequestResult>;

export const approveAll: PermissionHandler = () => ({ kind: "approve-once" });

const APPROVALS = ["approve-once", "approve-for-session", "approve-for-location", "approve-permanently"];
const KINDS = [...APPROVALS, "reject", "user-not-available", "cancelled", "no-result"];

/** The handler's answer, or a denial when there is no valid one. */
export async function decide(
  handler: PermissionHandler,
  request: PermissionRequest,
  invocation: PermissionInvocation,
  onError: (error: unknown) => void,
): Promise<PermissionRequestResult> {
  try {
    const answer: unknown = await handler(request, invocation);
    if (isDecision(answer)) return answer;
    onError(new TypeError(`a permission handler answered ${JSON.stringify(answer)}, which is not a decision`));
  } catch (error) {
    onError(error);
  }
  return { kind: "user-not-available" };
}

function isDecision(answer: unknown): answer is PermissionRequestResult {
  if (typeof answer !== "object" || answer === null || !("kind" in answer)) return false;
  return typeof answer.kind === "string" && KINDS.includes(answer.kind);
}

const NOBODY = { kind: "denied-no-approval-rule-and-could-not-request-from-user" };

/** The same decision as protocol 2 writes it. */
export function decisionForV2(decision: PermissionRequestResult | undefined): { kind: string } {
  if (decision === undefined) return NOBODY;
  if (APPROVALS.includes(decision.kind)) return { kind: "approved" };
  return decision.kind === "reject" ? { kind: "denied-interactively-by-user" } : NOBODY;
}
