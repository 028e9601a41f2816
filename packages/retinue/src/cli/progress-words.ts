/** One line for each thing that happens in a run, apart from calls. Which lines are shown, and where, is decided in progress.ts. */
import { type EventData, visible } from "@retinue/protocol";
import type { SessionEvent } from "@retinue/sdk";
import { oneLine } from "./call-words.ts";
import { seconds } from "./seconds.ts";

const MAX_REASON = 300;
const MAX_GATE = 100;

/** In place of the call by which the model said it. */
export function completionWords({
  success,
  outcome,
  summary = "",
  reason = "",
}: EventData<"session.task_complete">): string {
  return success === false
    ? `✗ The task is not complete${outcome === "blocked" ? "" : " yet"}: ${oneLine(firstParagraph(reason), MAX_REASON)}`
    : `✓ Task complete: ${oneLine(summary, MAX_REASON)}`;
}

/** The rest is for the model. */
const firstParagraph = (text: string): string => text.trimStart().split(/\n\s*\n/, 1)[0] ?? "";

export class ProgressWords {
  readonly #agentPath: (id: string) => string | undefined;

  constructor(agentPath: (id: string) => string | undefined) {
    this.#agentPath = agentPath;
  }

  /** Undefined when there is nothing to show. */
  of(event: SessionEvent): string | undefined {
    switch (event.type) {
      case "subagent.started":
        return `▸ ${this.#agent(event)} (${visible(event.data.agentName)}) starts${event.data.executionMode === "background" ? " in the background" : ""}`;
      case "subagent.completed":
        return event.data.cancelled
          ? `⊘ ${this.#agent(event)} was cancelled`
          : `✓ ${this.#agent(event)} is done after ${seconds(event.data.durationMs ?? 0)}`;
      case "subagent.failed":
        return `✗ ${this.#agent(event)} failed after ${seconds(event.data.durationMs ?? 0)}: ${oneLine(event.data.error, MAX_REASON)}`;
      case "session.task_complete":
        return completionWords(event.data);
      case "gate.completed":
        return this.#gateWords(event);
      case "session.info":
        if (event.data.infoType === "report") return visible(event.data.message);
        if (event.data.infoType !== "model_retry") return undefined;
        return `! ${this.#prefix(event.agentId)}${oneLine(event.data.message, MAX_REASON)}`;
      case "session.warning":
        if (event.data.warningType === "folder_trust") return undefined; // Said or asked before the session was opened.
        return `! ${visible(event.data.message)}`;
      case "session.mcp_server_status_changed":
        return this.#serverWords(event.data);
      case "session.compaction_start":
        return "· the conversation is long: making a summary of it";
      default:
        return undefined;
    }
  }

  /** One that wants a sign-in is the matter of a warning. */
  #serverWords({ serverName, status, error }: EventData<"session.mcp_server_status_changed">): string | undefined {
    if (status !== "failed") return undefined;
    return `! MCP server ${visible(serverName)}: ${oneLine(error ?? "it failed", MAX_REASON)}`;
  }

  #gateWords({ agentId, data }: Extract<SessionEvent, { type: "gate.completed" }>): string | undefined {
    const lines = data.outcomes.map(({ passed, gate, problem, durationMs }) => {
      const what = `gate ${oneLine(gate, MAX_GATE)}`;
      const became = passed ? seconds(durationMs) : oneLine(problem ?? "it failed", MAX_REASON);
      return `${passed ? "✓" : "✗"} ${this.#prefix(agentId)}${what} · ${became}`;
    });
    return lines.length === 0 ? undefined : lines.join("\n");
  }

  #agent(event: Extract<SessionEvent, { type: `subagent.${"started" | "completed" | "failed"}` }>): string {
    return visible(
      (event.agentId && this.#agentPath(event.agentId)) || event.data.taskName || event.data.agentDisplayName,
    );
  }

  #prefix(agentId: string | undefined): string {
    return agentId === undefined ? "" : `${visible(this.#agentPath(agentId) ?? "sub-agent")}: `;
  }
}
