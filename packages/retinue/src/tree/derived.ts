/** A value that is made from others, and made anew only when one of them is another one. */
export class Derived<T> {
  #kept: { key: readonly unknown[]; value: T } | undefined;

  /** `key` is everything that the value depends on; each part counts by its identity. */
  get(key: readonly unknown[], make: () => T): T {
    if (this.#kept && isSame(this.#kept.key, key)) return this.#kept.value;
    const value = make();
    this.#kept = { key, value };
    return value;
  }

  get isEmpty(): boolean {
    return this.#kept === undefined;
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((part, index) => Object.is(part, b[index]));
}
