/**
 * Which TCP servers run on a home folder, for the doctor: one small file each, written while it listens.
 *
 * A killed server leaves its file behind; its process says whether that is so. The token is in none of them, because agents may read
 * the home folder.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { isProcessAlive, thisProcess } from "../store/holder.ts";
import { makePrivateFolder, writePrivateFile } from "../store/private-files.ts";

const schema = () =>
  z.object({
    pid: z.int().positive(),
    startedAt: z.number(),
    host: z.string(),
    port: z.int(),
    needsToken: z.boolean(),
  });
export type RunningServer = z.infer<ReturnType<typeof schema>>;

const folderIn = (home: string): string => join(home, "servers");

/** Returns what takes the file away again. */
export function announceServer(home: string, server: Omit<RunningServer, "pid" | "startedAt">): () => void {
  const running: RunningServer = { ...thisProcess(), ...server };
  const file = join(folderIn(home), `${running.pid}-${running.port}.json`);
  try {
    makePrivateFolder(folderIn(home));
    removeStale(home);
    writePrivateFile(file, JSON.stringify(running));
  } catch {
    return () => undefined; // A home that cannot be written is reported by the first call; only the doctor misses this file.
  }
  return () => rmSync(file, { force: true });
}

export function runningServers(home: string): RunningServer[] {
  return filesIn(home)
    .map(read)
    .filter((server) => server !== undefined)
    .filter(isProcessAlive);
}

function removeStale(home: string): void {
  for (const file of filesIn(home)) {
    const server = read(file);
    if (!server || !isProcessAlive(server)) rmSync(file, { force: true });
  }
}

function filesIn(home: string): string[] {
  try {
    return readdirSync(folderIn(home))
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(folderIn(home), name));
  } catch {
    return []; // No server has ever listened here.
  }
}

function read(file: string): RunningServer | undefined {
  try {
    return schema().safeParse(JSON.parse(readFileSync(file, "utf8"))).data;
  } catch {
    return undefined; // Its server has just removed it, or was killed while it wrote.
  }
}
