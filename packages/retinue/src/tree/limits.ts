/** The limits of a budget: which there are, the lower of two, and their names for people and models. */
import type { Budget } from "@retinue/protocol";
import { NANO } from "../models/price.ts";
import type { Amounts, Resource, Share } from "./ledger.ts";

const LIMITS = [
  "maxTurns",
  "maxSubtreeTurns",
  "maxTokens",
  "maxToolCalls",
  "maxSeconds",
  "maxCost",
  "maxSpawns",
] as const satisfies readonly (keyof Budget)[];

/** The lower of each pair of limits, so that a call cannot get more than the agent's definition allows. */
export function lowerBudget(a: Budget, b: Budget = {}): Budget {
  const both = LIMITS.map(
    (name) => [name, Math.min(a[name] ?? Number.POSITIVE_INFINITY, b[name] ?? Number.POSITIVE_INFINITY)] as const,
  );
  return Object.fromEntries(both.filter(([, limit]) => limit < Number.POSITIVE_INFINITY));
}

export function limitsOf(budget: Budget): Amounts | undefined {
  const { maxTurns, maxSubtreeTurns, maxTokens, maxToolCalls, maxCost, maxSpawns } = budget;
  const limits = {
    turns: maxTurns,
    subtreeTurns: maxSubtreeTurns,
    tokens: maxTokens,
    toolCalls: maxToolCalls,
    nanoAiu: maxCost === undefined ? undefined : Math.round(maxCost * NANO),
    spawns: maxSpawns,
  };
  return Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined;
}

const NAMES: Record<Resource, string> = {
  turns: "turns",
  subtreeTurns: "turns of it and all agents below it",
  tokens: "tokens",
  toolCalls: "tool calls",
  nanoAiu: "credits",
  spawns: "agents started",
};

export function shareOf(share: Share | undefined): number {
  if (!share) return 0;
  return share.limit === 0 ? 1 : share.used / share.limit;
}

export function words(share: Share | undefined): string {
  if (!share) return "no limit is set";
  const unit = share.resource === "nanoAiu" ? NANO : 1;
  const whose = share.isAbove ? ", of an agent above" : "";
  return `${Math.min(share.used, share.limit) / unit} of ${share.limit / unit} ${NAMES[share.resource]}${whose}`;
}
