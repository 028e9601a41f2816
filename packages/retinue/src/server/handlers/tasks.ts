/** The tasks of a session, whatever their kind. */
import { AppError, type TaskInfo } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import { followTrust } from "../../host/project-trust.ts";
import { clientTask } from "../../tasks/executors/client-view.ts";
import { isEnded } from "../../tasks/moves.ts";
import type { TaskRecord } from "../../tasks/record.ts";
import { type Handlers, hosted } from "../handler.ts";

export const taskHandlers: Handlers = {
  "session.tasks.list": (params, scope) => {
    const target = hosted(params, scope);
    const tasks = target.tasks.registry.records.list().map((record) => described(target, record));
    return { tasks: tasks.filter(({ type }) => scope.client.taskKinds.includes(type)) };
  },
  "session.tasks.getProgress": (params, scope) => {
    const { registry } = hosted(params, scope).tasks;
    const record = registry.records.find(params.id);
    return { progress: record ? registry.executorOf(record).view.progress(record) : null };
  },
  "session.tasks.startAgent": async (params, scope) => {
    const target = hosted(params, scope);
    await followTrust(target);
    const { tree, tasks, main } = target;
    const { agents } = tree.configuration;
    const { sessionId: _, agentType, description = params.name, ...input } = params;
    const wanted = { ...input, agent_type: agentType, description, mode: "background" as const };
    const record = await tasks.gate(main, wanted).catch((error: unknown) => {
      if (agents.find(agentType)) throw error;
      const words = `Unknown agent type: ${agentType}. Valid types: ${agents.names().join(", ")}`;
      throw new AppError("agent_not_found", words, { cause: error });
    });
    await tasks.registry.start(record);
    return { agentId: record.id };
  },
  "session.tasks.sendMessage": async (params, scope) => {
    const source = params.fromAgentId ? `agent-${params.fromAgentId}` : "user";
    try {
      await hosted(params, scope).tasks.registry.send(params.id, { text: params.message, source });
      return { sent: true };
    } catch (error) {
      if (error instanceof AppError) return { sent: false, error: error.message };
      throw error;
    }
  },
  "session.tasks.cancel": async (params, scope) => {
    const { registry } = hosted(params, scope).tasks;
    const record = registry.records.find(params.id, ({ status }) => !isEnded(status));
    return { cancelled: record !== undefined && (await registry.cancel(record.id)) };
  },
  "session.tasks.remove": (params, scope) => {
    const { registry } = hosted(params, scope).tasks;
    const record = registry.records.find(params.id, ({ status }) => isEnded(status));
    return { removed: record !== undefined && registry.remove(record.id) };
  },
  "session.tasks.getCurrentPromotable": (params, scope) => {
    const target = hosted(params, scope);
    const record = promotable(target);
    return record ? { task: described(target, record) } : {};
  },
  "session.tasks.promoteCurrentToBackground": (params, scope) => {
    const target = hosted(params, scope);
    const record = promotable(target);
    const task = record && described(target, record);
    return record && target.tasks.registry.promote(record.id) ? { task } : {};
  },
  "session.tasks.promoteToBackground": (params, scope) => {
    const { registry } = hosted(params, scope).tasks;
    const record = registry.records.find(params.id, ({ mode, status }) => mode === "sync" && status === "running");
    return { promoted: record !== undefined && registry.promote(record.id) };
  },
  "session.tasks.refresh": () => ({}),
  "session.tasks.waitForPending": async (params, scope) => {
    await hosted(params, scope).tasks.registry.settled();
    return {};
  },
  "session.tasks.register": (params, scope) => {
    const { record, ...how } = hosted(params, scope).tasks.clientWork.register(scope.client, params);
    return { task: clientTask(record), ...how };
  },
  "session.tasks.update": async (params, scope) => {
    const record = await hosted(params, scope).tasks.clientWork.update(params);
    return { task: clientTask(record), applied: true, duplicate: false };
  },
};

function described({ tasks: { registry } }: HostedSession, record: TaskRecord): TaskInfo {
  return registry.executorOf(record).view.describe(record);
}

/** What the main turn waits for: the last one that started, of the kind that is listed first. */
function promotable({ session, tasks: { registry } }: HostedSession): TaskRecord | undefined {
  const awaited = registry.records
    .ownedBy(session.id)
    .filter(({ mode, status }) => mode === "sync" && status === "running");
  return awaited.findLast(({ kind }) => kind === awaited[0]?.kind);
}
