/** What the agent tree shows of an ask. */
import type { SessionEvent } from "@retinue/protocol";
import type { Ask } from "./agent-node.ts";

type PermissionData = Extract<SessionEvent, { type: "permission.requested" }>["data"];

export function permissionAsk({ requestId, permissionRequest }: PermissionData, since: number): Ask {
  const details: Record<string, unknown> = { ...permissionRequest };
  const subject = ["fullCommandText", "fileName", "path", "url", "toolName"].map((key) => details[key]).find(isText);
  const toolCallId = isText(details.toolCallId) ? details.toolCallId : undefined;
  const text = [details.kind, subject].filter(isText).join(" ");
  return { id: requestId, kind: "permission", text, toolCallId, since };
}

export function textAsk(
  kind: Ask["kind"],
  { requestId: id, toolCallId }: { requestId: string; toolCallId?: string | undefined },
  since: number,
): Omit<Ask, "text"> {
  return { id, kind, toolCallId, since };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
