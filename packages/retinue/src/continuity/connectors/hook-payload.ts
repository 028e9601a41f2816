/**
 * How long the fields of a payload may be that name something: a file, a folder, a session, a tool.
 *
 * A longer one names nothing. It is refused before anybody opens, compares or keeps it, and in words without the field itself, which would
 * fill the screen of the harness. What was said (`prompt`, `last_assistant_message`) may have any length.
 */
import { AppError } from "@retinue/protocol/errors";
import type { Fields } from "../ingest/readers/fields.ts";

/** As in ingest/hook-input.ts, which a hook does not load when a daemon runs. */
const LONGEST_PATH = 4096;
const LONGEST_NAME = 1024;

const PATHS = ["transcript_path", "agent_transcript_path", "cwd"];
const NAMES = ["hook_event_name", "session_id", "agent_id", "agent_type", "tool_name", "tool_use_id", "reason"];

export function refuseLongFields(payload: Fields): void {
  for (const field of PATHS) refuseLong(payload, field, { bytes: LONGEST_PATH, why: "No system opens a longer path." });
  for (const field of NAMES) refuseLong(payload, field, { bytes: LONGEST_NAME, why: "It is only a name." });
}

function refuseLong(payload: Fields, field: string, { bytes, why }: { bytes: number; why: string }): void {
  const value = payload[field];
  if (typeof value !== "string" || (value.length <= bytes && Buffer.byteLength(value) <= bytes)) return;
  throw new AppError(
    "invalid_params",
    `The hook was not kept. Its ${field} is too long: ${value.length} characters, and at most ${bytes} bytes are taken. ${why}`,
  );
}
