/** What one session has used, by model. Small enough to keep after the session has closed. */
import type { EventData, EventType, ModelUsage } from "@retinue/protocol";
import { NANO } from "../models/price.ts";
import { NO_USAGE, type Usage } from "../models/provider.ts";

export interface ModelTotals {
  requests: number;
  usage: Usage;
  nanoAiu: number;
  /** What endpoints said has answered, where it was not the model that was asked. */
  answeredBy: ReadonlySet<string>;
}

/** What counts for budgets. */
export interface Tally {
  turns: number;
  tokens: number;
  toolCalls: number;
  nanoAiu: number;
  /** 1 for a sub-agent, which somebody started. */
  spawns: number;
}

/** What endpoints may charge for requests of which they have not said what they used: estimates, which limit and are not on the bill. */
export interface Unreported {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  nanoAiu: number;
}

type Estimate = NonNullable<EventData<"session.usage_checkpoint">["unreported"]>;

export const NO_ESTIMATE: Unreported = { requests: 0, inputTokens: 0, outputTokens: 0, nanoAiu: 0 };
const NOTHING: Tally = { turns: 0, tokens: 0, toolCalls: 0, nanoAiu: 0, spawns: 0 };

export class UsageTotals {
  readonly models = new Map<string, ModelTotals>();
  apiDurationMs = 0;
  toolCalls = 0;
  turns = 0;
  /** The usage of the latest model call. */
  lastCall: Usage = NO_USAGE;
  /** From the main agent's child down to this one; empty for the main agent. */
  path: readonly string[] = [];
  unreported = NO_ESTIMATE;
  /** The prompt of a request that was about to be sent, until something is known of its end. */
  #underWay: Estimate | undefined;
  #before = NOTHING;

  get tokens(): number {
    let total = 0;
    for (const { usage } of this.models.values()) total += usage.inputTokens + usage.outputTokens;
    return total;
  }

  get nanoAiu(): number {
    let total = 0;
    for (const { nanoAiu } of this.models.values()) total += nanoAiu;
    return total;
  }

  get tally(): Tally {
    const { turns, tokens, toolCalls, nanoAiu } = this;
    const guess = withEstimate(this.unreported, this.#underWay);
    return {
      turns,
      toolCalls,
      tokens: tokens + guess.inputTokens + guess.outputTokens,
      nanoAiu: nanoAiu + guess.nanoAiu,
      spawns: this.path.length > 0 ? 1 : 0,
    };
  }

  /** What was used since the latest mark. */
  get sinceMark(): Tally {
    const { turns, tokens, toolCalls, nanoAiu, spawns } = this.tally;
    const before = this.#before;
    return {
      turns: turns - before.turns,
      tokens: tokens - before.tokens,
      toolCalls: toolCalls - before.toolCalls,
      nanoAiu: nanoAiu - before.nanoAiu,
      spawns: spawns - before.spawns,
    };
  }

  mark(): void {
    this.#before = this.tally;
  }

  apply({ type, data }: { type: EventType; data: object }): void {
    if (type === "tool.execution_complete") {
      const { error } = data as EventData<"tool.execution_complete">;
      if (error?.code !== "over_budget") this.toolCalls++; // A call that did not fit did not run.
    } else if (type === "subagent.started") this.path = (data as EventData<"subagent.started">).path ?? [];
    else if (type === "assistant.turn_start") this.#begin((data as EventData<"assistant.turn_start">).prompt);
    else if (type === "session.compaction_start") this.#begin((data as EventData<"session.compaction_start">).prompt);
    else if (type === "assistant.turn_end") this.#underWay = undefined;
    else if (type === "session.usage_checkpoint") {
      const { unreported } = data as EventData<"session.usage_checkpoint">;
      this.unreported = withEstimate(this.unreported, unreported);
    } else if (type === "assistant.message") {
      this.#underWay = undefined;
      const { model, usage, totalNanoAiu, answeredBy, apiDurationMs } = data as EventData<"assistant.message">;
      if (!model) return;
      this.turns++;
      this.#count(model, { usage: usage ?? NO_USAGE, nanoAiu: totalNanoAiu, answeredBy }, apiDurationMs);
    } else if (type === "session.compaction_complete") {
      this.#underWay = undefined;
      const used = (data as EventData<"session.compaction_complete">).compactionTokensUsed;
      if (!used?.model) return;
      const usage = { ...NO_USAGE, ...numbersOf(used) };
      const { model, answeredBy, copilotUsage, duration } = used;
      this.#count(model, { usage, nanoAiu: copilotUsage?.totalNanoAiu, answeredBy }, duration);
    }
  }

  /** One that is still under way when the next begins was cut off with its process; nobody knows how far it got. */
  #begin(prompt: Estimate | undefined): void {
    this.unreported = withEstimate(this.unreported, this.#underWay);
    this.#underWay = prompt;
  }

  #count(
    model: string,
    { usage, nanoAiu = 0, answeredBy }: { usage: Usage; nanoAiu?: number; answeredBy?: string },
    durationMs = 0,
  ): void {
    const one = { requests: 1, usage, nanoAiu, answeredBy: new Set(answeredBy === undefined ? [] : [answeredBy]) };
    this.models.set(model, addTotals(this.models.get(model), one));
    this.apiDurationMs += durationMs;
    this.lastCall = usage;
  }
}

export function addUnreported(a: Unreported, b: Unreported): Unreported {
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    nanoAiu: a.nanoAiu + b.nanoAiu,
  };
}

function withEstimate(sum: Unreported, estimate: Estimate | undefined): Unreported {
  return estimate ? addUnreported(sum, { ...estimate, requests: 1 }) : sum;
}

export function addTotals(a: ModelTotals | undefined, b: ModelTotals): ModelTotals {
  return {
    requests: (a?.requests ?? 0) + b.requests,
    usage: addUsage(a?.usage ?? NO_USAGE, b.usage),
    nanoAiu: (a?.nanoAiu ?? 0) + b.nanoAiu,
    answeredBy: new Set([...(a?.answeredBy ?? []), ...b.answeredBy]),
  };
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

/** What a sub-agent's end event says of its own usage: the numbers, split as endpoints bill them, and by model. */
export function billOf(used: UsageTotals | undefined) {
  const all = [...(used?.models ?? [])];
  const total = all.reduce<ModelTotals | undefined>((sum, [, totals]) => addTotals(sum, totals), undefined);
  return {
    totalToolCalls: used?.toolCalls ?? 0,
    totalTokens: used?.tokens ?? 0,
    totalNanoAiu: used?.nanoAiu ?? 0,
    usage: total?.usage ?? NO_USAGE,
    modelMetrics: modelMetrics(used?.models ?? new Map()),
  };
}

export function modelMetrics(totals: ReadonlyMap<string, ModelTotals>): Record<string, ModelUsage> {
  return Object.fromEntries(
    [...totals].map(([model, { requests, usage, nanoAiu, answeredBy }]) => [
      model,
      {
        requests: { count: requests, cost: nanoAiu / NANO },
        usage,
        totalNanoAiu: nanoAiu,
        ...(answeredBy.size > 0 ? { answeredBy: [...answeredBy] } : {}),
      },
    ]),
  );
}
