/** A value that is computed from others, and computed again only when one of them is replaced. */
export class Derived<T> {
  #kept: { key: readonly unknown[]; value: T } | undefined;

  /** `key` is everything that the value depends on; its parts are compared by identity. */
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
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (!Object.is(a[at], b[at])) return false;
  return true;
}
