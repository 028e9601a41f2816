/** Gates at which a model waits until the test opens them, and at which the test waits for the model. */
export class Gates {
  readonly #reached = new Map<string, Deferred>();
  readonly #open = new Map<string, Deferred>();

  /** The model is at the gate. */
  reached(name: string): Promise<void> {
    return of(this.#reached, name).promise;
  }

  open(name: string): void {
    of(this.#open, name).resolve();
  }

  async pass(name: string, signal?: AbortSignal): Promise<void> {
    of(this.#reached, name).resolve();
    await Promise.race([of(this.#open, name).promise, aborted(signal)]);
  }
}

interface Deferred {
  promise: Promise<void>;
  resolve(): void;
}

function of(all: Map<string, Deferred>, name: string): Deferred {
  const known = all.get(name);
  if (known) return known;
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  const made = { promise, resolve };
  all.set(name, made);
  return made;
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
