/**
 * Delivers a session's events to listeners of one type, listeners of all types, and loops.
 *
 * Owns order and isolation: listeners get events in the order in which they came, and one that throws stops no other.
 */
import { AppError, type EventOf, type EventType, longTimer, type SessionEvent } from "@retinue/protocol";

export type EventListener = (event: SessionEvent) => void;
export type TypedEventListener<Type extends EventType> = (event: EventOf<Type>) => void;

export interface WaitOptions {
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** What is waited for, for error messages. */
  what: string;
}

export class EventHub {
  readonly #all = new Set<EventListener>();
  readonly #typed = new Map<string, Set<EventListener>>();
  readonly #loops = new Set<EventLoop>();
  readonly #waiters = new Set<(error: Error) => void>();
  readonly #onError: (error: unknown) => void;
  #end: { error: Error | undefined } | undefined;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Why nothing more will come; undefined while events may come. */
  get ended(): Error | undefined {
    return this.#end && (this.#end.error ?? left());
  }

  listen(listener: EventListener): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  listenTo<Type extends EventType>(type: Type, listener: TypedEventListener<Type>): () => void {
    const only: EventListener = (event) => {
      if (isOfType(event, type)) listener(event);
    };
    const listeners = this.#typed.get(type) ?? new Set();
    this.#typed.set(type, listeners.add(only));
    return () => listeners.delete(only);
  }

  emit(event: SessionEvent): void {
    for (const loop of this.#loops) loop.push(event);
    for (const listener of [...(this.#typed.get(event.type) ?? []), ...this.#all]) {
      try {
        listener(event);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  /** Events from now on, until the session is left; ends with an error when the connection was lost. */
  async *events(): AsyncGenerator<SessionEvent, void, undefined> {
    const loop = new EventLoop();
    if (this.#end) loop.end(this.#end.error);
    this.#loops.add(loop);
    try {
      for (let next = await loop.next(); next; next = await loop.next()) yield next;
    } finally {
      this.#loops.delete(loop);
    }
  }

  /** The first event for which `pick` finds something; rejects when the session is left, at a time limit or a signal. */
  until<Found>(
    pick: (event: SessionEvent) => Found | undefined,
    { timeoutMs, signal, what }: WaitOptions,
  ): Promise<Found> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        timer?.clear();
        stop();
        this.#waiters.delete(fail);
        signal?.removeEventListener("abort", cancel);
        act();
      };
      const fail = (error: Error) => settle(() => reject(error));
      const cancel = () => fail(new AppError("cancelled", `the wait for ${what} was cancelled`));
      const stop = this.listen((event) => {
        const found = pick(event);
        if (found !== undefined) settle(() => resolve(found));
      });
      const late = () => fail(new AppError("timed_out", `Timeout after ${timeoutMs}ms waiting for ${what}`));
      const timer = timeoutMs === undefined ? undefined : longTimer(late, timeoutMs);
      this.#waiters.add(fail);
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted) cancel();
      if (this.ended) fail(this.ended);
    });
  }

  close(error?: Error): void {
    if (this.#end) return;
    this.#end = { error };
    for (const loop of this.#loops) loop.end(error);
    for (const fail of [...this.#waiters]) fail(error ?? left());
    this.#all.clear();
    this.#typed.clear();
  }
}

/** The events that one `for await` has not taken yet. */
class EventLoop {
  readonly #waiting: SessionEvent[] = [];
  #wake: (() => void) | undefined;
  #end: { error: Error | undefined } | undefined;

  push(event: SessionEvent): void {
    this.#waiting.push(event);
    this.#wake?.();
  }

  end(error: Error | undefined): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  async next(): Promise<SessionEvent | undefined> {
    while (this.#waiting.length === 0 && !this.#end) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const event = this.#waiting.shift();
    if (event === undefined && this.#end?.error) throw this.#end.error;
    return event;
  }
}

function left(): AppError {
  return new AppError("cancelled", "the session was left");
}

function isOfType<Type extends EventType>(event: SessionEvent, type: Type): event is SessionEvent & EventOf<Type> {
  return event.type === type;
}
