/**
 * The time that an agent works: `maxSeconds` counts it.
 *
 * The clock stands still while all that is under way, in the agent and in the agents below it, waits for a person. As long as anything
 * works it runs: a question that nobody answers must not give the other agents endless time. Where there is a limit, what has elapsed is
 * noted now and then, so that a run goes on with the time that it has left when its process was killed.
 */
import { type LongTimer, longTimer } from "@retinue/protocol";

export interface RunClockOptions {
  now(): number;
  /** The clock of the agent above. */
  above?: RunClock;
  /** Asked when the clock starts to run. */
  limitMs?: () => number | undefined;
  /** Keeps how much has elapsed of a run that has a limit; undefined when the run is over. */
  note?(elapsedMs: number | undefined): void;
}

/** A twentieth of the limit may be lost with a process, and the store is not kept busy. */
const noteEveryMs = (limitMs: number): number => Math.min(Math.max(limitMs / 20, 250), 5000);

export class RunClock {
  readonly #options: RunClockOptions;
  /** This one and those above it. */
  readonly #levels: readonly RunClock[];
  /** Parts of the work that go on, here and below. */
  #working = 0;
  /** Parts that wait for a person, here and below. */
  #asking = 0;
  #elapsedMs = 0;
  #since: number | undefined;
  #timer: LongTimer | undefined;
  #noting: NodeJS.Timeout | undefined;
  #isNoted = false;
  #onLate: (() => void) | undefined;

  constructor(options: RunClockOptions) {
    this.#options = options;
    this.#levels = [this, ...(options.above ? options.above.#levels : [])];
  }

  get elapsedMs(): number {
    return this.#elapsedMs + (this.#since === undefined ? 0 : this.#options.now() - this.#since);
  }

  get isStarted(): boolean {
    return this.#onLate !== undefined;
  }

  get limitMs(): number | undefined {
    return this.#options.limitMs?.();
  }

  /** Starts to count, from what was counted before; `onLate` is called once, at the limit. */
  start(onLate: () => void, { fromMs = 0 }: { fromMs?: number } = {}): void {
    this.#halt();
    this.#elapsedMs = fromMs;
    this.#onLate = onLate;
    this.#turn();
  }

  /** The run is over. */
  stop(): void {
    this.#halt();
    if (this.#isNoted) this.#options.note?.(undefined);
    this.#isNoted = false;
  }

  /** The run is set aside, and may go on in another process. */
  park(): void {
    this.note();
    this.#halt();
  }

  /** Keeps what has elapsed of a run that has a limit. */
  note(): void {
    if (!this.isStarted || this.limitMs === undefined) return;
    this.#isNoted = true;
    this.#options.note?.(this.elapsedMs);
  }

  /** A part of the work begins (1) or ends (-1). */
  work(change: 1 | -1): void {
    for (const clock of this.#levels) {
      clock.#working += change;
      clock.#turn();
    }
  }

  async waitingForPerson<T>(wait: () => Promise<T>): Promise<T> {
    this.#ask(1);
    try {
      return await wait();
    } finally {
      this.#ask(-1);
    }
  }

  #ask(change: 1 | -1): void {
    for (const clock of this.#levels) {
      clock.#asking += change;
      clock.#turn();
    }
  }

  /** Runs, or stands still, as things are now. */
  #turn(): void {
    const isRunning = this.#onLate !== undefined && (this.#working > 0 || this.#asking === 0);
    if (isRunning === (this.#since !== undefined)) return;
    if (!isRunning) {
      this.#elapsedMs = this.elapsedMs;
      this.#since = undefined;
      this.#timer?.clear();
      clearInterval(this.#noting);
      this.note();
      return;
    }
    this.#since = this.#options.now();
    const { limitMs } = this;
    if (limitMs === undefined) return;
    this.#timer = longTimer(() => this.#late(), Math.max(0, limitMs - this.#elapsedMs));
    if (this.#options.note) this.#noting = setInterval(() => this.note(), noteEveryMs(limitMs)).unref();
  }

  #halt(): void {
    this.#onLate = undefined;
    this.#turn();
  }

  #late(): void {
    const onLate = this.#onLate;
    this.park(); // A process that is killed now has still used up all the time.
    onLate?.();
  }
}
