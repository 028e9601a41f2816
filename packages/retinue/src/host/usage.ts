/** What a session tree has used, by model and by agent: a view over the states of its sessions. */
import type { AgentUsage } from "@retinue/protocol";
import { NANO } from "../models/price.ts";
import { addUnreported, NO_ESTIMATE, type Unreported } from "../session/estimates.ts";
import type { SessionState } from "../session/state.ts";
import { addTotals, type ModelTotals, modelMetrics } from "../session/usage.ts";
import type { Tasks } from "../tasks/registry.ts";
import type { TreeParts } from "../tree/parts.ts";

export interface Used {
  tree: Pick<TreeParts, "root" | "usage">;
  tasks: { registry: Tasks };
}

export function usageMetrics({ tree: { root, usage }, tasks }: Used) {
  const all = new Map<string, ModelTotals>();
  let apiDurationMs = 0;
  let totalNanoAiu = 0;
  let unreported = NO_ESTIMATE;
  const agentMetrics: Record<string, AgentUsage> = {};
  for (const [sessionId, used] of usage.entries()) {
    const task = tasks.registry.records.get(sessionId);
    apiDurationMs += used.apiDurationMs;
    totalNanoAiu += used.nanoAiu;
    unreported = addUnreported(unreported, used.estimates.unreported);
    for (const [model, totals] of used.models) all.set(model, addTotals(all.get(model), totals));
    agentMetrics[sessionId === root.id ? "main" : sessionId] = {
      agentName: task?.agentType,
      agentDisplayName: task?.displayName,
      totalApiDurationMs: used.apiDurationMs,
      totalNanoAiu: used.nanoAiu,
      modelMetrics: modelMetrics(used.models),
      unreported: shown(used.estimates.unreported),
    };
  }
  const changes = codeChanges(root.state);
  const totals = {
    totalNanoAiu,
    totalApiDurationMs: apiDurationMs,
    modelMetrics: modelMetrics(all),
    agentMetrics,
    unreported: shown(unreported),
  };
  const startTime = root.state.startTime ?? new Date(root.world.now()).toISOString();
  return {
    metrics: {
      ...totals,
      totalPremiumRequestCost: totalNanoAiu / NANO,
      totalUserRequests: root.state.userPrompts,
      sessionStartTime: startTime,
      codeChanges: { ...changes, filesModifiedCount: changes.filesModified.length },
      ...(root.state.model ? { currentModel: root.state.model } : {}),
    },
    shutdown: {
      ...totals,
      totalPremiumRequests: totalNanoAiu / NANO,
      sessionStartTime: Date.parse(startTime),
      codeChanges: changes,
      ...(root.state.model ? { currentModel: root.state.model } : {}),
    },
  };
}

const shown = (unreported: Unreported): Unreported | undefined => (unreported.requests > 0 ? unreported : undefined);

function codeChanges({ linesAdded, linesRemoved, filesModified }: SessionState) {
  return { linesAdded, linesRemoved, filesModified: [...filesModified] };
}
