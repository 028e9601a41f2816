/** Codex's rollout lines. `response_item` is the conversation; developer messages are instructions and injections, and are not read. */
import { contentText, type Fields, fields, text, time } from "./fields.ts";
import type { Read } from "./read.ts";

export function readCodexLine(line: Fields): Read[] {
  const payload = fields(line.payload);
  if (line.type === "compacted") {
    const summary = text(payload.message);
    return summary ? [{ type: "checkpoint", summary }] : [];
  }
  if (line.type !== "response_item") return [];
  const item = readItem(payload);
  if (!item) return [];
  const sourceId = text(payload.id) ?? (line.ordinal === undefined ? undefined : String(line.ordinal));
  return [{ type: "turn", turn: { ...item, sourceId, at: time(line.timestamp) } }];
}

function readItem(payload: Fields) {
  switch (payload.type) {
    case "message": {
      const words = contentText(payload.content).trim();
      if (words === "" || isPreamble(words)) return undefined;
      if (payload.role === "user" || payload.role === "assistant") return { role: payload.role, text: words } as const;
      return undefined;
    }
    case "function_call":
    case "custom_tool_call":
      return {
        role: "assistant",
        tool: text(payload.name) ?? "unknown",
        callId: text(payload.call_id),
        text: text(payload.arguments) ?? text(payload.input) ?? "",
      } as const;
    case "function_call_output":
    case "custom_tool_call_output":
      return { role: "tool", callId: text(payload.call_id), text: outputText(payload.output) } as const;
    default:
      return undefined;
  }
}

const outputText = (output: unknown) =>
  contentText(typeof output === "string" ? output : (fields(output).content ?? output));

/** Text that Codex itself puts before the first prompt. */
const isPreamble = (words: string) =>
  /^<(?:environment_context|user_instructions|permissions|skills_instructions)\b/.test(words);
