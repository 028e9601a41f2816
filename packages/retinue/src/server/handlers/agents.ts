/** Agents and tasks of a session. */
import { type AgentTask, AppError, type ShellTask, type TaskInfo } from "@retinue/protocol";
import { agentInfo } from "../../agents/agent-info.ts";
import type { HostedSession } from "../../host/hosted-session.ts";
import { type AgentRecord, activeMs } from "../../tasks/record.ts";
import type { Shell } from "../../tools/tool.ts";
import { type Handlers, hosted } from "../handler.ts";

export const agentHandlers: Handlers = {
  "session.agent.list": (params, scope) => {
    const { agents } = hosted(params, scope).tree;
    const shown = params.includeBuiltInAgents ? agents.list() : agents.custom();
    return { agents: shown.map((agent) => agentInfo(agent, params)) };
  },
  "session.agent.getCurrent": (params, scope) => {
    const { definition } = hosted(params, scope).tree.main;
    return { agent: definition ? agentInfo(definition) : null };
  },
  "session.agent.select": (params, scope) => {
    const { tree, session } = hosted(params, scope);
    const agent = tree.agents.getCustom(params.name);
    session.append("subagent.selected", {
      agentName: agent.name,
      agentDisplayName: agent.displayName,
      tools: agent.tools ? [...agent.tools] : null,
    });
    return { agent: agentInfo(agent) };
  },
  "session.agent.deselect": (params, scope) => {
    const { session } = hosted(params, scope);
    session.append("subagent.deselected", {});
    return {};
  },
  "session.agent.setPrompt": (params, scope) => {
    const { tree } = hosted(params, scope);
    tree.agents.setPrompt(params.id, params.prompt);
    tree.changed();
  },
  "session.agent.reload": (params, scope) => {
    const { tree, session } = hosted(params, scope);
    tree.agents.reload();
    tree.changed();
    const agents = tree.agents.custom();
    session.announce("session.custom_agents_updated", {
      agents: agents.map(({ name, displayName, description, source, tools, userInvocable }) => ({
        id: name,
        name,
        displayName,
        description,
        source,
        tools: tools ? [...tools] : null,
        userInvocable,
      })),
      errors: [...tree.agents.problems],
      warnings: [],
    });
    return { agents: agents.map((agent) => agentInfo(agent)) };
  },

  "session.tasks.list": (params, scope) => {
    const target = hosted(params, scope);
    const tasks: TaskInfo[] = [
      ...target.tree.tasks.records.map((record) => agentTask(target, record)),
      ...shells(target).map(shellTask),
    ];
    if (scope.client.taskKinds.includes("client")) tasks.push(...target.tree.clientTasks.list);
    return { tasks };
  },
  "session.tasks.getProgress": (params, scope) => {
    const target = hosted(params, scope);
    const shell = shells(target).find(({ id }) => id === params.id);
    if (shell)
      return {
        progress: {
          type: "shell",
          recentOutput: shell.output().slice(-4000),
          ...(shell.pid === undefined ? {} : { pid: shell.pid }),
        },
      };
    const record = target.tree.tasks.get(params.id);
    return { progress: record ? target.tree.progress(record) : (target.tree.clientTasks.progress(params.id) ?? null) };
  },
  "session.tasks.startAgent": async (params, scope) => {
    const { tree } = hosted(params, scope);
    if (!tree.agents.find(params.agentType)) {
      throw new AppError(
        "agent_not_found",
        `Unknown agent type: ${params.agentType}. Valid types: ${tree.agents.names().join(", ")}`,
      );
    }
    const input = {
      agent_type: params.agentType,
      prompt: params.prompt,
      name: params.name,
      description: params.description ?? params.name,
      model: params.model,
      budget: params.budget,
      mode: "background" as const,
    };
    const record = await tree.spawner.prepare(tree.main, input, "");
    record.callId = record.id;
    await tree.tasks.start(record);
    return { agentId: record.id };
  },
  "session.tasks.sendMessage": async (params, scope) => {
    const { tree } = hosted(params, scope);
    try {
      await tree.tasks.send(params.id, params.message, params.fromAgentId ? `agent-${params.fromAgentId}` : "user");
      return { sent: true };
    } catch (error) {
      if (error instanceof AppError) return { sent: false, error: error.message };
      throw error;
    }
  },
  "session.tasks.cancel": async (params, scope) => {
    const target = hosted(params, scope);
    const shell = shells(target).find(({ id, status }) => id === params.id && status === "running");
    if (shell) {
      await shell.kill();
      return { cancelled: true };
    }
    if (target.tree.clientTasks.get(params.id))
      return { cancelled: await target.tree.clientTasks.cancel(params.id, "cancel_requested") };
    return { cancelled: await target.tree.tasks.cancel(params.id) };
  },
  "session.tasks.remove": (params, scope) => {
    const target = hosted(params, scope);
    const shell = shells(target).find(({ id, status }) => id === params.id && status !== "running");
    if (shell) target.shells.remove(shell.id);
    return {
      removed: shell !== undefined || target.tree.tasks.remove(params.id) || target.tree.clientTasks.remove(params.id),
    };
  },
  "session.tasks.getCurrentPromotable": (params, scope) => {
    const task = promotable(hosted(params, scope));
    return task ? { task } : {};
  },
  "session.tasks.promoteCurrentToBackground": (params, scope) => {
    const target = hosted(params, scope);
    const task = promotable(target);
    if (!task || !promote(target, task.id)) return {};
    return { task };
  },
  "session.tasks.promoteToBackground": (params, scope) => ({ promoted: promote(hosted(params, scope), params.id) }),
  "session.tasks.refresh": () => ({}),
  "session.tasks.waitForPending": async (params, scope) => {
    const target = hosted(params, scope);
    await target.tree.tasks.settled();
    await Promise.all(
      shells(target)
        .filter(({ status, detached }) => status === "running" && !detached)
        .map(({ ended }) => ended),
    );
    return {};
  },
  "session.tasks.register": (params, scope) => hosted(params, scope).tree.clientTasks.register(scope.client, params),
  "session.tasks.update": (params, scope) => ({
    task: hosted(params, scope).tree.clientTasks.update(params),
    applied: true,
    duplicate: false,
  }),
};

