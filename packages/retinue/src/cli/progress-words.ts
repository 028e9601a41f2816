/** One line for each thing that happens in a run. Which lines are shown, and where, is decided in progress.ts. */
import { visible } from "@retinue/protocol";
import type { SessionEvent } from "@retinue/sdk";
import { callWords, oneLine } from "./call-words.ts";

const MAX_REASON = 300;
const REFUSED = "denied-no-approval-rule-and-could-not-request-from-user";

export class ProgressWords {
  readonly #agentPath: (id: string) => string | undefined;
  readonly #calls = new Map<string, string>();
  /** Calls whose refusal was printed already. */
  readonly #refused = new Set<string>();

  constructor(agentPath: (id: string) => string | undefined) {
    this.#agentPath = agentPath;
  }

  /** Undefined when there is nothing to show. */
  of(event: SessionEvent): string | undefined {
    switch (event.type) {
      case "tool.execution_start":
        return this.#call(event);
      case "permission.completed":
        if (event.data.result.kind === REFUSED && event.data.toolCallId) this.#refused.add(event.data.toolCallId);
        return undefined;
      case "tool.execution_complete":
        return this.#callEnd(event);
      case "subagent.started":
        return `▸ ${this.#agent(event)} (${visible(event.data.agentName)}) starts${event.data.executionMode === "background" ? " in the background" : ""}`;
      case "subagent.completed":
        return event.data.cancelled
          ? `⊘ ${this.#agent(event)} was cancelled`
          : `✓ ${this.#agent(event)} is done after ${seconds(event.data)}`;
      case "subagent.failed":
        return `✗ ${this.#agent(event)} failed after ${seconds(event.data)}: ${oneLine(event.data.error, MAX_REASON)}`;
      case "session.info":
        if (event.data.infoType !== "model_retry") return undefined;
        return `! ${this.#prefix(event.agentId)}${oneLine(event.data.message, MAX_REASON)}`;
      case "session.warning":
        if (event.data.warningType === "folder_trust") return undefined; // Said or asked before the session was opened.
        return `! ${visible(event.data.message)}`;
      case "session.compaction_start":
        return "· the conversation is long: making a summary of it";
      default:
        return undefined;
    }
  }

  #call({ agentId, data }: Extract<SessionEvent, { type: "tool.execution_start" }>): string {
    const words = callWords(data.toolName, data.arguments, this.#agentPath);
    this.#calls.set(data.toolCallId, words);
    return `· ${this.#prefix(agentId)}${words}`;
  }

  #callEnd({ agentId, data }: Extract<SessionEvent, { type: "tool.execution_complete" }>): string | undefined {
    const words = this.#calls.get(data.toolCallId) ?? "a call";
    this.#calls.delete(data.toolCallId);
    if (data.success || this.#refused.delete(data.toolCallId)) return undefined;
    return `✗ ${this.#prefix(agentId)}${words}: ${oneLine(data.error?.message ?? "failed", MAX_REASON)}`;
  }

  #agent(event: Extract<SessionEvent, { type: `subagent.${"started" | "completed" | "failed"}` }>): string {
    return visible((event.agentId && this.#agentPath(event.agentId)) || event.data.agentDisplayName);
  }

  #prefix(agentId: string | undefined): string {
    return agentId === undefined ? "" : `${visible(this.#agentPath(agentId) ?? "sub-agent")}: `;
  }
}

function seconds({ durationMs = 0 }: { durationMs?: number | undefined }): string {
  return `${(durationMs / 1000).toFixed(1)}s`;
}
