/** The prompt of a todo's agent: the todo, and what the agents before it have come to. */
import words from "./agent-prompt.md";
import type { RunEnd } from "./todo-run.ts";
import type { Brief } from "./todo-table.ts";

/** Half of a JSON value is none, so data is cut only when there is no room at all. */
const MAX_ANSWER = 4_000;
const MAX_ANSWERS = 16_000;

/** `needed`: what the todo depends on, with the latest run where this fleet did it. */
export function wordsFor(brief: Brief, needed: readonly { todoId: string; agentId?: string; end?: RunEnd }[]): string {
  const parts = { "{{id}}": brief.id, "{{title}}": brief.title, "{{description}}": brief.description };
  // In one go: what a todo says may look like a place for another part.
  const own = words.trim().replace(/\{\{\w+\}\}/g, (place) => parts[place as keyof typeof parts] ?? place);
  return [own, answersOf(needed)].filter(Boolean).join("\n\n");
}

function answersOf(needed: readonly { todoId: string; agentId?: string; end?: RunEnd }[]): string | undefined {
  if (needed.length === 0) return undefined;
  let room = MAX_ANSWERS;
  let unread = 0;
  const parts: string[] = [];
  for (const { todoId, agentId, end } of needed) {
    if (end?.way !== "completed") continue;
    if (room <= 0) {
      unread++;
      continue;
    }
    const text = end.text.slice(0, end.isData ? room : Math.min(MAX_ANSWER, room));
    room -= text.length;
    const isCut = text.length < end.text.length ? `\n[Cut. The whole is with read_agent, agent_id "${agentId}".]` : "";
    const said = end.isData ? `\`\`\`json\n${text}\n\`\`\`` : text;
    parts.push(`## ${todoId}\n\n${said}${isCut}`);
  }
  if (parts.length === 0) return undefined;
  const rest = unread > 0 ? `\n\n${unread} more have answered; there was no room for them here.` : "";
  return `What the todos before yours have come to:\n\n${parts.join("\n\n")}${rest}`;
}
