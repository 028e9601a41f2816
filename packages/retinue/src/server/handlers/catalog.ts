/** The catalogue of stored sessions. */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, type Params, type Result } from "@retinue/protocol";
import { forkSession } from "../../host/fork.ts";
import type { Sessions } from "../../host/sessions.ts";
import { createFolder, sessionFolder } from "../../session/folder.ts";
import type { SessionRecord } from "../../store/store.ts";
import { readPage } from "../event-page.ts";
import type { Handlers } from "../handler.ts";
import { listing } from "./sessions.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

export const catalogHandlers: Handlers = {
  "sessions.list": ({ source = "local", filter }, { sessions }) => ({
    sessions: source === "remote" ? [] : sessions.store.sessions(filter).map(listing),
  }),
  "sessions.getMetadata": ({ sessionId }, { sessions }) => {
    const record = rootSession(sessions, sessionId);
    return record ? { session: listing(record) } : {};
  },
  "sessions.enrichMetadata": (params, { sessions }) => ({
    sessions: params.sessions.map((given) => {
      const record = rootSession(sessions, given.sessionId);
      return record ? { ...given, ...listing(record) } : given;
    }),
  }),
  "sessions.fork": (params, { sessions }) => forkSession(sessions, params),
  "sessions.findByPrefix": ({ prefix }, { sessions }) => {
    const found = prefix === "" ? [] : sessions.store.sessions().filter(({ id }) => id.startsWith(prefix));
    const [only] = found;
    return found.length === 1 && only ? { sessionId: only.id } : {};
  },
  "sessions.findByTaskId": ({ taskId }, { sessions }) => {
    const child = sessions.store.session(taskId);
    return child?.parentId ? { sessionId: child.rootId } : {};
  },
  "sessions.getLastForContext": ({ context }, { sessions }) => {
    const last = lastIn(sessions, context);
    return last ? { sessionId: last.id } : {};
  },
  "sessions.getSizes": (_, { sessions }) => ({
    sizes: Object.fromEntries(sessions.store.sessions().map(({ id }) => [id, sizeOf(sessions, id)])),
  }),
  "sessions.checkInUse": ({ sessionIds }, { sessions }) => ({
    inUse: sessionIds.filter((id) => sessions.store.holder(id) !== undefined),
  }),

  "sessions.close": async ({ sessionId }, { sessions }) => {
    await sessions.find(sessionId)?.close();
    return {};
  },
  "sessions.save": ({ sessionId }, { sessions }) => {
    sessions.find(sessionId)?.session.log.flush();
    return {};
  },
  // The right to write ends with the session here; another process's right is not ours to give.
  "sessions.releaseLock": async ({ sessionId }, { sessions }) => {
    await sessions.find(sessionId)?.close();
    return {};
  },
  "sessions.delete": async ({ sessionId }, { sessions }) => {
    await sessions.delete(sessionId);
    return {};
  },
  "sessions.bulkDelete": async ({ sessionIds }, { sessions }) => {
    const freedBytes: Record<string, number> = {};
    for (const id of sessionIds) {
      const size = sizeOf(sessions, id);
      if (await sessions.delete(id)) freedBytes[id] = size;
    }
    return { freedBytes };
  },
  "sessions.pruneOld": async (params, { sessions }) => await prune(sessions, params),

  "sessions.getEventFilePath": ({ sessionId }, { sessions }) => {
    const open = sessions.find(sessionId);
    if (open) return { filePath: open.tree.transcript.write() };
    return rootSession(sessions, sessionId) ? { filePath: writeEvents(sessions, sessionId) } : {};
  },
  "sessions.readPersistedEvents": (params, { sessions }) => {
    sessions.find(params.sessionId)?.session.log.flush();
    if (!rootSession(sessions, params.sessionId))
      throw new AppError("session_not_found", `Session not found: ${params.sessionId}`);
    return readPage(sessions.store, params.sessionId, params);
  },
};

function rootSession({ store }: Sessions, id: string): SessionRecord | undefined {
  const record = store.session(id);
  return record?.parentId ? undefined : record;
}

/** The closest match first: the folder, then the repository with the branch, then the repository. */
function lastIn(
  { store }: Sessions,
  context: Params<"sessions.getLastForContext">["context"],
): SessionRecord | undefined {
  if (!context) return store.sessions()[0];
  const { cwd, gitRoot, repository, branch } = context;
  const filters = [
    { cwd },
    ...(repository && branch ? [{ repository, branch }] : []),
    ...(gitRoot ? [{ gitRoot }] : []),
    ...(repository ? [{ repository }] : []),
  ];
  for (const filter of filters) {
    const [last] = store.sessions(filter);
    if (last) return last;
  }
  return undefined;
}

function sizeOf({ store, runtime }: Sessions, id: string): number {
  return store.sizeOf(id) + folderSize(sessionFolder(runtime.home, id));
}

function folderSize(folder: string): number {
  if (!statSync(folder, { throwIfNoEntry: false })) return 0;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  // A file may go between the listing and the look at it.
  return files.reduce(
    (sum, file) => sum + (statSync(join(file.parentPath, file.name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

async function prune(sessions: Sessions, params: Params<"sessions.pruneOld">): Promise<Result<"sessions.pruneOld">> {
  const { olderThanDays, dryRun = false, includeNamed = false, excludeSessionIds = [] } = params;
  const limit = sessions.world.now() - olderThanDays * DAY_MS;
  const old = sessions.store.sessions().filter(({ updatedAt }) => updatedAt <= limit);
  const isKept = ({ id, userNamed }: SessionRecord) =>
    (userNamed && !includeNamed) || excludeSessionIds.includes(id) || sessions.store.holder(id) !== undefined;
  const doomed = old.filter((record) => !isKept(record)).map(({ id }) => id);
  const freedBytes = doomed.reduce((sum, id) => sum + sizeOf(sessions, id), 0);
  if (!dryRun) for (const id of doomed) await sessions.delete(id);
  const skipped = old.filter(isKept).map(({ id }) => id);
  return { deleted: dryRun ? [] : doomed, candidates: dryRun ? doomed : [], skipped, freedBytes, dryRun };
}

/** The store has the truth; the file is for whoever wants to read it, and is written when asked for. */
function writeEvents({ store, runtime }: Sessions, id: string): string {
  const folder = sessionFolder(runtime.home, id);
  createFolder(folder);
  const path = join(folder, "events.jsonl");
  const lines = store.events(id).map(({ json }) => `${json}\n`);
  writeFileSync(path, lines.join(""));
  return path;
}
