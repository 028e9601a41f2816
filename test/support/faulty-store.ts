/**
 * A store that fails when a test says so, around a real one: at its n-th call, for a number of calls, or until it is mended.
 *
 * Every call of the port counts, reads included; `close` does not, because a process may always end.
 */
import { AppError } from "@retinue/protocol";
import { openSqlite } from "../../packages/retinue/src/store/sqlite/store.ts";
import type { Store } from "../../packages/retinue/src/store/store.ts";

export interface Fault {
  /** The first call that fails, counted from 1. */
  at: number;
  /** How many calls fail, one after the other. */
  calls?: number;
}

export class FaultyStore {
  /** Names of the calls so far. */
  readonly calls: string[] = [];
  /** Names of the calls that failed. */
  readonly failed: string[] = [];
  #fault: Fault | undefined;
  #matches: (name: string) => boolean = () => true;

  /** The runtime opens it with this; it may do so again after a restart. */
  readonly open = (path: string): Store => this.#around(openSqlite({ path }));

  failAt(fault: Fault): void {
    this.#fault = fault;
  }

  /** Fails every call of these names from now on, until `mend`. */
  break(matches: (name: string) => boolean = () => true): void {
    this.#fault = { at: this.calls.length + 1, calls: Number.POSITIVE_INFINITY };
    this.#matches = matches;
  }

  mend(): void {
    this.#fault = undefined;
    this.#matches = () => true;
  }

  #around<T extends object>(target: T, prefix = ""): T {
    return new Proxy(target, {
      get: (owner, key) => {
        const value: unknown = Reflect.get(owner, key);
        if (typeof key === "symbol" || key === "db" || (prefix === "" && key === "close")) return value;
        const name = `${prefix}${key}`;
        if (typeof value === "object" && value !== null) return this.#around(value, `${name}.`);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          this.#count(name);
          return await Reflect.apply(value, owner, args);
        };
      },
    });
  }

  #count(name: string): void {
    this.calls.push(name);
    const { at, calls = 1 } = this.#fault ?? { at: Number.POSITIVE_INFINITY };
    const n = this.calls.length;
    if (n < at || n >= at + calls || !this.#matches(name)) return;
    this.failed.push(name);
    throw new AppError("store_unavailable", `The store could not be written: database or disk is full (${name})`);
  }
}
