/**
 * The place of one agent among those that may work at the same time.
 *
 * Held while the agent works, given back while it only waits: for a person, the host or a child. So one place is enough for a chain of
 * any depth.
 */

import { RunClock } from "./run-clock.ts";

/** Gives out a limited number of places, in the order in which they were requested. */
export class Limiter {
  #taken = 0;
  #places: number | undefined;
  readonly #countPlaces: () => number;
  readonly #waiting: (() => void)[] = [];

  /** How many there are is asked for when the first one is taken. */
  constructor(places: number | (() => number)) {
    this.#countPlaces = typeof places === "number" ? () => places : places;
  }

  get free(): number {
    this.#places ??= this.#countPlaces();
    return this.#places - this.#taken;
  }
  get taken(): number {
    return this.#taken;
  }
  get waiting(): number {
    return this.#waiting.length;
  }

  async take(signal?: AbortSignal): Promise<void> {
    if (this.free > 0) {
      this.#taken++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(enter);
      signal?.addEventListener("abort", leave, { once: true });
      if (signal?.aborted) leave();
    });
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken--;
  }
}

export class Slot {
  readonly #limiter: Limiter | undefined;
  /** How long the agent has worked. */
  readonly clock: RunClock;
  /** How many parts of the agent's work are not waiting. */
  #active = 0;
  #entering: Promise<void> | undefined;

  /** The main agent has no limiter, and so no limit. */
  constructor(limiter?: Limiter, clock = new RunClock({ now: Date.now })) {
    this.#limiter = limiter;
    this.clock = clock;
  }

  async enter(signal?: AbortSignal): Promise<void> {
    this.#active++;
    if (this.#active === 1) {
      this.clock.work(1);
      this.#entering = this.#limiter?.take(signal);
    }
    try {
      await this.#entering;
    } catch (error) {
      if (this.#active > 0) this.clock.work(-1);
      this.#active = 0;
      throw error;
    }
  }

  leave(): void {
    if (this.#active === 0) return;
    this.#active--;
    if (this.#active > 0) return;
    this.clock.work(-1);
    this.#entering = undefined;
    this.#limiter?.give();
  }

  /** Gives the place back while it waits for something outside. An agent that has none, since it does nothing, gets none by it. */
  async waiting<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const isWorking = this.#active > 0;
    this.leave();
    try {
      return await work();
    } finally {
      // A stopped agent has nothing left to do, and must not queue for a place to find that out.
      if (isWorking && !signal?.aborted) await this.enter(signal);
    }
  }

  /** The same for a person, whose time does not count. */
  waitingForPerson<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.waiting(() => this.clock.waitingForPerson(work), signal);
  }
}
