/**
 * A host program written with our SDK: it gives handlers, and the SDK decides what reaches them.
 *
 * `call` says how the program does what a cell asks of it. When the runtime is killed the program lives on, and the SDK finds its way
 * back by itself.
 */

import type { FleetTodo } from "@retinue/sdk";
import {
  defineTool,
  type PermissionHandler,
  RetinueClient,
  RuntimeConnection,
  type Session,
  type SessionConfig,
  type SessionHooks,
  type ToolInvocation,
  type Transport,
} from "@retinue/sdk";
import type { LawEvent } from "./law-event.ts";
import { HOST_TOOLS, hostResult, LawHost, type LawHostOptions } from "./law-host.ts";

export interface SdkHostOptions extends LawHostOptions {
  /** Comes back after a lost connection. */
  reconnects?: boolean;
}

interface Params {
  sessionId?: string;
  id?: string;
  prompt?: string;
  todos?: readonly FleetTodo[];
}

/** So often that a busy machine has started a new runtime meanwhile. */
const COMING_BACK = { attempts: 12, delayMs: 50 };

export class SdkHost extends LawHost {
  readonly #client: RetinueClient;
  readonly #sessions = new Map<string, Session>();

  constructor(open: () => Transport | Promise<Transport>, { reconnects = false, ...options }: SdkHostOptions) {
    super(options);
    this.#client = new RetinueClient({
      connection: RuntimeConnection.forTransport(open),
      reconnect: reconnects ? COMING_BACK : false,
      onError: (error) => this.problems.push(`our SDK reported: ${error}`),
    });
  }

  async greet(): Promise<void> {
    await this.#client.start();
  }

  async create(config: SessionConfig): Promise<string> {
    const session = await this.#client.createSession({ ...config, ...this.#handlers });
    this.#sessions.set(session.sessionId, session);
    return session.sessionId;
  }

  async resume(sessionId: string, config: SessionConfig): Promise<void> {
    const options = { ...config, ...this.#handlers, continuePendingWork: true };
    this.#sessions.set(sessionId, await this.#client.resumeSession(sessionId, options));
  }

  async call<T = unknown>(method: string, params: Params = {}) {
    return (await this.#do(method, params)) as T;
  }

  /** The SDK's handlers answer what they are offered; a program does not read the log for it. */
  async answerOpen(): Promise<void> {}

  vanish(): void {
    void this.#client.forceStop();
  }

  /** Resolves when the SDK has found its way back to a runtime. */
  async isBack(sessionId: string): Promise<void> {
    await this.#of(sessionId).rpc.metadata.activity();
  }

  protected get isGone(): boolean {
    return this.#client.state === "disconnected";
  }

  async #do(method: string, params: Params) {
    const { sessionId = "", id, prompt = "", todos = [] } = params;
    switch (method) {
      case "session.fleet.start":
        return await this.#of(sessionId).fleet.start({ todos, retries: 0 });
      case "session.send":
        return await this.#of(sessionId).send(prompt);
      case "session.abort":
        return await this.#of(sessionId).abort();
      case "session.destroy":
        return await this.#of(sessionId).destroy();
      case "session.getMessages":
        return { events: await this.#of(sessionId).getEvents() };
      case "session.metadata.activity":
        return await this.#of(sessionId).rpc.metadata.activity();
      case "session.tasks.list":
        return { tasks: await this.#of(sessionId).tasks.list() };
      case "session.tasks.cancel":
        return { cancelled: await this.#of(sessionId).tasks.cancel(id ?? "") };
      case "session.tasks.promoteToBackground":
        return { promoted: await this.#of(sessionId).tasks.promote(id) };
      case "sessions.fork":
        return await this.#client.rpc.sessions.fork({ sessionId });
      default:
        throw new Error(`no cell needs ${method}`);
    }
  }

  #of(sessionId: string): Session {
    const session = this.#sessions.get(sessionId);
    if (!session) throw new Error(`this program has no session ${sessionId}`);
    return session;
  }

  get #handlers(): SessionConfig {
    return {
      tools: HOST_TOOLS.map(({ name, ...tool }) =>
        defineTool<{ what?: string }>(name, { ...tool, handler: (args, call) => this.#runTool(args.what, call) }),
      ),
      onPermissionRequest: this.#decide,
      onUserInputRequest: ({ question }) => {
        this.questions.push(question);
        return { answer: "blue", wasFreeform: true };
      },
      hooks: this.#hooks,
      onEvent: (event) => {
        this.saw(event as unknown as LawEvent);
        this.wake();
      },
      onCleanup: () => this.wake(),
    };
  }

  readonly #decide: PermissionHandler = async (permissionRequest, { requestId, isRepeat }) => {
    const { toolCallId } = permissionRequest;
    const data = { requestId, toolCallId, isRepeat, permissionRequest };
    await this.mayAnswer({ type: "permission.requested", id: "", ephemeral: true, data });
    return { kind: "approve-once" };
  };

  get #hooks(): SessionHooks {
    const hook = (hookType: string) => async (input: object) => {
      await this.onHook({ hookType, input: { ...input } });
    };
    return { onPreToolUse: hook("preToolUse"), onPostToolUse: hook("postToolUse") };
  }

  async #runTool(what: string | undefined, { toolCallId, toolName, isRepeat }: ToolInvocation): Promise<string> {
    const data = { toolCallId, toolName, isRepeat, arguments: { what } };
    await this.mayAnswer({ type: "external_tool.requested", id: "", ephemeral: true, data });
    this.ran(toolCallId);
    return hostResult(what);
  }
}
