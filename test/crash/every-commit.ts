/**
 * What a kill -9 would leave after each single commit of a run: the database and the folders as they were then.
 *
 * Owns the copies, and opens each of them as another process would: at the same path, with the writer gone. git is let end before a copy is
 * made; kills in the midst of it are in worktrees.test.ts.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { openSqlite, type SqliteStore } from "../../packages/retinue/src/store/sqlite/store.ts";
import { World, type WorldOptions } from "../laws/world.ts";

export interface Commit<Seen> {
  at: number;
  /** What the run's own observer saw at this moment. */
  seen: Seen;
}

interface Observed<Seen> {
  /** What there is beside the database and the folders; called at each commit. */
  look(world: World): Seen;
  options?: WorldOptions;
  /** How many commits there are from one copy to the next; 1 by default. */
  every?: number;
}

export class Commits<Seen> {
  /** Those that were copied. */
  readonly all: Commit<Seen>[] = [];
  readonly #root = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-commits-")));
  readonly #observed: Observed<Seen>;

  private constructor(observed: Observed<Seen>) {
    this.#observed = observed;
  }

  /** Runs something to its end, and keeps what there was after each of its commits. */
  static async of<Seen>(run: (world: World) => Promise<void>, observed: Observed<Seen>): Promise<Commits<Seen>> {
    const commits = new Commits(observed);
    try {
      await commits.#watch(run);
      return commits;
    } catch (error) {
      commits[Symbol.dispose]();
      throw error;
    }
  }

  /** A runtime that finds what the process before has left after this commit. */
  async open({ at }: Commit<Seen>): Promise<World> {
    const copy = this.#copy(at);
    await forgetWriter(path.join(copy, "retinue.db"));
    cpSync(path.join(copy, "root"), this.#world, { recursive: true, verbatimSymlinks: true });
    return new World({ ...this.#observed.options, root: this.#world, database: path.join(copy, "retinue.db") });
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }

  get #world(): string {
    return path.join(this.#root, "world");
  }

  #copy(at: number): string {
    return path.join(this.#root, String(at));
  }

  async #watch(run: (world: World) => Promise<void>): Promise<void> {
    await using world = new World({ ...this.#observed.options, root: this.#world });
    const store = world.runtime.sessions.store as SqliteStore;
    const commit = store.commit.bind(store);
    let count = 0;
    store.commit = async (batch) => {
      await commit(batch);
      const at = count++;
      if (at % (this.#observed.every ?? 1) !== 0) return;
      while (isGitAtWork()) await setImmediate();
      cpSync(this.#world, path.join(this.#copy(at), "root"), { recursive: true, verbatimSymlinks: true, filter });
      store.db.exec(`VACUUM INTO '${path.join(this.#copy(at), "retinue.db")}'`);
      this.all.push({ at, seen: this.#observed.look(world) });
    };
    const { get } = store.sessions;
    store.sessions.get = async (id) => {
      await setImmediate(); // A store may be slow: then what is appended before and after a look are two commits.
      return await get(id);
    };
    await run(world);
    store.commit = commit;
  }
}

/** The database is copied by itself. */
const filter = (file: string): boolean => !path.basename(file).startsWith("retinue.db");

/** The process that wrote it is gone. */
async function forgetWriter(file: string): Promise<void> {
  const store = openSqlite({ path: file });
  store.db.exec("DELETE FROM leases");
  await store.close();
}

function isGitAtWork(): boolean {
  return readdirSync("/proc").some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const [, name, parent] = /\((.*)\) [^ZX] (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      return name === "git" && Number(parent) === process.pid;
    } catch {
      return false; // It ended meanwhile.
    }
  });
}
