/** The catalogue of stored sessions. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError, type Params, type Result } from "@retinue/protocol";
import { forkSession } from "../../host/fork.ts";
import type { Sessions } from "../../host/sessions.ts";
import { listedSessions } from "../../host/subconscious.ts";
import { createFolder, sessionFolder } from "../../session/folder.ts";
import { writePrivateFile } from "../../store/private-files.ts";
import type { SessionRecord } from "../../store/store.ts";
import { readPage } from "../event-page.ts";
import type { Handlers } from "../handler.ts";
import { listing } from "./sessions.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

export const catalogHandlers: Handlers = {
  "sessions.list": async ({ source = "local", filter }, { sessions }) => ({
    sessions: source === "remote" ? [] : (await listedSessions(sessions.store, filter)).map(listing),
  }),
  "sessions.getMetadata": async ({ sessionId }, { sessions }) => {
    const record = await rootSession(sessions, sessionId);
    return record ? { session: listing(record) } : {};
  },
  "sessions.enrichMetadata": async (params, { sessions }) => ({
    sessions: await Promise.all(
      params.sessions.map(async (given) => {
        const record = await rootSession(sessions, given.sessionId);
        return record ? { ...given, ...listing(record) } : given;
      }),
    ),
  }),
  "sessions.fork": async (params, { sessions }) => await forkSession(sessions, params),
  "sessions.findByPrefix": async ({ prefix }, { sessions }) => {
    if (prefix === "") return {};
    const found = (await sessions.store.sessions.list()).filter(({ id }) => id.startsWith(prefix));
    const [only] = found;
    return found.length === 1 && only ? { sessionId: only.id } : {};
  },
  "sessions.findByTaskId": async ({ taskId }, { sessions }) => {
    const child = await sessions.store.sessions.get(taskId);
    return child?.parentId ? { sessionId: child.rootId } : {};
  },
  "sessions.getLastForContext": async ({ context }, { sessions }) => {
    const last = await lastIn(sessions, context);
    return last ? { sessionId: last.id } : {};
  },
  "sessions.getSizes": async (_, { sessions }) => {
    const all = await sessions.store.sessions.list();
    const sizes = all.map(async ({ id }) => [id, await sizeOf(sessions, id)] as const);
    return { sizes: Object.fromEntries(await Promise.all(sizes)) };
  },
  "sessions.checkInUse": async ({ sessionIds }, { sessions }) => {
    const holders = await Promise.all(sessionIds.map((id) => sessions.store.leases.holder(id)));
    return { inUse: sessionIds.filter((_, index) => holders[index] !== undefined) };
  },

  "sessions.close": async ({ sessionId }, { sessions }) => {
    await sessions.find(sessionId)?.close();
    return {};
  },
  "sessions.save": () => ({}), // Nothing to do: as for every call that names a session, the runtime commits before it answers.
  // The lease ends with the session; we cannot release another process's lease.
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
    // Together, so that the files are cleaned up once.
    const deleteOne = async (id: string) => {
      const size = await sizeOf(sessions, id);
      if (await sessions.delete(id)) freedBytes[id] = size;
    };
    await Promise.all([...new Set(sessionIds)].map(deleteOne));
    return { freedBytes };
  },
  "sessions.pruneOld": async (params, { sessions }) => await prune(sessions, params),

  "sessions.getEventFilePath": async ({ sessionId }, { sessions }) => {
    const open = sessions.find(sessionId);
    if (open) return { filePath: await open.tree.transcript.write() };
    return (await rootSession(sessions, sessionId)) ? { filePath: await writeEvents(sessions, sessionId) } : {};
  },
  "sessions.readPersistedEvents": async (params, { sessions }) => {
    await sessions.find(params.sessionId)?.session.log.committed();
    if (!(await rootSession(sessions, params.sessionId)))
      throw new AppError("session_not_found", `Session not found: ${params.sessionId}`);
    return await readPage(sessions.store, params.sessionId, params);
  },
};

async function rootSession({ store }: Sessions, id: string): Promise<SessionRecord | undefined> {
  const record = await store.sessions.get(id);
  return record?.parentId ? undefined : record;
}

/** The closest match first: the folder, then the repository with the branch, then the repository. */
async function lastIn(
  { store }: Sessions,
  context: Params<"sessions.getLastForContext">["context"],
): Promise<SessionRecord | undefined> {
  if (!context) return (await listedSessions(store))[0];
  const { cwd, gitRoot, repository, branch } = context;
  const filters = [
    { cwd },
    ...(repository && branch ? [{ repository, branch }] : []),
    ...(gitRoot ? [{ gitRoot }] : []),
    ...(repository ? [{ repository }] : []),
  ];
  for (const filter of filters) {
    const [last] = await listedSessions(store, filter);
    if (last) return last;
  }
  return undefined;
}

async function sizeOf({ store, shared: { runtime } }: Sessions, id: string): Promise<number> {
  return (await store.events.size(id)) + folderSize(sessionFolder(runtime.home, id));
}

function folderSize(folder: string): number {
  if (!statSync(folder, { throwIfNoEntry: false })) return 0;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  // A file may be deleted between listing and reading it.
  return files.reduce(
    (sum, file) => sum + (statSync(join(file.parentPath, file.name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

async function prune(sessions: Sessions, params: Params<"sessions.pruneOld">): Promise<Result<"sessions.pruneOld">> {
  const { olderThanDays, dryRun = false, includeNamed = false, excludeSessionIds = [] } = params;
  const limit = sessions.world.now() - olderThanDays * DAY_MS;
  const old = (await sessions.store.sessions.list()).filter(({ updatedAt }) => updatedAt <= limit);
  const doomed: string[] = [];
  const skipped: string[] = [];
  for (const { id, userNamed } of old) {
    const isWanted = (userNamed && !includeNamed) || excludeSessionIds.includes(id);
    const isKept = isWanted || (await sessions.store.leases.holder(id)) !== undefined;
    (isKept ? skipped : doomed).push(id);
  }
  let freedBytes = 0;
  for (const id of doomed) freedBytes += await sizeOf(sessions, id);
  // Together, so that the files are cleaned up once.
  if (!dryRun) await Promise.all(doomed.map((id) => sessions.delete(id)));
  return { deleted: dryRun ? [] : doomed, candidates: dryRun ? doomed : [], skipped, freedBytes, dryRun };
}

/** The store has the truth; the file is a copy for reading, written on request. */
async function writeEvents({ store, shared: { runtime } }: Sessions, id: string): Promise<string> {
  const folder = sessionFolder(runtime.home, id);
  createFolder(folder);
  const path = join(folder, "events.jsonl");
  const lines = (await store.events.read(id)).map(({ json }) => `${json}\n`);
  writePrivateFile(path, lines.join(""));
  return path;
}
