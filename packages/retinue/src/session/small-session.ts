/** A session for tests: a real log on a real store in memory, with ids and times that can be foreseen. */
import { openSqlite, type SqliteStore } from "../store/sqlite.ts";
import type { World } from "../world.ts";
import { Inbox, type InboxEntry } from "./inbox.ts";
import { Log } from "./log.ts";
import { Session } from "./session.ts";

export interface SmallSession extends Disposable {
  session: Session;
  log: Log;
  store: SqliteStore;
  failures: string[];
  /** A child session of the same tree, of the root when no parent is given. */
  child(id: string, parent?: Session): Session;
}

export function countingWorld(): World {
  let ids = 0;
  let now = 0;
  return { newId: () => `id-${++ids}`, now: () => ++now };
}

export function smallSession({
  stored = [],
  folder = "/nowhere",
}: {
  stored?: readonly InboxEntry[];
  folder?: string;
} = {}): SmallSession {
  const world = countingWorld();
  const store = openSqlite({ path: ":memory:" });
  store.createSession({ id: "root", rootId: "root", cwd: "/work", userNamed: false, createdAt: 0, updatedAt: 0 });
  const failures: string[] = [];
  const log = new Log({ rootId: "root", store, world, onFailure: (error) => failures.push(error.message) });
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
    log,
    store,
    failures,
    child: (id, parent = session) => open(id, parent),
    [Symbol.dispose]: () => store.close(),
  };
}
