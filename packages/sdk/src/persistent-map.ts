/**
 * A map that never changes: `set` and `delete` give a new one. Both cost the same however large the map is.
 *
 * The newest version holds the real map. Each older one holds only its difference and a link to the newer one. Reading
 * an old version reverses that chain, so every version answers correctly and the newest answers at once.
 */
interface Difference<Value> {
  readonly key: string;
  /** What was there; undefined when nothing was. */
  readonly was: { readonly value: Value } | undefined;
  readonly next: PersistentMap<Value>;
}

export class PersistentMap<Value> {
  #state: Map<string, Value> | Difference<Value>;

  constructor(entries: Iterable<readonly [string, Value]> = []) {
    this.#state = new Map(entries);
  }

  get size(): number {
    return this.#map().size;
  }

  has(key: string): boolean {
    return this.#map().has(key);
  }

  get(key: string): Value | undefined {
    return this.#map().get(key);
  }

  keys(): string[] {
    return [...this.#map().keys()];
  }

  values(): Value[] {
    return [...this.#map().values()];
  }

  set(key: string, value: Value): PersistentMap<Value> {
    const map = this.#map();
    if (map.get(key) === value && map.has(key)) return this;
    const next = this.#pass(map, key);
    map.set(key, value);
    return next;
  }

  delete(key: string): PersistentMap<Value> {
    const map = this.#map();
    if (!map.has(key)) return this;
    const next = this.#pass(map, key);
    map.delete(key);
    return next;
  }

  /** Gives the real map to a newer version and keeps what that version is about to change. */
  #pass(map: Map<string, Value>, key: string): PersistentMap<Value> {
    const next = new PersistentMap<Value>();
    next.#state = map;
    this.#state = { key, was: at(map, key), next };
    return next;
  }

  #map(): Map<string, Value> {
    if (this.#state instanceof Map) return this.#state;
    const older: PersistentMap<Value>[] = [];
    let newest: PersistentMap<Value> = this;
    while (!(newest.#state instanceof Map)) {
      older.push(newest);
      newest = newest.#state.next;
    }
    const map = newest.#state;
    for (const version of older.reverse()) version.#turn(map);
    return map;
  }

  /** Reverses one link: this version gets the real map, the newer one keeps its difference. */
  #turn(map: Map<string, Value>): void {
    if (this.#state instanceof Map) return;
    const { key, was, next } = this.#state;
    next.#state = { key, was: at(map, key), next: this };
    if (was) map.set(key, was.value);
    else map.delete(key);
    this.#state = map;
  }
}

function at<Value>(map: Map<string, Value>, key: string): { value: Value } | undefined {
  const value = map.get(key);
  // The value can only be undefined where the map's own type says so.
  return map.has(key) ? { value: value as Value } : undefined;
}
