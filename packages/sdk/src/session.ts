/**
 * A session, as the program that drives it sees it: send, listen, wait, leave.
 *
 * Owns what one session's program can do. Answering the runtime's asks is in requests.ts and broadcast.ts; the client
 * makes sessions and delivers their events to the hub.
 */

import type { OpenedSession, TaskInfo } from "@retinue/protocol";
import { type AgentInfo, AppError, type EventOf, type EventType, type SessionEvent } from "@retinue/protocol";
import type { AgentTree } from "./agent-node.ts";
import { type AskOptions, ask } from "./ask.ts";
import type { Attached } from "./attached.ts";
import type { EventListener, TypedEventListener } from "./event-hub.ts";
import { hasActiveWork, readHistory } from "./history.ts";
import type { AssistantMessageEvent, MessageOptions, WaitLimits } from "./message.ts";
import { type Call, type Send, type SessionRpc, sessionRpc, typedCall } from "./rpc.ts";
import { SessionFleet } from "./session-fleet.ts";
import { SessionTasks } from "./session-tasks.ts";
import { SessionUi } from "./session-ui.ts";
import { type StreamOptions, type StreamPart, type StreamSource, streamOf } from "./stream.ts";

const ENDED: readonly string[] = ["completed", "failed", "cancelled", "idle", "orphaned"];

export interface SessionOptions {
  attached: Attached;
  opened: OpenedSession;
  send: Send;
  /** Leaves the session at the runtime and in the client. */
  leave(how: "detach" | "destroy"): Promise<void>;
}

export class Session implements AsyncIterable<SessionEvent>, AsyncDisposable {
  readonly sessionId: string;
  readonly workspacePath: string | undefined;
  readonly capabilities: NonNullable<OpenedSession["capabilities"]>;
  readonly rpc: SessionRpc;
  readonly tasks: SessionTasks;
  readonly fleet: SessionFleet;
  readonly ui: SessionUi;
  readonly #hub: Attached["hub"];
  readonly #activity: Attached["activity"];
  readonly #leave: SessionOptions["leave"];
  readonly #tree: Attached["tree"];
  readonly #call: Call;
  #left: Promise<void> | undefined;

  constructor({ attached, opened, send, leave }: SessionOptions) {
    this.sessionId = attached.sessionId;
    this.workspacePath = opened.workspacePath;
    this.capabilities = opened.capabilities ?? {};
    this.rpc = sessionRpc(send, attached.sessionId);
    this.tasks = new SessionTasks(this.rpc, {
      cancels: attached.cancels,
      wait: (id, limits) => this.waitForTask(id, limits),
    });
    this.fleet = new SessionFleet(this.rpc);
    this.ui = new SessionUi(this.rpc, () => this.capabilities.ui?.elicitation === true);
    this.#hub = attached.hub;
    this.#activity = attached.activity;
    this.#leave = leave;
    this.#tree = attached.tree;
    this.#call = typedCall(send);
  }

  /** Queues a prompt; resolves with its message id, before the prompt is worked on. */
  async send(message: string | MessageOptions): Promise<string> {
    const options = typeof message === "string" ? { prompt: message } : message;
    return (await this.rpc.send(options)).messageId;
  }

  /**
   * Sends a prompt and waits until the session has nothing left to do, in any mode. Resolves with the main agent's last
   * message. An error of the main agent rejects; one of a sub-agent does not, because the main agent goes on. There is no
   * limit of time unless one is given, in milliseconds or by name: agents work for as long as they need.
   */
  async sendAndWait(
    message: string | MessageOptions,
    timeout: number | WaitLimits = {},
  ): Promise<AssistantMessageEvent | undefined> {
    const limits: WaitLimits = typeof timeout === "number" ? { timeoutMs: timeout } : timeout;
    const stop = new AbortController();
    const signal = limits.signal ? AbortSignal.any([limits.signal, stop.signal]) : stop.signal;
    const answer = this.#answer({ ...limits, signal });
    // The caller gets the error of the failed send; the wait that it cut off does not matter.
    answer.catch(() => undefined);
    try {
      await this.send(message);
    } catch (error) {
      stop.abort();
      throw error;
    }
    return answer;
  }

  /**
   * Sends a prompt whose answer must fit a schema (zod, or another Standard Schema) and resolves with the checked data. An
   * answer that does not fit is sent back, twice by default; then it rejects with an `AnswerError` that has the text.
   */
  ask<Data>(prompt: string, options: AskOptions<Data>): Promise<Data> {
    return ask((message, limits) => this.sendAndWait(message, limits), prompt, options);
  }

  /**
   * Sends a prompt when the loop begins, and yields text, calls and sub-agents as they come; the last part is `end`. Errors of
   * the main agent reject. Leaving the loop early aborts the work, unless `keepRunning` is set.
   */
  stream(message: string | MessageOptions, options: StreamOptions = {}): AsyncGenerator<StreamPart, void, undefined> {
    const hub = this.#hub;
    const activity = this.#activity;
    const source: StreamSource = {
      listen: (listener) => hub.listen(listener),
      get isBusy() {
        return activity.isBusy;
      },
      sendAndWait: (limits) => this.sendAndWait(message, limits),
      abort: () => this.abort(),
      isLeft: () => hub.ended !== undefined,
    };
    return streamOf(source, options);
  }

