/**
 * The folder of a session: plan.md, files/, research/, checkpoints/, workspace.yaml, and the transcript that hooks may read.
 *
 * Owns the paths and the rule that a given name cannot lead out of the folder. The truth about a session is in the store, not here.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { AppError, messageOf } from "@retinue/protocol";
import { isWithin, realPath } from "../real-path.ts";
import { appendPrivateFile, makePrivateFolder, writePrivateFile } from "../store/private-files.ts";

export function sessionFolder(home: string, sessionId: string): string {
  return join(home, "session-state", sessionId);
}

export function createFolder(folder: string): void {
  try {
    for (const name of ["checkpoints", "files", "research"]) makePrivateFolder(join(folder, name));
  } catch (error) {
    const message = `The folder ${folder} could not be made: ${messageOf(error)}. Make room on the disk, or give access to it.`;
    throw new AppError("store_unavailable", message, { cause: error });
  }
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** A path inside `files/`; anything that would lead out of it, by its name or by a link, is refused. */
export function fileInside(folder: string, path: string): string {
  const base = join(folder, "files");
  const full = resolve(base, path);
  if (path === "" || !isWithin(base, full) || !isWithin(realPath(base), realPath(full))) {
    throw new AppError("invalid_params", `Path is outside the session's files: ${path}`);
  }
  return full;
}

export function listFiles(folder: string): string[] {
  const base = join(folder, "files");
  if (!existsSync(base)) return [];
  const entries = readdirSync(base, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(base, join(entry.parentPath, entry.name)))
    .sort();
}

export const planPath = (folder: string): string => join(folder, "plan.md");

export function readPlan(folder: string): string | undefined {
  return existsSync(planPath(folder)) ? readFileSync(planPath(folder), "utf8") : undefined;
}

export interface Checkpoint {
  number: number;
  title: string;
  filename: string;
}

export function listCheckpoints(folder: string): Checkpoint[] {
  const index = join(folder, "checkpoints", "index.md");
  if (!existsSync(index)) return [];
  const rows = readFileSync(index, "utf8").matchAll(/^\| (\d+) \| (.*) \| (\S+) \|$/gm);
  return [...rows].map(([, number = "0", title = "", filename = ""]) => ({ number: Number(number), title, filename }));
}

export function readCheckpoint(folder: string, number: number): string | undefined {
  const found = listCheckpoints(folder).find((checkpoint) => checkpoint.number === number);
  const path = found && join(folder, "checkpoints", found.filename);
  return path && existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

export function addCheckpoint(
  folder: string,
  { title, content }: { title: string; content: string },
): Checkpoint & { path: string } {
  makePrivateFolder(join(folder, "checkpoints"));
  const number = Math.max(0, ...listCheckpoints(folder).map((checkpoint) => checkpoint.number)) + 1;
  const plain = title.replaceAll("|", "/").replaceAll("\n", " ");
  const filename = `${String(number).padStart(3, "0")}-${slug(plain)}.md`;
  const path = join(folder, "checkpoints", filename);
  writePrivateFile(path, content);
  const index = join(folder, "checkpoints", "index.md");
  if (!existsSync(index)) writePrivateFile(index, "| # | Title | File |\n| --- | --- | --- |\n");
  appendPrivateFile(index, `| ${number} | ${plain} | ${filename} |\n`);
  return { number, title: plain, filename, path };
}

/** Keeps the first `count` checkpoints. */
export function cutCheckpoints(folder: string, count: number): void {
  const all = listCheckpoints(folder);
  for (const { filename } of all.slice(count)) rmSync(join(folder, "checkpoints", filename), { force: true });
  const rows = all.slice(0, count).map(({ number, title, filename }) => `| ${number} | ${title} | ${filename} |\n`);
  if (all.length > 0)
    writePrivateFile(
      join(folder, "checkpoints", "index.md"),
      `| # | Title | File |\n| --- | --- | --- |\n${rows.join("")}`,
    );
}

function slug(title: string): string {
  const plain = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return plain.slice(0, 48) || "session";
}
