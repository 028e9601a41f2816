/** How a command of a gate is known to a person who allows it. */
import { createHash } from "node:crypto";
import type { Gate } from "@retinue/protocol";

/** Consent is for exactly this command. No identity of an MCP server begins with a space. */
export function gateIdentity({ command, timeoutSeconds }: Extract<Gate, { command: string }>): string {
  const what = JSON.stringify([command, timeoutSeconds ?? null]);
  return ` gate:${createHash("sha256").update(what).digest("hex")}`;
}
