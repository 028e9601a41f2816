/** A task of an MCP server as the protocol describes it, and the notice for its owner. */
import type { TaskProgress } from "@retinue/protocol";
import type { Notice } from "../../session/inbox.ts";
import type { Session } from "../../session/session.ts";
import { notification } from "../../session/wording.ts";
import type { TaskView } from "../executor.ts";
import type { McpTaskRecord, TaskRecord } from "../record.ts";
import { joinedTask, pathIn } from "./agent-view.ts";

export interface McpTaskViewOptions {
  root: Session;
  /** From the main agent's child down to this one. */
  pathOf(record: McpTaskRecord): readonly TaskRecord[];
}

export function mcpTaskView({ root, pathOf }: McpTaskViewOptions): TaskView<McpTaskRecord> {
  return {
    describe: (record) => ({ ...joinedTask(record, root.world.now()), ...pathIn(pathOf(record)) }),
    progress: progressOf,
    notice: (record) => noticeOf(record, root.world.newId()),
  };
}

function progressOf(record: McpTaskRecord): TaskProgress {
  const { server, tool, serverTaskId, serverStatus, statusMessage, progress, warnings } = record;
  return {
    type: "agent",
    recentActivity: [],
    latestIntent: progress?.message ?? statusMessage,
    totalToolCalls: 0,
    totalTokens: 0,
    mcpTask: {
      serverName: server,
      toolName: tool,
      taskId: serverTaskId,
      status: serverStatus,
      statusMessage,
      progress: progress?.progress,
      total: progress?.total,
      progressMessage: progress?.message,
      eventStreamWarnings: warnings.map((warning) => ({ ...warning })),
      createdAt: record.createdAt,
      lastUpdatedAt: record.updatedAt,
      ttlMs: record.ttlMs,
      pollIntervalMs: record.pollMs,
    },
  };
}

function noticeOf(record: McpTaskRecord, id: string): Notice {
  const { name, agentType, description, error } = record;
  const status = record.status === "failed" ? "failed" : "completed";
  const change = status === "failed" ? `has failed: ${error}.` : "has completed.";
  const words = `The MCP task "${name}" ${change} Read its result with read_agent, agent_id "${record.id}".`;
  const about = { agentId: record.id, agentType, displayName: name, description };
  return { kind: "notice", id, content: notification(words), cause: { type: "agent_completed", ...about, status } };
}
