/** A stored conversation in words for a person: prompts, answers, calls, and what sub-agents were given. */
import { type EventData, type SessionEvent, visible, visibleText } from "@retinue/protocol";
import { callWords, oneLine } from "./call-words.ts";
import { completionWords } from "./progress-words.ts";

/** Paragraphs, oldest first. The inner work of sub-agents is left to the tree. */
export function conversationWords(events: readonly SessionEvent[]): string[] {
  const calls = new Map<string, string>();
  return events.flatMap((event) => {
    const words = event.agentId === undefined ? mainWords(event, calls) : agentWords(event);
    return words === undefined ? [] : [words];
  });
}

function mainWords(event: SessionEvent, calls: Map<string, string>): string | undefined {
  switch (event.type) {
    case "user.message":
      return event.data.content === ""
        ? undefined
        : `> ${visibleText(event.data.content.trim()).split("\n").join("\n> ")}`;
    case "assistant.message":
      return visibleText(event.data.content.trim()) || undefined;
    case "tool.execution_start": {
      const isTold = event.data.toolName === "task_complete"; // By the event that follows it.
      const words = callWords(event.data.toolName, event.data.arguments);
      calls.set(event.data.toolCallId, isTold ? "" : words);
      return isTold ? undefined : `· ${words}`;
    }
    case "tool.execution_complete":
      if (event.data.success || calls.get(event.data.toolCallId) === "") return undefined;
      return `✗ ${calls.get(event.data.toolCallId) ?? "a call"}: ${oneLine(event.data.error?.message ?? "failed", 300)}`;
    case "session.task_complete":
      return completionWords(event.data);
    case "session.autopilot_ended":
      return event.data.reason === "completed" ? undefined : `! ${visible(event.data.message)}`;
    case "gate.completed":
      return event.data.passed ? undefined : gateWords(event.data);
    case "session.error":
      return `! ${visible(event.data.message)}`;
    case "session.model_change":
      return `· the model is now ${visible(event.data.newModel)}`;
    case "session.compaction_complete":
      return event.data.success ? "· everything before this was put into a summary" : undefined;
    case "abort":
      return "· stopped";
    default:
      return undefined;
  }
}

const gateWords = ({ outcomes }: EventData<"gate.completed">): string | undefined =>
  outcomes
    .flatMap(({ passed, gate, problem }) =>
      passed ? [] : [`✗ gate ${oneLine(gate, 100)}: ${oneLine(problem ?? "it failed", 300)}`],
    )
    .join("\n") || undefined;

/** Two tasks of one agent differ by the names of the tasks. */
const nameOf = ({ taskName, agentDisplayName }: { taskName?: string | undefined; agentDisplayName: string }) =>
  visible(taskName || agentDisplayName);

function agentWords(event: SessionEvent): string | undefined {
  switch (event.type) {
    case "subagent.started":
      return `▸ ${nameOf(event.data)} (${visible(event.data.agentName)}) starts: ${oneLine(event.data.taskDescription || event.data.agentDescription, 200)}`;
    case "subagent.failed":
      return `✗ ${nameOf(event.data)} failed: ${oneLine(event.data.error, 300)}`;
    case "subagent.completed":
      return `${event.data.cancelled ? "⊘" : "✓"} ${nameOf(event.data)} ${event.data.cancelled ? "was cancelled" : "is done"}`;
    default:
      return undefined;
  }
}