function shells({ shells: own, tree }: HostedSession): Shell[] {
  return [...own.list(), ...tree.children.agents.flatMap((agent) => agent.shells.list())];
}

function promotable(target: HostedSession): TaskInfo | undefined {
  const { session, tree } = target;
  const record = tree.tasks.records.findLast(
    ({ ownerId, mode, status }) => ownerId === session.id && mode === "sync" && status === "running",
  );
  if (record) return agentTask(target, record);
  const shell = target.shells.list().findLast((each) => each.status === "running" && !each.background);
  return shell ? shellTask(shell) : undefined;
}

function promote(target: HostedSession, id: string): boolean {
  const shell = target.shells.list().find((each) => each.id === id && each.status === "running" && !each.background);
  if (!shell) return target.tree.tasks.promote(id);
  shell.promote();
  return true;
}

function agentTask({ session }: HostedSession, record: AgentRecord): AgentTask {
  const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  const latest = record.turns.at(-1)?.response;
  return {
    type: "agent",
    id: record.id,
    toolCallId: record.callId,
    agentType: record.agentType,
    displayName: record.name,
    description: record.description,
    status: record.status,
    prompt: record.prompt,
    ...(latest === undefined ? {} : { latestResponse: latest, result: latest }),
    ...(record.error ? { error: record.error } : {}),
    model: record.model,
    resolvedModel: record.model,
    executionMode: record.mode,
    canPromoteToBackground: record.mode === "sync" && record.status === "running",
    startedAt: new Date(record.startedAt).toISOString(),
    completedAt: iso(record.completedAt),
    idleSince: iso(record.idleSince),
    activeTimeMs: activeMs(record, session.world.now()),
    activeStartedAt: iso(record.activeSince),
    ...(record.ownerId === session.id ? {} : { parentId: record.ownerId }),
    path: record.path,
  };
}

function shellTask(shell: Shell): ShellTask {
  const isRunning = shell.status === "running";
  return {
    type: "shell",
    id: shell.id,
    description: shell.description,
    status: shell.status,
    command: shell.command,
    attachmentMode: shell.detached ? "detached" : "attached",
    executionMode: shell.background ? "background" : "sync",
    canPromoteToBackground: isRunning && !shell.background,
    ...(shell.pid === undefined ? {} : { pid: shell.pid }),
    ...(shell.logPath ? { logPath: shell.logPath } : {}),
    startedAt: new Date(shell.startedAt).toISOString(),
  };
}
