/** Sessions of the official SDK with a priced model and a budget, and their bills. */
import type { SessionConfig } from "@github/copilot-sdk";
import { expect } from "vitest";
import type { ModelCall } from "./model-answers.ts";
import type { Endpoint, ModelRequest } from "./model-server.ts";
import { byok, type World } from "./runtime.ts";
import { openTalk, type Talk } from "./talk.ts";

export const isChild = (request: ModelRequest) => request.texts("user")[0]?.includes("CHILD") ?? false;
export const tasks = (count: number, more: object = {}): ModelCall[] =>
  Array.from({ length: count }, (_, at) => ({
    name: "task",
    args: { name: `c${at}`, agent_type: "general-purpose", description: "Help", prompt: `CHILD ${at}`, ...more },
    id: `task-${at}`,
  }));

export const USAGE = { prompt: 1000, completion: 500 };
/** 1 credit for 1000 tokens of input, 10 for 1000 of output: an answer with that usage costs 6 credits. */
export const tokenPrices = { inputPrice: 1, outputPrice: 10, batchSize: 1000 };
export const ANSWER_COST = 6;

interface ModelMetrics {
  requests: { count: number };
  usage: Record<string, number>;
  totalNanoAiu: number;
  answeredBy?: string[];
}

export interface Metrics {
  totalNanoAiu: number;
  modelMetrics: Record<string, ModelMetrics>;
  agentMetrics: Record<string, Metrics>;
  unreported?: { requests: number; inputTokens: number; outputTokens: number; nanoAiu: number };
}

export interface Priced {
  multiplier?: number;
  tokenPrices?: object;
}

/** Session options: a priced model, and a definition with a budget that the main agent takes on. */
export function bounded(model: Endpoint, billing: Priced, budget: object): Partial<SessionConfig> {
  const { provider, ...rest } = byok(model);
  const agent = { name: "bounded", description: "Has a budget.", prompt: "Work.", budget };
  const ofOurs = { provider: { ...provider, billing }, customAgents: [agent] } as Partial<SessionConfig>;
  return { ...rest, ...ofOurs, agent: "bounded" };
}

/** What is ours is unknown to the types of the official SDK; its client passes it on. */
export async function priced(world: World, billing: Priced, { budget = {}, ...config }: Options = {}): Promise<Talk> {
  const model = world.model.endpoint();
  const talk = await openTalk(world, { ...bounded(model, billing, budget), ...config });
  return { ...talk, model, [Symbol.asyncDispose]: () => talk[Symbol.asyncDispose]() };
}

export interface Options extends Partial<SessionConfig> {
  budget?: object;
}

export function gate<T = void>() {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

export const metricsOf = ({ session }: Talk) => session.rpc.usage.getMetrics() as unknown as Promise<Metrics>;

/** Law 3: the parts of the bill are the bill, to the last nano. */
export async function bill(talk: Talk): Promise<Metrics> {
  const metrics = await metricsOf(talk);
  const parts = Object.values(metrics.agentMetrics);
  const sum = (of: readonly { totalNanoAiu: number }[]) => of.reduce((total, each) => total + each.totalNanoAiu, 0);
  expect(sum(parts)).toBe(metrics.totalNanoAiu);
  expect(sum(Object.values(metrics.modelMetrics))).toBe(metrics.totalNanoAiu);
  for (const part of parts) expect(sum(Object.values(part.modelMetrics))).toBe(part.totalNanoAiu);
  return metrics;
}

export const credits = ({ totalNanoAiu }: { totalNanoAiu: number }) => totalNanoAiu / 1e9;
