/** What one session has used, by model. Small enough to keep after the session has closed. */
import type { EventData, EventType, ModelUsage } from "@retinue/protocol";
import { NANO } from "../models/price.ts";
import { NO_USAGE, type Usage } from "../models/provider.ts";
import { Estimates } from "./estimates.ts";

export interface ModelTotals {
  requests: number;
  usage: Usage;
  nanoAiu: number;
  /** What endpoints said has answered, where it was not the model that was asked. */
  answeredBy: ReadonlySet<string>;
  /** Tokens of the latest request for each that was estimated; undefined before an endpoint has said anything to learn from. */
  scale?: number;
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

const NOBODY: ReadonlySet<string> = new Set();
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
  readonly estimates = new Estimates();
  #before = NOTHING;
  #isSpawned = false;
  #run = 0;

  get nanoAiu(): number {
    let total = 0;
    for (const { nanoAiu } of this.models.values()) total += nanoAiu;
    return total;
  }

  get tally(): Tally {
    const { turns, toolCalls, nanoAiu } = this;
    const assumed = this.estimates.all;
    return {
      turns,
      toolCalls,
      tokens: tokensIn(this.models) + assumed.inputTokens + assumed.outputTokens,
      nanoAiu: nanoAiu + assumed.nanoAiu,
      spawns: this.#isSpawned ? 1 : 0,
    };
  }

  /** What was used in the latest run. */
  get inLatestRun(): Tally {
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

  /** What follows belongs to this run of the main agent. */
  inRun(run: number): void {
    if (run === this.#run) return;
    this.#run = run;
    this.#before = this.tally;
  }

  apply({ type, data }: { type: EventType; data: object }): void {
    this.estimates.apply({ type, data });
    if (type === "tool.execution_complete") {
      const { error } = data as EventData<"tool.execution_complete">;
      if (error?.code !== "over_budget") this.toolCalls++; // A call that did not fit did not run.
    } else if (type === "subagent.started") {
      const { path, agentType } = data as EventData<"subagent.started">;
      this.path = path ?? [];
      this.#isSpawned = agentType !== "mcp-task"; // The server's work, not an agent of ours.
    } else if (type === "assistant.message") {
      const { model, usage = NO_USAGE, apiDurationMs, ...more } = data as EventData<"assistant.message">;
      if (!model) return;
      this.turns++;
      const scale = scaleOf(usage, more.estimatedTokens);
      this.#count(model, { usage, nanoAiu: more.totalNanoAiu, answeredBy: more.answeredBy, scale }, apiDurationMs);
    } else if (type === "session.compaction_complete") {
      this.#countBeside((data as EventData<"session.compaction_complete">).compactionTokensUsed);
    } else if (type === "session.usage_checkpoint") {
      this.#countBeside((data as EventData<"session.usage_checkpoint">).sampled);
    }
  }

  /** A request beside the conversation. */
  #countBeside(used: EventData<"session.compaction_complete">["compactionTokensUsed"]): void {
    if (!used?.model) return;
    const usage = { ...NO_USAGE, ...numbersOf(used) };
    const { model, answeredBy, copilotUsage, duration } = used;
    this.#count(model, { usage, nanoAiu: copilotUsage?.totalNanoAiu, answeredBy }, duration);
  }

  #count(model: string, { usage, nanoAiu = 0, answeredBy, scale }: Counted, durationMs = 0): void {
    const before = this.models.get(model);
    const isNew = answeredBy !== undefined && !before?.answeredBy.has(answeredBy);
    this.models.set(model, {
      requests: (before?.requests ?? 0) + 1,
      usage: before ? addUsage(before.usage, usage) : usage,
      nanoAiu: (before?.nanoAiu ?? 0) + nanoAiu,
      answeredBy: isNew ? new Set([...(before?.answeredBy ?? []), answeredBy]) : (before?.answeredBy ?? NOBODY),
      scale: scale ?? before?.scale,
    });
    this.apiDurationMs += durationMs;
    this.lastCall = usage;
  }
}

interface Counted {
  usage: Usage;
  nanoAiu?: number;
  answeredBy?: string;
  scale?: number;
}

/** A short request is mostly what surrounds it. No text has more than eight characters for each token, or four tokens for each character. */
const ENOUGH_TO_LEARN_FROM = 500;
const LEAST_SCALE = 1 / 2;
const MOST_SCALE = 16;

/** Undefined where the report cannot be meant for the whole request: some endpoints leave out what they had cached. */
function scaleOf({ inputTokens }: Usage, estimatedTokens = 0): number | undefined {
  const scale = inputTokens / estimatedTokens;
  const isPlausible = estimatedTokens >= ENOUGH_TO_LEARN_FROM && scale >= LEAST_SCALE && scale <= MOST_SCALE;
  return isPlausible ? scale : undefined;
}

function tokensIn(models: ReadonlyMap<string, ModelTotals>): number {
  let total = 0;
  for (const { usage } of models.values()) total += usage.inputTokens + usage.outputTokens;
  return total;
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
    totalTokens: used ? tokensIn(used.models) : 0,
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
