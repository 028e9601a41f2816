/** A sub-agent as the protocol describes it, and the notice for its owner. */
import type { AgentTask, TaskProgress } from "@retinue/protocol";
import type { Notice } from "../../session/inbox.ts";
import { billOf } from "../../session/usage.ts";
import { notification } from "../../session/wording.ts";
import type { TreeParts } from "../../tree/parts.ts";
import type { TaskView } from "../executor.ts";
import { latestPrompt } from "../messages.ts";
import { type AgentRecord, activeMs, type FleetRecord, type McpTaskRecord, type TaskRecord } from "../record.ts";

export interface AgentViewOptions extends Pick<TreeParts, "root" | "usage"> {
  /** From the main agent's child down to this one. */
  pathOf(record: AgentRecord): readonly TaskRecord[];
}

export function agentView({ root, usage, pathOf }: AgentViewOptions): TaskView<AgentRecord> {
  return {
    describe: (record) => ({ ...agentTask(record, root.world.now()), ...pathIn(pathOf(record)) }),
    progress: (record): TaskProgress => {
      const { id } = record;
      const { totalToolCalls, totalTokens } = billOf(usage.of(id));
      return {
        type: "agent",
        recentActivity: usage.activity.recent(id),
        ...usage.activity.intent(id),
        totalToolCalls,
        totalTokens,
        typedResult: record.result?.value,
      };
    },
    notice: (record) => agentNotice(record, root.world.newId()),
  };
}

function agentTask(record: AgentRecord, now: number): AgentTask {
  return {
    ...joinedTask(record, now),
    status: record.status === "orphaned" ? "idle" : record.status,
    prompt: latestPrompt(record),
    typedResult: record.result?.value,
    model: record.model,
    resolvedModel: record.model,
    canPromoteToBackground: record.mode === "sync" && record.status === "running",
    idleSince: isoIfAny(record.idleSince),
    isolation: record.isolation,
    worktree: record.worktree,
  };
}

/** What all tasks have in common that are listed as agents, whoever does the work. */
export function joinedTask(record: AgentRecord | FleetRecord | McpTaskRecord, now: number): AgentTask {
  const latest = record.turns.at(-1)?.response;
  return {
    type: "agent",
    id: record.id,
    toolCallId: record.callId,
    agentType: record.agentType,
    displayName: record.name,
    description: record.description,
    status: record.status === "orphaned" ? "running" : record.status,
    prompt: record.prompt,
    latestResponse: latest,
    result: latest,
    error: record.error,
    reason: record.reason,
    model: null,
    executionMode: record.mode,
    canPromoteToBackground: false,
    startedAt: iso(record.startedAt),
    completedAt: isoIfAny(record.completedAt),
    activeTimeMs: activeMs(record, now),
    activeStartedAt: isoIfAny(record.activeSince),
    ownerId: record.ownerId,
    parentId: record.ownerId === record.rootId ? undefined : record.ownerId,
  };
}

/** Where a task is in the tree, for its description. */
export const pathIn = (path: readonly TaskRecord[]) => ({
  path: path.map(({ id }) => id),
  pathNames: path.map(({ name }) => name),
});

const iso = (ms: number) => new Date(ms).toISOString();
const isoIfAny = (ms: number | undefined) => (ms === undefined ? undefined : iso(ms));

/** The notice about a background agent that has answered or ended. */
function agentNotice(record: AgentRecord, id: string): Notice {
  const about = {
    agentId: record.id,
    agentType: record.agentType,
    displayName: record.name,
    description: record.description,
  };
  const [change, cause]: [string, Notice["cause"]] =
    record.status === "idle"
      ? [
          `has answered and ${record.waiting?.length ? "goes on with the next message" : "is idle"}. Read its answer`,
          { type: "agent_idle", ...about },
        ]
      : record.status === "failed"
        ? [`has failed: ${record.error}. Read its result`, { type: "agent_completed", ...about, status: "failed" }]
        : ["has completed. Read its result", { type: "agent_completed", ...about, status: "completed" }];
  const words = `The background agent "${record.name}" ${change} with read_agent, agent_id "${record.id}".`;
  return { kind: "notice", id, content: notification(words), cause };
}
