/**
 * What must be right before a sub-agent starts: agent, depth, tools, skills, model, mode. The one gate of every spawn path.
 */
import { AppError } from "@retinue/protocol";
import { type Inherit, toInherit } from "../agents/definition.ts";
import { checkToolNames } from "../agents/effective-tools.ts";
import { type AvailableModel, chooseModel } from "../agents/model-policy.ts";
import { lowerBudget } from "../tasks/budget.ts";
import type { AgentRecord } from "../tasks/record.ts";
import type { Spawner } from "../tasks/task-service.ts";
import type { Tree } from "./tree.ts";
import type { WorkingAgent } from "./working-agent.ts";

export function createSpawner(tree: Tree): Spawner {
  return {
    async prepare(owner, input, callId) {
      const parent = tree.children.agent(owner.session.id) ?? tree.main;
      const definition = tree.agents.get(input.agent_type);
      checkDepth(tree, parent);
      checkToolNames(
        [
          ...(await parent.allTools()),
          ...definition.toolDefinitions.map(({ name }) => ({ name, source: "host" as const })),
        ],
        definition,
      );
      for (const skill of definition.skills) tree.skills.load(skill);
      const choice = chooseModel({
        requested: input.model,
        agent: definition,
        session: { model: owner.model().id, reasoningEffort: owner.session.state.reasoningEffort },
        available: availableModels(tree),
        settings: tree.modelSettings,
      });
      const { mode, note } = modeOf(parent, input.mode ?? "sync");
      const id = tree.root.world.newId();
      const record: AgentRecord = {
        id,
        rootId: tree.root.id,
        ownerId: owner.session.id,
        callId,
        agentType: definition.name,
        name: input.name,
        displayName: definition.source === "builtin" ? input.name : definition.displayName,
        description: definition.source === "builtin" ? input.description : definition.description || input.description,
        prompt: input.prompt,
        path: [...owner.pathNames, input.name],
        mode,
        isMultiTurn: owner.session.parent === undefined,
        status: "running",
        model: choice.model,
        reasoningEffort: input.reasoning_effort ?? choice.reasoningEffort,
        modelSelectionSource: choice.modelSelectionSource,
        taskModelSource: choice.taskModelSource,
        note: [note, choice.note].filter(Boolean).join(" ") || undefined,
        inherit: inheritOf(input.inherit, definition.inherit),
        budget: lowerBudget(definition.budget, input.budget),
        startedAt: tree.root.world.now(),
        activeMs: 0,
        hasEnded: false,
        turns: [],
      };
      return record;
    },
  };
}

function checkDepth({ maxDepth }: Tree, parent: WorkingAgent): void {
  if (parent.session.depth < maxDepth) return;
  throw new AppError(
    "spawn_refused",
    `Maximum sub-agent depth of ${maxDepth} reached. Do this work yourself instead of delegating it.`,
  );
}

function modeOf(parent: WorkingAgent, wanted: "sync" | "background"): { mode: "sync" | "background"; note?: string } {
  const isNested = parent.session.parent !== undefined;
  if (wanted === "sync" || !isNested || parent.definition?.nestedBackground === true) return { mode: wanted };
  return {
    mode: "sync",
    note: "Inside a sub-agent, background work runs as sync: this call has waited for the answer.",
  };
}

function availableModels(tree: Tree): readonly AvailableModel[] | null {
  if (tree.allowedModels)
    return tree.allowedModels.map((id) => ({ id, multiplier: tree.models.choose(id).info.multiplier }));
  const named = tree.config.models?.map(({ id }) => ({ id, multiplier: tree.models.choose(id).info.multiplier }));
  return named && named.length > 0 ? named : null;
}

function inheritOf(asked: string | undefined, fallback: Inherit): Inherit {
  return asked === undefined ? fallback : toInherit(asked);
}
