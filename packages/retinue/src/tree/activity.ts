/** The latest activity of sub-agents, for progress reports: a short list per agent, from their events. */
import type { LoggedEvent } from "../session/log.ts";

const KEPT = 20;

export class Activity {
  readonly #recent = new Map<string, { message: string; timestamp: string }[]>();
  readonly #intents = new Map<string, string>();
  /** Agents that say themselves what they are about. */
  readonly #reporting = new Set<string>();

  follow(events: readonly LoggedEvent[]): void {
    for (const { type, agentId, data, timestamp } of events) {
      if (agentId === undefined) continue;
      if (type === "tool.execution_start") {
        const { toolName, arguments: args } = data as { toolName: string; arguments?: unknown };
        const intent = intentOf(args);
        if (intent && !this.#reporting.has(agentId)) this.#intents.set(agentId, intent);
        if (toolName === "report_intent") continue; // Its own event follows.
        this.#add(agentId, { message: intent ? `${toolName}: ${intent}` : toolName, timestamp });
      } else if (type === "assistant.intent") {
        const { intent } = data as { intent: string };
        this.#reporting.add(agentId);
        this.#intents.set(agentId, intent);
        this.#add(agentId, { message: intent, timestamp });
      } else if (type === "subagent.completed" || type === "subagent.failed") {
        this.#intents.delete(agentId);
        this.#reporting.delete(agentId);
        this.#add(agentId, { message: type === "subagent.failed" ? "failed" : "answered", timestamp });
      }
    }
  }

  recent(agentId: string): { message: string; timestamp: string }[] {
    return [...(this.#recent.get(agentId) ?? [])];
  }

  intent(agentId: string): { latestIntent?: string } {
    const latestIntent = this.#intents.get(agentId);
    return latestIntent === undefined ? {} : { latestIntent };
  }

  #add(agentId: string, entry: { message: string; timestamp: string }): void {
    const entries = this.#recent.get(agentId) ?? [];
    entries.push(entry);
    this.#recent.set(agentId, entries.slice(-KEPT));
  }
}

/** Most tools have an argument that says what the call is about. */
function intentOf(args: unknown): string | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  for (const key of ["description", "intent", "path", "pattern", "command", "url"]) {
    const value = (args as Record<string, unknown>)[key];
    if (typeof value === "string" && value !== "") return value.length > 100 ? `${value.slice(0, 99)}…` : value;
  }
  return undefined;
}
