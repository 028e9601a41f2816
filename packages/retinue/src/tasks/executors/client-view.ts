/** Work of a client as the protocol describes it. There are no notices: the client that reports on it knows. */
import type { ClientTask, TaskProgress } from "@retinue/protocol";
import type { TaskView } from "../executor.ts";
import type { ClientRecord } from "../record.ts";

const SHOWN = 20;

export const clientView = {
  describe: clientTask,
  progress: ({ status, sequence, updatedAt, phase, percentage, activity }): TaskProgress => ({
    type: "client",
    status,
    sequence,
    updatedAt: iso(updatedAt),
    phase,
    percentage,
    lastMessage: activity.at(-1)?.message,
    recentActivity: activity.slice(-SHOWN),
  }),
  notice: () => undefined,
} satisfies TaskView<ClientRecord>;

export function clientTask(record: ClientRecord): ClientTask {
  const { id, clientTaskId, displayName, description, status, clientId, canCancel, sequence } = record;
  const { result, error, errorCode, cancellationReason, activeMs: activeTimeMs } = record;
  const isOrphan = status === "orphaned";
  return {
    type: "client",
    id,
    clientTaskId,
    displayName,
    description,
    status,
    owner: {
      participantId: clientId,
      joinId: clientId,
      kind: "sdk",
      presence: isOrphan ? "disconnected" : "connected",
      disconnectedAt: isOrphan ? maybe(record.orphanedAt) : undefined,
    },
    executionMode: "background",
    canCancel,
    sequence,
    result,
    error,
    errorCode,
    cancellationReason,
    startedAt: iso(record.startedAt),
    updatedAt: iso(record.updatedAt),
    completedAt: maybe(record.completedAt),
    activeTimeMs,
    activeStartedAt: iso(record.startedAt),
    orphanedAt: maybe(record.orphanedAt),
    reclaimedAt: maybe(record.reclaimedAt),
  };
}

const iso = (ms: number) => new Date(ms).toISOString();
const maybe = (ms: number | undefined) => (ms === undefined ? undefined : iso(ms));