  #answer(limits: WaitLimits): Promise<AssistantMessageEvent | undefined> {
    let last: AssistantMessageEvent | undefined;
    // While a turn runs, the `session.idle` of an earlier prompt may still come: ours comes after our own message.
    let isOurs = !this.#activity.isBusy;
    const done = this.#hub.until(
      (event): { error?: AppError } | undefined => {
        if (event.agentId !== undefined) return undefined;
        if (event.type === "user.message") isOurs = true;
        if (event.type === "assistant.message") last = event;
        if (event.type === "session.error") return { error: turnFailed(event) };
        return event.type === "session.idle" && isOurs ? {} : undefined;
      },
      { ...limits, what: "session.idle" },
    );
    return done.then(({ error }) => {
      if (error) throw error;
      return last;
    });
  }

  on<Type extends EventType>(eventType: Type, handler: TypedEventListener<Type>): () => void;
  on(handler: EventListener): () => void;
  on<Type extends EventType>(first: Type | EventListener, handler?: TypedEventListener<Type>): () => void {
    if (typeof first === "function") return this.#hub.listen(first);
    return handler ? this.#hub.listenTo(first, handler) : () => undefined;
  }

  [Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    return this.#hub.events();
  }

  /** Stops everything that runs in the session, sub-agents included. */
  async abort(): Promise<void> {
    await this.rpc.abort();
  }

  /** All stored events, sub-agents included. */
  async getEvents(): Promise<SessionEvent[]> {
    return (await this.rpc.getMessages()).events;
  }

  async setModel(model: string, options: { reasoningEffort?: string } = {}): Promise<void> {
    await this.rpc.model.switchTo({ modelId: model, ...options });
  }

  async log(
    message: string,
    options: { level?: "info" | "warning" | "error"; ephemeral?: boolean } = {},
  ): Promise<void> {
    await this.rpc.log({ message, ...options });
  }

  /** Which agents there are, and which one speaks for the session. */
  readonly agents = {
    list: async (): Promise<AgentInfo[]> => (await this.rpc.agent.list()).agents,
    current: async (): Promise<AgentInfo | undefined> => (await this.rpc.agent.getCurrent()).agent ?? undefined,
    select: async (name: string): Promise<AgentInfo> => (await this.rpc.agent.select({ name })).agent,
    deselect: async (): Promise<void> => {
      await this.rpc.agent.deselect();
    },
    reload: async (): Promise<AgentInfo[]> => (await this.rpc.agent.reload()).agents,
  };

  /** The agent tree as of now. After a resume it begins with everything that is stored. */
  tree(): AgentTree {
    return this.#tree.current;
  }

  /** Reads the whole log again and folds it. */
  loadTree(): Promise<AgentTree> {
    return this.#tree.load(() => readHistory(this.#call, this.sessionId, () => this.#activity.isBusy));
  }

  /** Resolves when nothing runs and nothing is queued; at once when that is so already. */
  async waitForIdle(limits: WaitLimits = {}): Promise<void> {
    const stop = new AbortController();
    const signal = limits.signal ? AbortSignal.any([limits.signal, stop.signal]) : stop.signal;
    const idle = this.#hub.until((event) => (event.type === "session.idle" ? true : undefined), {
      ...limits,
      signal,
      what: "session.idle",
    });
    idle.catch(() => undefined); // Cut off below when the session is idle already.
    if (await this.#isIdle()) stop.abort();
    else await idle;
  }

  async #isIdle(): Promise<boolean> {
    return !((await hasActiveWork(this.#call, this.sessionId)) ?? this.#activity.isBusy);
  }

  /** Resolves with the task when it no longer runs: ended, or idle and ready for another message. */
  async waitForTask(id: string, limits: WaitLimits = {}): Promise<TaskInfo> {
    for (;;) {
      const changed = this.#hub.until((event) => (concernsTask(event, id) ? true : undefined), {
        ...limits,
        what: `task ${id}`,
      });
      changed.catch(() => undefined); // Awaited below, unless the task has ended already.
      const task = await this.tasks.get(id);
      if (!task) throw new AppError("agent_not_found", `there is no task ${id}`);
      if (ENDED.includes(task.status)) return task;
      await changed;
    }
  }

  /** Leaves the session; it stays stored and can be resumed. */
  disconnect(): Promise<void> {
    this.#left ??= this.#leave("detach");
    return this.#left;
  }

  /** Leaves the session and closes it. */
  destroy(): Promise<void> {
    this.#left ??= this.#leave("destroy");
    return this.#left;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disconnect();
  }
}

function turnFailed({ data }: EventOf<"session.error">): AppError {
  return new AppError("turn_failed", data.message, { data });
}

function concernsTask(event: SessionEvent, id: string): boolean {
  switch (event.type) {
    case "session.background_tasks_changed":
    case "session.idle":
      return true;
    case "system.notification":
      return "agentId" in event.data.kind && event.data.kind.agentId === id;
    default:
      return event.agentId === id && (event.type === "subagent.completed" || event.type === "subagent.failed");
  }
}
