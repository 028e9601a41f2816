/** A map that takes no memory while it is empty: every session has one for each kind of ask, and most sessions ask few kinds. */
export class SparseMap<Value> {
  #entries: Map<string, Value> | undefined;

  get(key: string): Value | undefined {
    return this.#entries?.get(key);
  }

  set(key: string, value: Value): void {
    this.#entries ??= new Map();
    this.#entries.set(key, value);
  }

  /** Whether there was one. */
  delete(key: string): boolean {
    return this.#entries?.delete(key) ?? false;
  }

  values(): readonly Value[] {
    return this.#entries ? [...this.#entries.values()] : [];
  }
}
