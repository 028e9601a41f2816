/**
 * MCP tasks: calls that an MCP server goes on with after it has answered.
 *
 * Owns their records and events. In the log such a task is a child session with one message and one answer, so that it is listed, searched
 * and given an end like a sub-agent. How a task is followed at its server is in mcp/tasks/, which is loaded when there is one.
 */
import { AppError, type EventData, messageOf, visible } from "@retinue/protocol";
import type { Asker } from "../../asks/ask.ts";
import type { McpUse } from "../../mcp/host.ts";
import type { TaskForm, TaskHome } from "../../mcp/tasks/questions.ts";
import type { TaskLook } from "../../mcp/tasks/server-task.ts";
import { Inbox } from "../../session/inbox.ts";
import { beginRun } from "../../session/run-boundary.ts";
import { Session } from "../../session/session.ts";
import { stopOf } from "../../session/stop.ts";
import { failure, type McpTaskService, type Outcome, type StartedMcpTask, success } from "../../tools/tool.ts";
import { elicit } from "../../tree/asking.ts";
import { formValues } from "../../tree/form-values.ts";
import type { TreeParts } from "../../tree/parts.ts";
import type { WorkingAgent } from "../../tree/working-agent.ts";
import type { Executor, RunOptions } from "../executor.ts";
import { type End, isEnded } from "../moves.ts";
import { type McpTaskRecord, newHead, type TaskRecord } from "../record.ts";
import type { Tasks } from "../registry.ts";
import { endJoinedRun, joinedRun } from "./joined-run.ts";
import { mcpTaskView } from "./mcp-task-view.ts";

export interface McpTasksOptions {
  parts: Pick<TreeParts, "root" | "servers" | "participants" | "asks" | "configuration">;
  /** The registry, once it exists. */
  tasks(): Tasks;
  /** The agent of a session of the tree; the main agent when the session is unknown. */
  agentOf(sessionId: string): WorkingAgent;
  /** What is known of a task has changed. */
  onReport(): void;
}

export class McpTasks implements Executor<McpTaskRecord> {
  readonly kind = "mcp-task";
  readonly traits = { isKept: true, joinsOwner: true, isAddressable: true, runsHere: true, delaysIdle: true };
  readonly view;
  readonly #options: McpTasksOptions;
  /** Servers that are held for tasks, and the agents that brought them. */
  readonly #held = new Map<string, { use: McpUse; agent: string }>();

  constructor(options: McpTasksOptions) {
    this.#options = options;
    const pathOf = (record: McpTaskRecord): readonly TaskRecord[] => options.tasks().records.pathOf(record);
    this.view = mcpTaskView({ root: options.parts.root, pathOf });
  }

  /** For one call of an agent. */
  ofCall(owner: WorkingAgent, { callId, signal }: { callId: string; signal: AbortSignal }): McpTaskService {
    const { records } = this.#options.tasks();
    return {
      known: () => {
        const record = records.byCall(owner.session.id, callId);
        return record?.kind === "mcp-task" ? startedWords(record) : undefined;
      },
      started: (task) => this.#begin(task, { owner, callId, signal }),
    };
  }

