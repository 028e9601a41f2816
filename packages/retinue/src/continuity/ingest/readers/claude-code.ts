/**
 * Claude Code's transcript lines. `user` and `assistant` lines are the conversation; what a hook injected comes back as an
 * attachment line and is not read, and so are snapshots of prompts and requests.
 */
import type { NewTurn } from "../../../store/transcript-records.ts";
import { contentText, type Fields, fields, list, text, time } from "./fields.ts";
import type { Read } from "./read.ts";

export function readClaudeLine(line: Fields): Read[] {
  if ((line.type !== "user" && line.type !== "assistant") || line.isMeta === true) return [];
  const { content } = fields(line.message);
  if (line.isCompactSummary === true) return [{ type: "checkpoint", summary: contentText(content) }];
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
  return blocks.flatMap((block, n) => {
    const turn = readBlock(block, line.type === "user" ? "user" : "assistant");
    return turn
      ? [{ type: "turn", turn: { ...turn, sourceId: `${text(line.uuid)}/${n}`, at: time(line.timestamp) } }]
      : [];
  });
}

function readBlock(block: Fields, role: "user" | "assistant"): NewTurn | undefined {
  switch (block.type) {
    case "text": {
      const words = text(block.text)?.trim();
      return words ? { role: isNotice(words) ? "system" : role, text: words } : undefined;
    }
    case "tool_use":
      return {
        role: "assistant",
        tool: text(block.name) ?? "unknown",
        callId: text(block.id),
        text: JSON.stringify(block.input ?? {}),
      };
    case "tool_result":
      return { role: "tool", callId: text(block.tool_use_id), text: contentText(block.content) };
    default:
      return undefined;
  }
}

/** The result of a background agent comes back as a prompt; nobody typed it. */
export const isNotice = (words: string) => words.startsWith("<task-notification>");
