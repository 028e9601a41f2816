/**
 * One connection to one MCP server: started at its first use, started again after a crash, closed for good once.
 *
 * Owns the server's state and its list of tools. Who may use the connection, and for how long it lives, is in host.ts; how it is opened,
 * in handshake.ts; how tools look to the loop, in tools.ts. The client library takes longer to load than the rest of the program, so it
 * is loaded with the first server that starts.
 */
import type { CallToolResult, Prompt, Tool as ServerTool } from "@modelcontextprotocol/client";
import { AppError, type McpServerConfig, type McpServerStatus, messageOf } from "@retinue/protocol";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import { type ActiveCall, CallFailed, type CallOptions, unlessCancelled } from "./call-failed.ts";
import { type Elicit, serveElicitation } from "./elicitation.ts";
import type { Handshake, Live, Opened } from "./handshake.ts";
import { withSignIn } from "./oauth/admission.ts";
import type { ServerSignIn } from "./oauth/server-sign-in.ts";
import { RESTART_DELAYS_MS, Restarts } from "./restarts.ts";
import { type Roots, RootsNews, serveRoots } from "./roots.ts";
import { type Sample, serveSampling } from "./sampling.ts";
import { startLimitMs } from "./server-config.ts";
import { type StartedTask, TaskNews } from "./tasks/task-news.ts";

export interface ConnectionOptions {
  name: string;
  config: McpServerConfig;
  workingDirectory: string;
  clientVersion: string;
  processes?: ProcessLedger;
  /** Disabled from the start. */
  isDisabled: boolean;
  /** Where the configuration does not say. */
  startLimitMs?: number;
  restartDelaysMs?: readonly number[];
  onStatus(status: McpServerStatus, error?: string): void;
  onToolsChanged(): void;
  /** Called when the server has other prompts or resources than before. */
  onOffersChanged?(what: "prompts" | "resources"): void;
  elicit?: Elicit;
  /** Without a result: nobody can be signed in. */
  signIn?(): Promise<ServerSignIn | undefined>;
  sample?: Sample;
  roots?: Roots;
}

/** What is done with a server besides calls. */
export type Use<T> = (client: Live["client"], news: TaskNews) => Promise<T>;

const NONE: readonly ServerTool[] = [];
const NEVER = new AbortController().signal;