  /** The row of the session, the record and the start event are one transaction, as for a sub-agent. */
  async open(record: McpTaskRecord, { isNew }: { isNew: boolean }): Promise<void> {
    if (!isNew) return;
    const { root } = this.#options.parts;
    const { log, world, place } = root;
    const owner = this.#options.agentOf(record.ownerId);
    const now = world.now();
    const { id, rootId, ownerId, callId, agentType, name, description, prompt, mode } = record;
    log.create({
      id,
      rootId,
      parentId: ownerId,
      cwd: place.workingDirectory,
      name,
      userNamed: false,
      createdAt: now,
      updatedAt: now,
    });
    const data: EventData<"subagent.started"> = {
      toolCallId: callId,
      agentName: agentType,
      agentDisplayName: name,
      taskName: name,
      agentDescription: description,
      agentType,
      executionMode: mode,
      ...(ownerId === rootId ? {} : { parentId: ownerId }),
      resumable: true,
      remoteSessionId: id,
      path: [...owner.session.agentPath, id],
      pathNames: [...owner.pathNames, name],
    };
    beginRun(data, joinedRun(record, this.#options.parts.root));
    this.#append(record, "user.message", { content: prompt, source: `agent-${ownerId}`, messageId: world.newId() });
    this.#options.tasks().records.save(record);
  }

  async start(record: McpTaskRecord, { signal }: RunOptions): Promise<End | undefined> {
    const { follow } = await import("../../mcp/tasks/follow.ts");
    const { root } = this.#options.parts;
    // Nothing is asked of the server before the task is on record.
    await root.log.recorded({ signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    const end = await follow({
      task: taskRef(record),
      call: { sessionId: record.ownerId, callId: record.callId },
      pollMs: record.pollMs,
      server: () => this.#server(record),
      deadline: () => record.startedAt + (record.ttlMs ?? LONGEST_MS),
      now: root.world.now,
      signal,
      onLook: (look) => this.#note(record, look),
      onProgress: (progress) => {
        record.progress = progress;
        this.#options.onReport();
      },
      onWarning: (message) => this.#warn(record, message),
      ask: async (question, options) => await this.#ask(record, question, options),
    });
    if (!end) return stopOf(signal)?.isParked ? undefined : { way: "cancelled" };
    if (end.way === "completed") return await this.#endOf(record, end.result);
    return { way: WAYS[end.way], error: bounded(end.error, MAX_ERROR) };
  }

  async continue(record: McpTaskRecord, options: RunOptions): Promise<End | undefined> {
    return await this.start(record, options);
  }

  async steer(record: McpTaskRecord, { text }: { text: string }): Promise<void> {
    const { steer } = await import("../../mcp/tasks/steer.ts");
    const { signal } = new AbortController();
    const server = await this.#server(record);
    const { serverTaskId: taskId } = record;
    const refuse = (why: string) =>
      new AppError("task_state", `The MCP task ${record.id} takes no messages: ${why}. Start a new task instead.`);
    if (!server) throw refuse("the session has its server no more");
    const isTaken = await server
      .with((client) => steer(client, { taskId, message: text }, { signal }), { signal })
      .catch((error: unknown) => {
        throw refuse(messageOf(error));
      });
    if (!isTaken) throw refuse(`the server '${record.server}' does not support it`);
  }

  /** A task that is given up is cancelled at its server too, as far as that can be reached in the time that is left. */
  async ending(record: McpTaskRecord, end: End, { signal }: { signal: AbortSignal }): Promise<void> {
    this.#options.parts.asks.forget(record.id);
    if (end.way === "completed" || hasEndedThere(record)) return;
    const { openTask } = await import("../../mcp/tasks/open-task.ts");
    try {
      const server = await this.#server(record);
      await server?.with((client) => openTask(taskRef(record)).cancel(client, { signal }), { signal });
      record.serverStatus = "cancelled";
    } catch (error) {
      this.#warn(record, `The server was not told that the task is cancelled: ${messageOf(error)}`);
    }
  }

  ended(record: McpTaskRecord, end: End): void {
    endJoinedRun(record, end, this.#options.parts.root);
  }

  async #begin(
    task: StartedMcpTask,
    { owner, callId, signal }: { owner: WorkingAgent; callId: string; signal: AbortSignal },
  ): Promise<Outcome> {
    const { title, args, ...ofServer } = task;
    const name = visible(title).slice(0, NAME_CHARS);
    const { session } = owner;
    const tasks = this.#options.tasks();
    const isTwice = tasks.records.list().some((known) => isSameTask(known, task) && !isEnded(known.status));
    if (isTwice)
      return failure(`MCP server '${task.server}' answered with the task of another call, ${task.serverTaskId}.`);
    const record: McpTaskRecord = {
      ...newHead(session.world.now()),
      ...ofServer,
      kind: "mcp-task",
      id: session.world.newId(),
      rootId: session.root.id,
      ownerId: session.id,
      callId,
      name,
      description: `${task.server}: ${name}`,
      agentType: "mcp-task",
      prompt: JSON.stringify(args),
      mode: "background",
      warnings: [],
    };
    await tasks.start(record);
    if (signal.aborted && !stopOf(signal)?.isParked) await tasks.cancel(record.id, "parent stopped");
    return startedWords(record);
  }

  async close({ id }: McpTaskRecord): Promise<void> {
    const held = this.#held.get(id);
    this.#held.delete(id);
    await held?.use.close();
  }

  async #server(record: McpTaskRecord): Promise<TaskHome | undefined> {
    const { ownerId, server: name, serverIdentity } = record;
    const host = await this.#options.parts.servers.host();
    if (!this.#mayHold(record)) await this.close(record);
    if (host.reached(name).length === 0) await this.#options.agentOf(ownerId).kit.all(); // Brings servers of its definition.
    const { serverIdentity: identityOf } = await import("../../mcp/server-config.ts");
    const configs = host.reached(name).map(({ connection }) => connection.config);
    const config = configs.find((each) => identityOf(name, each) === serverIdentity) ?? configs[0];
    if (!config) return undefined;
    this.#hold(record, () => host.use({ [name]: config }));
    return { with: (use, options) => host.with({ name, identity: identityOf(name, config) }, use, options) };
  }

  /** A server that the selected agent brings must not end with the selection while it works. */
  #hold({ id, ownerId, rootId, server }: McpTaskRecord, use: () => McpUse): void {
    const { definition } = this.#options.agentOf(ownerId).kit;
    if (ownerId !== rootId || !definition?.mcpServers[server] || this.#held.has(id)) return;
    this.#held.set(id, { use: use(), agent: definition.name });
  }

  /** Not when the agent that brought it is gone, for example with the trust in its project. */
  #mayHold({ id, server }: McpTaskRecord): boolean {
    const held = this.#held.get(id);
    return !held || this.#options.parts.configuration.agents.find(held.agent)?.mcpServers[server] !== undefined;
  }

  #note(record: McpTaskRecord, { status, message, updatedAt, ttlMs, pollMs }: TaskLook): void {
    const isNews = record.serverStatus !== status || record.statusMessage !== message;
    const said = {
      serverStatus: status,
      statusMessage: message,
      updatedAt,
      ttlMs: ttlMs === undefined ? record.ttlMs : ttlMs,
      pollMs,
    };
    Object.assign(record, said);
    if (!isNews) return;
    this.#options.tasks().records.save(record);
    this.#options.onReport();
  }

  #warn(record: McpTaskRecord, message: string): void {
    const timestamp = new Date(this.#options.parts.root.world.now()).toISOString();
    if (record.warnings.at(-1)?.message === message) return;
    record.warnings = [...record.warnings, { message, timestamp }].slice(-MAX_WARNINGS);
    this.#options.onReport();
  }

  /** The agent at work may hold a place meanwhile, so the task asks for itself and holds none. */
  async #ask(
    record: McpTaskRecord,
    { message, requestedSchema = {}, url }: TaskForm,
    { signal }: { signal: AbortSignal },
  ) {
    const { participants, asks } = this.#options.parts;
    const { id, callId, server } = record;
    const form = {
      message,
      requestedSchema: { ...requestedSchema },
      url,
      source: server,
      callId,
      comesAgain: true,
      signal,
    };
    const { action, content } = await elicit(participants, this.#asker(record), form);
    return {
      response: content ? { action, content: formValues(content) } : { action },
      taken: () => asks.callEnded({ sessionId: id, callId }),
    };
  }

  #asker({ id, ownerId, callId, agentType, name }: McpTaskRecord): Asker {
    const owner = this.#options.agentOf(ownerId);
    const { log, world, place } = this.#options.parts.root;
    const inbox = new Inbox({ sessionId: id, log, stored: [] });
    const session = new Session({ id, log, world, place, inbox, parent: owner.session, parentCallId: callId });
    const atOnce = <T>(work: () => Promise<T>) => work();
    const slot = { waiting: atOnce, waitingForPerson: atOnce };
    return { session, asks: this.#options.parts.asks, name: agentType, pathNames: [...owner.pathNames, name], slot };
  }

  async #endOf(
    { server }: McpTaskRecord,
    result: Parameters<typeof import("../../mcp/outcome.ts").outcomeOf>[1],
  ): Promise<End> {
    const { outcomeOf } = await import("../../mcp/outcome.ts");
    const { resultType, text } = outcomeOf(server, result);
    const whole = bounded(text, MAX_TEXT);
    if (resultType !== "success") return { way: "failed", error: bounded(text, MAX_ERROR), text: whole };
    return { way: "completed", text: whole || "The task has completed, and gave no text." };
  }

  #append: Append = (record, type, data) => {
    this.#options.parts.root.log.append(type, data, { sessionId: record.id });
  };
}

