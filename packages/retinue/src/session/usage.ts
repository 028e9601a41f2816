/** What one session has used, by model. Small enough to keep after the session has closed. */
import type { EventData, EventType } from "@retinue/protocol";
import { NO_USAGE, type Usage } from "../models/provider.ts";

export interface ModelTotals {
  requests: number;
  usage: Usage;
}

export class UsageTotals {
  readonly models = new Map<string, ModelTotals>();
  apiDurationMs = 0;
  toolCalls = 0;
  /** The usage of the latest model call. */
  lastCall: Usage = NO_USAGE;

  get tokens(): number {
    let total = 0;
    for (const { usage } of this.models.values()) total += usage.inputTokens + usage.outputTokens;
    return total;
  }

  apply({ type, data }: { type: EventType; data: object }): void {
    if (type === "tool.execution_complete") this.toolCalls++;
    else if (type === "assistant.message") {
      const { model, usage, apiDurationMs } = data as EventData<"assistant.message">;
      if (model) this.#count(model, usage ?? NO_USAGE, apiDurationMs ?? 0);
    } else if (type === "session.compaction_complete") {
      const used = (data as EventData<"session.compaction_complete">).compactionTokensUsed;
      if (used?.model) this.#count(used.model, { ...NO_USAGE, ...numbersOf(used) }, used.duration ?? 0);
    }
  }

  #count(model: string, usage: Usage, durationMs: number): void {
    this.models.set(model, addTotals(this.models.get(model), { requests: 1, usage }));
    this.apiDurationMs += durationMs;
    this.lastCall = usage;
  }
}

export function addTotals(a: ModelTotals | undefined, b: ModelTotals): ModelTotals {
  return { requests: (a?.requests ?? 0) + b.requests, usage: addUsage(a?.usage ?? NO_USAGE, b.usage) };
}

function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

function numbersOf({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
}: Partial<Usage>): Partial<Usage> {
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
}
