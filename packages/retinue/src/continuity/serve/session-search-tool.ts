/** session_search for our own agents: the same operation, with the calling session as the caller. */
import { defineTool, failure, success, type Tool } from "../../tools/tool.ts";
import type { Hit } from "../recall/search.ts";
import words from "../recall/session-search.md";
import type { Continuity } from "../records/continuity.ts";
import { OWNER } from "../records/scope.ts";
import { SearchTool } from "./search-input.ts";

/** `agentId` is the memory that the session belongs to. */
export function sessionSearchTool(continuity: Continuity, agentId?: string): Tool {
  return defineTool({
    name: "session_search",
    description: words.trim(),
    readOnly: true,
    input: SearchTool,
    prepare: (args, { sessionId }) => ({
      run: async () => {
        const { runSearch } = await import("./search-operation.ts");
        const found = await runSearch(continuity, OWNER, { ...args, currentSessionKey: sessionId, agentId });
        if (found.note !== undefined) return failure(found.note);
        return success(found.hits.length === 0 ? "Nothing was found." : found.hits.map(hitText).join("\n\n"));
      },
    }),
  });
}

export function hitText({ sessionKey, at, seq, harness, title, snippet }: Hit): string {
  return `${at} ${harness} ${sessionKey}${title ? ` (${title})` : ""} #${seq}\n${snippet}`;
}