type Append = <T extends Parameters<Session["append"]>[0]>(
  record: McpTaskRecord,
  type: T,
  data: Parameters<typeof Session.prototype.append<T>>[1],
) => void;

/** For tasks that their server does not limit. */
const LONGEST_MS = 24 * 3_600_000;
const MAX_WARNINGS = 20;
const MAX_TEXT = 1_000_000;
const MAX_ERROR = 2_000;
const NAME_CHARS = 80;

const bounded = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}\n[The rest of ${text.length} characters was left out.]` : text;

const WAYS = { failed: "failed", expired: "timed_out", lost: "lost" } as const;

const ENDED: readonly string[] = ["completed", "failed", "cancelled"];
const hasEndedThere = ({ serverStatus }: McpTaskRecord): boolean => ENDED.includes(serverStatus);

const isSameTask = (record: TaskRecord, { serverIdentity, serverTaskId }: StartedMcpTask): boolean =>
  record.kind === "mcp-task" && record.serverIdentity === serverIdentity && record.serverTaskId === serverTaskId;

const taskRef = ({ dialect, serverTaskId: taskId }: McpTaskRecord) =>
  ({ dialect: dialect === "2025-11-25" ? dialect : "io.modelcontextprotocol/tasks", taskId }) as const;

function startedWords({ id, description, prompt }: McpTaskRecord): Outcome {
  const text = `MCP task started in background with agent_id: ${id}. You will be told when it has ended; go on with other work.`;
  return success(text, { detail: `Arguments of ${description} (${id}):\n${prompt}` });
}
