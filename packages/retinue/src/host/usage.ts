/** What a session tree has used, by model and by agent: a view over the states of its sessions. */
import type { AgentUsage, ModelUsage } from "@retinue/protocol";
import type { SessionState } from "../session/state.ts";
import { addTotals, type ModelTotals } from "../session/usage.ts";
import type { Tasks } from "../tasks/registry.ts";
import type { TreeParts } from "../tree/parts.ts";

export interface Used {
  tree: Pick<TreeParts, "root" | "usage">;
  tasks: { registry: Tasks };
}

export function usageMetrics({ tree: { root, usage }, tasks }: Used) {
  const all = new Map<string, ModelTotals>();
  let apiDurationMs = 0;
  const agentMetrics: Record<string, AgentUsage> = {};
  for (const [sessionId, used] of usage.entries()) {
    const task = tasks.registry.records.get(sessionId);
    apiDurationMs += used.apiDurationMs;
    for (const [model, totals] of used.models) all.set(model, addTotals(all.get(model), totals));
    agentMetrics[sessionId === root.id ? "main" : sessionId] = {
      agentName: task?.agentType,
      agentDisplayName: task?.displayName,
      totalApiDurationMs: used.apiDurationMs,
      totalNanoAiu: 0,
      modelMetrics: metricsOf(used.models),
    };
  }
  const changes = codeChanges(root.state);
  const modelMetrics = metricsOf(all);
  const startTime = root.state.startTime ?? new Date(root.world.now()).toISOString();
  return {
    metrics: {
      totalPremiumRequestCost: 0,
      totalUserRequests: root.state.userPrompts,
      totalNanoAiu: 0,
      totalApiDurationMs: apiDurationMs,
      sessionStartTime: startTime,
      codeChanges: { ...changes, filesModifiedCount: changes.filesModified.length },
      modelMetrics,
      agentMetrics,
      ...(root.state.model ? { currentModel: root.state.model } : {}),
    },
    shutdown: {
      totalPremiumRequests: 0,
      totalNanoAiu: 0,
      totalApiDurationMs: apiDurationMs,
      sessionStartTime: Date.parse(startTime),
      codeChanges: changes,
      modelMetrics,
      agentMetrics,
      ...(root.state.model ? { currentModel: root.state.model } : {}),
    },
  };
}

function metricsOf(totals: ReadonlyMap<string, ModelTotals>): Record<string, ModelUsage> {
  return Object.fromEntries(
    [...totals].map(([model, { requests, usage }]) => [
      model,
      { requests: { count: requests, cost: 0 }, usage, totalNanoAiu: 0 },
    ]),
  );
}

function codeChanges({ linesAdded, linesRemoved, filesModified }: SessionState) {
  return { linesAdded, linesRemoved, filesModified: [...filesModified] };
}