export interface ConnectionReport {
  error?: string;
  /** Those of the latest connection. */
  instructions?: string;
  /** It was refused for want of a sign-in, and there is one now. */
  hasNews: boolean;
  prompts: readonly Prompt[];
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #active = new Set<ActiveCall>();
  readonly #news: TaskNews;
  #status: McpServerStatus;
  #error: string | undefined;
  /** Disabled: a use does not start it. */
  #held: "stopped" | "disabled" | undefined;
  /** The connection, or the attempt to make it. */
  #attempt: Promise<Live> | undefined;
  #live: Live | undefined;
  #stopStarting = new AbortController();
  #tools = NONE;
  #prompts: readonly Prompt[] = [];
  #instructions: string | undefined;
  #rootsNews: RootsNews | undefined;
  readonly #restarts: Restarts;
  #signIn: ServerSignIn | undefined;
  /** The server has refused us; only a sign-in, or somebody who says so, lets us try again. */
  #isRefused = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#news = new TaskNews({ server: options.name, sample: options.sample, roots: options.roots });
    this.#restarts = new Restarts(options.restartDelaysMs ?? RESTART_DELAYS_MS, () => {
      void this.#connected().catch(() => undefined); // The state says what went wrong.
    });
    this.#held = options.isDisabled ? "disabled" : undefined;
    this.#status = this.#held ?? "pending";
  }

  get name(): string {
    return this.#options.name;
  }

  get config(): McpServerConfig {
    return this.#options.config;
  }

  get status(): McpServerStatus {
    return this.#status;
  }

  /** What the server says of itself, or what went wrong with it. */
  get report(): ConnectionReport {
    const hasNews = this.#isRefused && (this.#signIn?.hasNews ?? false);
    const prompts = this.#held === undefined ? this.#prompts : [];
    return { error: this.#error, instructions: this.#instructions, prompts, hasNews };
  }

  /** The list that the server sent last. A change makes a new array. Empty while the server is disabled. */
  get tools(): readonly ServerTool[] {
    return this.#held === undefined ? this.#tools : NONE;
  }

  /** Connects if there is no connection. Callers share one attempt. */
  async ready(): Promise<void> {
    await this.#connected();
  }

  /** With the task that the call has become, if it has become one. */
  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<{ result: CallToolResult; task?: StartedTask }> {
    return await this.#inSession((live) => this.#callIn(live, { tool, args }, options), options.signal);
  }

  async #callIn(
    live: Live,
    { tool, args }: { tool: string; args: Readonly<Record<string, unknown>> },
    options: CallOptions,
  ): Promise<{ result: CallToolResult; task?: StartedTask }> {
    const { callServerTool } = await import("./call.ts");
    const listed = this.#tools.find(({ name }) => name === tool);
    const ask = () => callServerTool(live.client, { tool, args, active: this.#active, listed }, options);
    try {
      await this.#rootsNews?.send(live.client);
      const result = await withSignIn(this.#signIn, ask, { isNeeded: isRefusedCall, signal: options.signal });
      return { result, task: this.#news.claim(result) };
    } catch (error) {
      if (isRefusedCall(error)) await this.#onRefused(live, error.message);
      if (!(error instanceof CallFailed) || error.kind !== "server_ended") throw error;
      if (this.#held !== undefined)
        throw new CallFailed("cancelled", `the server was ${this.#held} during the call`, { cause: error });
      // Another call was refused first, and has ended the connection of all.
      if (this.#isRefused && this.#live !== live)
        throw new CallFailed("needs_auth", this.#error ?? error.message, { cause: error });
      // Over HTTP only a failed call shows that the server has gone.
      this.#onLost(live, error);
      await live.close();
      throw new CallFailed("server_ended", `the server went away during the call (${this.#error ?? error.message})`, {
        cause: error,
      });
    }
  }

  /** For what is no call: resources, tasks. A link that broke is noticed as in a call, and the next use connects again. */
  async with<T>(use: Use<T>, { signal = NEVER }: { signal?: AbortSignal } = {}): Promise<T> {
    return await this.#inSession((live) => this.#useIn(live, use, signal), signal);
  }

  async #useIn<T>(live: Live, use: Use<T>, signal: AbortSignal): Promise<T> {
    const { isSignInNeeded } = await import("./oauth/refusal.ts");
    const ask = () => use(live.client, this.#news);
    try {
      return await withSignIn(this.#signIn, ask, { isNeeded: isSignInNeeded, signal });
    } catch (error) {
      if (isSignInNeeded(error)) {
        await this.#onRefused(live, messageOf(error));
        throw error;
      }
      const { isLinkBroken } = await import("./call.ts");
      const { httpWords } = await import("./http-errors.ts");
      if (!isLinkBroken(error) || signal.aborted) throw httpWords(error);
      this.#onLost(live, error);
      await live.close();
      throw new Error(this.#error ?? messageOf(error), { cause: error });
    }
  }

  /** A session that the server has forgotten took nothing in, so the same is asked once more in a new one. */
  async #inSession<T>(ask: (live: Live) => Promise<T>, signal: AbortSignal): Promise<T> {
    const live = await unlessCancelled(this.#connected(), signal);
    const { sessionId } = live.link.transport;
    try {
      return await ask(live);
    } catch (error) {
      if (sessionId === undefined || signal.aborted || this.#held !== undefined) throw error;
      const { isForgotten } = await import("./call.ts");
      if (!isForgotten(error)) throw error;
      return await ask(await unlessCancelled(this.#connected(), signal));
    }
  }

  /** Ends the connection; it stays disabled until `start`. */
  async hold(status: "stopped" | "disabled"): Promise<void> {
    this.#held = status;
    await this.#disconnect();
    this.#move(status);
  }

  async start(): Promise<void> {
    this.#held = undefined;
    this.#isRefused = false;
    this.#restarts.reset();
    await this.ready();
  }

  async restart(): Promise<void> {
    await this.#disconnect();
    await this.start();
  }

  /** Closes it for good: nothing of the server is left when this returns. */
  async close(): Promise<void> {
    this.#held = "stopped";
    this.#signIn?.close();
    await this.#disconnect();
  }

  #connected(): Promise<Live> {
    if (this.#held !== undefined) {
      return Promise.reject(new AppError("not_configured", `MCP server '${this.name}' is ${this.#held}`));
    }
    if (this.#isRefused && !this.report.hasNews) {
      return Promise.reject(new AppError("authentication_required", `MCP server '${this.name}': ${this.#error}`));
    }
    this.#attempt ??= this.#connect(this.#stopStarting.signal);
    return this.#attempt;
  }

  async #connect(signal: AbortSignal): Promise<Live> {
    this.#restarts.cancel();
    this.#move("pending");
    try {
      const { tapTasks } = await import("./tasks/tap.ts");
      const { live, tools, prompts } = await this.#opened({
        limitMs: startLimitMs(this.config, this.#options.startLimitMs),
        signal,
        prepare: (client) => {
          const { elicit, sample, roots } = this.#options;
          const ofTask = (request: Parameters<TaskNews["ofRequest"]>[0]) => this.#news.ofRequest(request);
          if (sample) serveSampling(client, { server: this.name, sample, active: this.#active, ofTask });
          if (roots) serveRoots(client, roots);
          if (elicit) serveElicitation(client, { server: this.name, elicit, active: this.#active, ofTask });
        },
        onToolsChanged: (changed) => this.#onToolsChanged(changed),
        onPromptsChanged: (changed) => {
          this.#prompts = changed;
          this.#options.onOffersChanged?.("prompts");
        },
        onResourcesChanged: () => this.#options.onOffersChanged?.("resources"),
        onLost: (lost) => this.#onLost(lost),
      });
      tapTasks(live.link.transport, this.#news, { giveUp: (task) => void this.#giveUp(task) });
      this.#live = live;
      this.#isRefused = false;
      this.#restarts.connected();
      this.#prompts = prompts;
      this.#instructions = live.client.getInstructions();
      this.#rootsNews = this.#options.roots && new RootsNews(this.#options.roots);
      this.#setTools(tools);
      this.#move("connected");
      return live;
    } catch (error) {
      this.#attempt = undefined;
      this.#isRefused = isAuthNeeded(error);
      if (!signal.aborted) {
        this.#move(isAuthNeeded(error) ? "needs-auth" : "failed", messageOf(error));
        if (this.#restarts.isUnderWay && !isAuthNeeded(error)) this.#restarts.failed();
      }
      throw new AppError("not_configured", `MCP server '${this.name}': ${messageOf(error)}`, { cause: error });
    }
  }

  async #opened(shake: Handshake): Promise<Opened> {
    const { connect } = await import("./handshake.ts");
    this.#signIn ??= await this.#options.signIn?.();
    const open = async () => {
      await this.#signIn?.prepare();
      const opened = await connect({ ...this.#options, signIn: this.#signIn }, shake);
      this.#signIn?.opened();
      return opened;
    };
    const onAsk = () => this.#move("needs-auth");
    return await withSignIn(this.#signIn, open, { isNeeded: isAuthNeeded, signal: shake.signal, onAsk });
  }

  #onToolsChanged(tools: readonly ServerTool[]): void {
    this.#setTools(tools);
    this.#options.onToolsChanged();
  }

  #setTools(tools: readonly ServerTool[]): void {
    if (JSON.stringify(tools) !== JSON.stringify(this.#tools)) this.#tools = tools;
  }

  /** The server ended by itself. Its tools stay listed: the next call starts it again, if it is not back before. */
  #onLost(live: Live, error: unknown = new Error("the connection was lost")): void {
    if (this.#live !== live) return;
    this.#live = undefined;
    this.#attempt = undefined;
    const { message } = live.link.explain(error);
    this.#move("failed", message);
    this.#news.lost(message);
    this.#restarts.lost();
  }

  /** A task whose call was cancelled before it could take it. A server that is gone needs not be told. */
  async #giveUp(task: StartedTask): Promise<void> {
    const { openTask } = await import("./tasks/open-task.ts");
    await this.with((client) => openTask(task).cancel(client, { signal: NEVER })).catch(() => undefined);
  }

  /** A sign-in that was good is so no more. */
  async #onRefused(live: Live, reason: string): Promise<void> {
    if (this.#live !== live) return;
    this.#live = undefined;
    this.#attempt = undefined;
    this.#isRefused = true;
    this.#move("needs-auth", reason);
    await live.close();
  }

  async #disconnect(): Promise<void> {
    const attempt = this.#attempt;
    this.#restarts.reset();
    this.#live = undefined;
    this.#attempt = undefined;
    this.#stopStarting.abort();
    this.#stopStarting = new AbortController();
    // A failed attempt has cleaned up after itself.
    const [settled] = await Promise.allSettled([attempt]);
    this.#live = undefined;
    if (settled.status === "fulfilled" && settled.value) await settled.value.close();
  }

  #move(status: McpServerStatus, error?: string): void {
    this.#status = status;
    this.#error = error;
    this.#options.onStatus(status, error);
  }
}

const isRefusedCall = (error: unknown): error is CallFailed =>
  error instanceof CallFailed && error.kind === "needs_auth";

const isAuthNeeded = (error: unknown): boolean => error instanceof AppError && error.code === "authentication_required";
