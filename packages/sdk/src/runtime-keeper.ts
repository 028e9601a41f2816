/**
 * The one runtime of a client: opened when it is first needed, opened again when its connection is lost, given up when
 * that fails.
 *
 * Owns the state of the connection. What happens to sessions meanwhile is up to the callbacks of its owner.
 */
import type { AppError } from "@retinue/protocol";
import type { ReconnectOptions } from "./reconnect.ts";
import { Runtime, type RuntimeOptions } from "./runtime.ts";

export type ClientState = "disconnected" | "connecting" | "connected" | "reconnecting";

export interface KeeperOptions {
  runtime: Omit<RuntimeOptions, "lost" | "signal">;
  /** Undefined: a lost connection is not opened again. */
  reconnect: ReconnectOptions | undefined;
  /** Opens the lost connection and joins sessions again; rejects when that does not work. */
  rejoin(runtime: Runtime, how: { options: ReconnectOptions; signal: AbortSignal; lost: AppError }): Promise<void>;
  /** The runtime is gone for good. */
  gaveUp(error: AppError): void;
}

export class RuntimeKeeper {
  readonly #options: KeeperOptions;
  #state: ClientState = "disconnected";
  /** The runtime once it is open, or once it is open again. */
  #runtime: Promise<Runtime> | undefined;
  #current: Runtime | undefined;
  #stop = new AbortController();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get state(): ClientState {
    return this.#state;
  }

  /** The runtime that was opened last, open or not. */
  get current(): Runtime | undefined {
    return this.#current;
  }

  get(): Promise<Runtime> {
    this.#runtime ??= this.#open();
    return this.#runtime;
  }

  async #open(): Promise<Runtime> {
    this.#stop = new AbortController();
    this.#state = "connecting";
    try {
      const { signal } = this.#stop;
      const lost = (error: AppError) => this.#onLost(error);
      this.#current = await Runtime.open({ ...this.#options.runtime, signal, lost });
      if (!signal.aborted) this.#state = "connected";
      return this.#current;
    } catch (error) {
      this.#runtime = undefined;
      this.#state = "disconnected";
      throw error;
    }
  }

  /** Gives up the runtime to a caller who will end it; the next `get` opens a new one. */
  async take(): Promise<Runtime | undefined> {
    this.#stop.abort();
    const runtime = this.#runtime;
    this.#runtime = undefined;
    this.#state = "disconnected";
    // When it could not be opened, or opened again, whoever waited for it has the error.
    return runtime?.catch(() => undefined);
  }

  #onLost(error: AppError): void {
    if (this.#state !== "connected" || !this.#runtime) return;
    const { reconnect } = this.#options;
    if (!reconnect) {
      this.#giveUp(error);
      return;
    }
    this.#state = "reconnecting";
    const again = this.#comeBack(this.#runtime, reconnect, error);
    this.#runtime = again;
    again.catch(() => {
      if (this.#runtime === again) this.#giveUp(error);
    });
  }

  async #comeBack(before: Promise<Runtime>, options: ReconnectOptions, lost: AppError): Promise<Runtime> {
    const runtime = await before;
    const { signal } = this.#stop;
    await this.#options.rejoin(runtime, { options, signal, lost });
    if (!signal.aborted) this.#state = "connected";
    return runtime;
  }

  #giveUp(error: AppError): void {
    this.#runtime = undefined;
    this.#state = "disconnected";
    this.#options.gaveUp(error);
  }
}
