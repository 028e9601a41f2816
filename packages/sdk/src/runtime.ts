/**
 * The connection to one runtime: open, agreed on a version, called, lost, opened again, ended.
 *
 * Owns the link, the peer on it, and what happens to calls when the runtime is gone: all of them reject with the same
 * error. What sessions do after a lost connection is in reconnect.ts.
 */
import { AppError, type Dispatch, type LongTimer, longTimer, messageOf, Peer } from "@retinue/protocol";
import { openLink, type RuntimeConnection } from "./connection.ts";
import { type ClientInfo, type ProtocolVersion, shakeHands } from "./handshake.ts";
import type { LaunchOptions } from "./launch.ts";
import type { Link } from "./link.ts";

const ANSWERS_WITHIN_MS = 30_000;
const SHUTDOWN_WITHIN_MS = 10_000;

export interface RuntimeOptions extends LaunchOptions {
  connection: RuntimeConnection;
  clientInfo?: ClientInfo | undefined;
  dispatch: Pick<Dispatch, "request" | "notification">;
  /** Aborted: a runtime that is still being opened is ended. */
  signal: AbortSignal;
  /** The connection ended unexpectedly. Called once per connection. */
  lost(error: AppError): void;
}

export class Runtime {
  readonly #options: RuntimeOptions;
  readonly #link: Link;
  #peer: Peer;
  #version: ProtocolVersion = 3;
  #gone: AppError | undefined;
  #isEnding = false;

  static async open(options: RuntimeOptions): Promise<Runtime> {
    const link = await openLink(options.connection, options);
    const runtime = new Runtime(options, link);
    const kill = () => runtime.kill();
    options.signal.addEventListener("abort", kill, { once: true });
    try {
      if (options.signal.aborted) kill();
      await limit(runtime.#greet(), ANSWERS_WITHIN_MS, "the runtime's first answer");
    } catch (error) {
      const gone = runtime.#gone ?? error;
      kill();
      throw gone;
    } finally {
      options.signal.removeEventListener("abort", kill);
    }
    return runtime;
  }

  private constructor(options: RuntimeOptions, link: Link) {
    this.#options = options;
    this.#link = link;
    this.#peer = this.#listen(link.transport);
  }

  get version(): ProtocolVersion {
    return this.#version;
  }

  get pid(): number | undefined {
    return this.#link.process?.pid;
  }

  get port(): number | undefined {
    return this.#link.port;
  }

  get isLost(): boolean {
    return this.#gone !== undefined;
  }

  get canReopen(): boolean {
    return this.#link.reopen !== undefined && this.#link.process?.describeExit() === undefined;
  }

  async call(method: string, params: object, options: { signal?: AbortSignal } = {}): Promise<unknown> {
    const peer = this.#peer;
    try {
      return await peer.request(method, params, options);
    } catch (error) {
      throw peer.closed && isClosed(error) ? (this.#gone ?? error) : error;
    }
  }

  /** Opens the lost connection again and agrees on a version again. */
  async reopen(): Promise<void> {
    if (!this.#link.reopen) throw this.#gone ?? new AppError("connection_closed", "this connection cannot be reopened");
    const transport = await this.#link.reopen();
    this.#gone = undefined;
    this.#peer = this.#listen(transport);
    await this.#greet();
  }

  /** Ends a runtime that this client started; any other keeps running. */
  async end(): Promise<Error[]> {
    this.#isEnding = true;
    const { process } = this.#link;
    const failures: Error[] = [];
    if (process && !this.#gone) {
      const asked = this.call("runtime.shutdown", {});
      await limit(asked, SHUTDOWN_WITHIN_MS, "runtime.shutdown").catch((error: unknown) =>
        failures.push(asError(error)),
      );
    }
    this.#peer.close();
    if (process) {
      process.kill("SIGTERM");
      await limit(process.exited, SHUTDOWN_WITHIN_MS, "the end of the runtime").catch((error: unknown) => {
        failures.push(asError(error));
        process.kill("SIGKILL");
      });
    }
    return failures;
  }

  kill(): void {
    this.#isEnding = true;
    this.#link.process?.kill("SIGKILL");
    this.#peer.close();
  }

  #listen(transport: Link["transport"]): Peer {
    const { dispatch } = this.#options;
    const peer: Peer = new Peer(transport, {
      request: (method, params, options) => dispatch.request(method, params, options),
      notification: (method, params) => dispatch.notification?.(method, params),
      closed: (reason) => this.#onClosed(reason),
    });
    return peer;
  }

  #onClosed(reason?: string): void {
    const end = this.#link.process?.describeExit();
    const sent = reason && `what the runtime sent is ${reason}. Does something else write to its standard output?`;
    const why = this.#isEnding
      ? "the client was stopped"
      : sent || (end ? `the runtime ${end}` : "the runtime closed it");
    this.#gone = new AppError("connection_closed", `Connection is closed: ${why}`);
    if (!this.#isEnding) this.#options.lost(this.#gone);
  }

  async #greet(): Promise<void> {
    const { clientInfo } = this.#options;
    const call = (method: string, params: object) => this.call(method, params);
    this.#version = await shakeHands(call, { token: this.#link.token, clientInfo });
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof AppError && error.code === "connection_closed";
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(messageOf(error));
}

async function limit<Value>(promise: Promise<Value>, ms: number, what: string): Promise<Value> {
  let timer: LongTimer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = longTimer(() => reject(new AppError("timed_out", `${what} took more than ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer?.clear();
  }
}
