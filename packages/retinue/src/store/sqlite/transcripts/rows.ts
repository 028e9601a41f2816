/** The statements of one database, each prepared once, and transactions. */
import type { Database, Statement } from "../../sqlite-door.ts";
import { inTransaction } from "../transaction.ts";

export type Row = Readonly<Record<string, unknown>>;
export type Value = string | number | null;

export class Rows {
  readonly #db: Database;
  readonly #prepared = new Map<string, Statement>();

  constructor(db: Database) {
    this.#db = db;
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** How many rows it changed. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** Several statements at once, without values. */
  script(sql: string): void {
    this.#db.exec(sql);
  }

  /** Runs the work in a transaction. Joins one that is open already. */
  transaction<T>(work: () => T): T {
    return this.#db.isTransaction ? work() : inTransaction(this.#db, work);
  }

  #statement(sql: string): Statement {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }
}

export const text = (value: unknown) => (typeof value === "string" ? value : undefined);
export const number = (value: unknown) => (typeof value === "number" ? value : undefined);
