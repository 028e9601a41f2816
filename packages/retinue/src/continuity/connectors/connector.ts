/**
 * What a connector is: the exact changes that connect a harness to continuity, and those that disconnect it.
 *
 * Changes are computed first and shown; files are written only after a yes, and the old ones are kept.
 */
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AppError, messageOf } from "@retinue/protocol/errors";
import { makePrivateFolder, PRIVATE_FILE, writePrivateFile } from "../../store/private-files.ts";

export interface ConnectorContext {
  /** Our home folder. */
  home: string;
  /** How to run this program: the executable and its first arguments. */
  program: readonly string[];
  env: NodeJS.ProcessEnv;
}

export interface FileChange {
  path: string;
  before: string | undefined;
  /** Undefined: the file is removed. */
  after: string | undefined;
}

export interface Check {
  /** hooks, search, trust, program … */
  what: string;
  ok: boolean;
  detail: string;
}

export interface Connector {
  readonly name: string;
  /** Where the harness keeps its settings. */
  folder(context: ConnectorContext): string;
  /** Folders whose transcripts its hooks may name. */
  transcripts(context: ConnectorContext): string[];
  connect(context: ConnectorContext): FileChange[];
  disconnect(context: ConnectorContext): FileChange[];
  check(context: ConnectorContext): Promise<Check[]>;
}

export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw error;
  }
}

/** A settings file that must be a JSON object. One that is damaged is left alone. */
export function readSettings(path: string): { text: string | undefined; value: Record<string, unknown> } {
  const text = readIfThere(path);
  if (text === undefined || text.trim() === "") return { text, value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { text, value: { ...value } };
  } catch (error) {
    throw new AppError("invalid_params", `${path} is not valid JSON and was not changed: ${messageOf(error)}`, {
      cause: error,
    });
  }
  throw new AppError("invalid_params", `${path} is not a JSON object and was not changed`);
}

export const asJson = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

/** Only real changes: a file that already has the right content is not touched. */
export function effective(changes: readonly FileChange[]): FileChange[] {
  return changes.filter(({ before, after }) => before !== after);
}

/** Writes the changes and keeps what was there under `backups/`. */
export function applyChanges(
  home: string,
  name: string,
  changes: readonly FileChange[],
  at: number,
): string | undefined {
  const folder = join(home, "backups", name, new Date(at).toISOString().replaceAll(":", "-"));
  let saved: string | undefined;
  for (const [n, { path, after }] of changes.entries()) {
    if (existsSync(path)) {
      makePrivateFolder(folder);
      const copy = join(folder, `${n}-${basename(path)}`);
      copyFileSync(path, copy);
      chmodSync(copy, PRIVATE_FILE);
      saved = folder;
    }
    if (after === undefined) rmSync(path, { force: true });
    else replaceFile(path, after);
  }
  return saved;
}

/** In one step, so that the harness never reads half a file. */
function replaceFile(path: string, text: string): void {
  makePrivateFolder(dirname(path));
  const temporary = `${path}.retinue-${process.pid}`;
  writePrivateFile(temporary, text);
  if (!existsSync(path)) chmodSync(temporary, 0o644);
  renameSync(temporary, path);
}

/** The removed and the added lines. */
export function showChange({ path, before, after }: FileChange): string {
  const [old, fresh] = [before?.split("\n") ?? [], after?.split("\n") ?? []];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let foot = 0;
  while (foot < old.length - head && foot < fresh.length - head && old.at(-1 - foot) === fresh.at(-1 - foot)) foot++;
  const lines = [
    ...old.slice(head, old.length - foot).map((line) => `- ${line}`),
    ...fresh.slice(head, fresh.length - foot).map((line) => `+ ${line}`),
  ];
  return `${path}${before === undefined ? " (new)" : after === undefined ? " (removed)" : ""}\n${lines.join("\n")}`;
}

/** A command line for a shell that hooks are run by. */
export function shellCommand(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}
