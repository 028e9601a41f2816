/** An answer to a permission, in the form that the log keeps. */
import type { PermissionAnswer, PermissionResult } from "@retinue/protocol";

export function permissionResult(answer: PermissionAnswer): PermissionResult {
  switch (answer.kind) {
    case "approve-once":
    case "approve-permanently":
      return { kind: "approved" };
    case "approve-for-session":
      return { kind: "approved-for-session", approval: answer.approval };
    case "approve-for-location":
      return { kind: "approved-for-location", approval: answer.approval, locationKey: answer.locationKey };
    case "reject":
      return { kind: "denied-interactively-by-user", feedback: answer.feedback || undefined };
    case "cancelled":
      return { kind: "cancelled", reason: answer.reason || undefined };
    case "user-not-available":
    case "unknown":
      return { kind: "denied-no-approval-rule-and-could-not-request-from-user" };
    default:
      return answer satisfies never;
  }
}
