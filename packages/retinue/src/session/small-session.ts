/** A session for tests: a real log on a real store in memory, with predictable ids and times. */
import { thisProcess } from "../store/holder.ts";
import { openSqlite, type SqliteStore, type SqliteStoreOptions } from "../store/sqlite/store.ts";
import type { Lease } from "../store/store.ts";
import type { World } from "../world.ts";
import { Inbox, type InboxEntry } from "./inbox.ts";
import { Log } from "./log.ts";
import { Session } from "./session.ts";

export interface SmallSession extends Disposable {
  session: Session;
  lease: Lease;
  log: Log;
  store: SqliteStore;
  failures: string[];
  /** A child session of the same tree; its parent is the root unless given. */
  child(id: string, parent?: Session): Session;
}

export function countingWorld(): World {
  let ids = 0;
  let now = 0;
  return { newId: () => `id-${++ids}`, now: () => ++now };
}

/** A store in memory with a session `root`, and its lease. Nothing is awaited, because SQLite works synchronously. */
export function smallStore(options: Omit<SqliteStoreOptions, "path"> = {}): { store: SqliteStore; lease: Lease } {
  const store = openSqlite({ path: ":memory:", ...options });
  const lease = { rootId: "root", number: 1 };
  const root = { id: "root", rootId: "root", cwd: "/work", userNamed: false, createdAt: 0, updatedAt: 0 };
  void store.leases.acquire("root", thisProcess());
  void store.commit({ lease, at: 0, created: [root] });
  return { store, lease };
}

export function smallSession({
  stored = [],
  folder = "/nowhere",
}: {
  stored?: readonly InboxEntry[];
  folder?: string;
} = {}): SmallSession {
  const world = countingWorld();
  const { store, lease } = smallStore();
  const failures: string[] = [];
  const log = new Log({ lease, store, world, onFailure: (error) => failures.push(error.message) });
  const place = { workingDirectory: "/work", folder };
  const open = (id: string, parent?: Session) =>
    new Session({
      id,
      log,
      world,
      place,
      parent,
      inbox: new Inbox({ sessionId: id, log, stored: parent ? [] : stored }),
    });
  const session = open("root");
  return {
    session,
    lease,
    log,
    store,
    failures,
    child: (id, parent = session) => open(id, parent),
    [Symbol.dispose]: () => store.db.close(),
  };
}
