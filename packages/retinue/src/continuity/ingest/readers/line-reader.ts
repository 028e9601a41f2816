/** How the lines of a harness's transcript file become turns. One entry per harness that writes such files. */
import { readClaudeLine } from "./claude-code.ts";
import { readCodexLine } from "./codex.ts";
import type { Fields } from "./fields.ts";
import type { Read } from "./read.ts";

/** What one parsed line contains; nothing for lines that are not part of the conversation. */
export type LineReader = (line: Fields) => Read[];

export const LINE_READERS: Readonly<Record<string, LineReader>> = {
  "claude-code": readClaudeLine,
  codex: readCodexLine,
};
