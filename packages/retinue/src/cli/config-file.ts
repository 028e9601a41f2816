/** `retinue config get`, `set` and `unset`: config.json in the home folder, which is replaced in one step or not at all. */
import { closeSync, fsyncSync, openSync, readFileSync, realpathSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AppError, messageOf } from "@retinue/protocol";
import { homeFolder } from "../host/home.ts";
import { configProblem } from "../models/config.ts";
import { makePrivateFolder, PRIVATE_FILE } from "../store/private-files.ts";
import type { CliContext } from "./cli-context.ts";
import { readValue, valueAt, withValueAt } from "./config-keys.ts";
import { UsageError } from "./usage-error.ts";

export const configPath = (home: string): string => join(home, "config.json");

/** Resolves with the exit code: 1 when it is not set. */
export async function getConfig(
  { key, home }: { key?: string; home?: string },
  { terminal, env }: CliContext,
): Promise<number> {
  const config = readConfig(configPath(homeFolder(env, home)));
  const value = key === undefined ? config : valueAt(config, key);
  if (value === undefined) {
    terminal.note(`${key} is not set.`);
    return 1;
  }
  terminal.out(`${typeof value === "string" ? value : JSON.stringify(value, hidden, 2)}\n`);
  return 0;
}

export async function setConfig(
  { key, value, home }: { key: string; value: string; home?: string },
  { terminal, env }: CliContext,
): Promise<number> {
  const folder = homeFolder(env, home);
  const config = withValueAt(readConfig(configPath(folder)), key, readValue(key, value));
  writeConfig(folder, config);
  terminal.note(`Set ${key} in ${configPath(folder)}.`);
  return 0;
}

export async function unsetConfig(
  { key, home }: { key: string; home?: string },
  { terminal, env }: CliContext,
): Promise<number> {
  const folder = homeFolder(env, home);
  const config = readConfig(configPath(folder));
  if (valueAt(config, key) === undefined) {
    terminal.note(`${key} is not set.`);
    return 0;
  }
  writeConfig(folder, withValueAt(config, key, undefined));
  terminal.note(`Took ${key} out of ${configPath(folder)}.`);
  return 0;
}

/** An empty configuration when there is no file. */
export function readConfig(file: string): unknown {
  const text = readIfThere(file);
  if (text === undefined || text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError("not_configured", `${file} is not JSON: ${messageOf(cause)}. Mend it: retinue config edit`, {
      cause,
    });
  }
}

export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw new AppError("not_configured", `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

export function writeConfig(home: string, config: unknown): void {
  const problem = configProblem(config);
  if (problem !== undefined) throw new UsageError(`this would make config.json unusable: ${problem}`);
  replaceConfig(home, `${JSON.stringify(config, null, 2)}\n`);
}

/** Written beside the old one first, so that nobody ever reads half of it. A link stays a link. */
export function replaceConfig(home: string, text: string): void {
  makePrivateFolder(home);
  const file = whereLeads(configPath(home));
  const fresh = `${file}.${process.pid}.new`;
  try {
    const handle = openSync(fresh, "wx", PRIVATE_FILE);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(fresh, file);
  } catch (cause) {
    rmSync(fresh, { force: true });
    throw new AppError("not_configured", `${file} cannot be written: ${messageOf(cause)}`, { cause });
  }
}

function whereLeads(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file; // There is none yet.
  }
}

const SECRETS = new Set(["apiKey", "bearerToken"]);

/** For the screen: whoever looks over a shoulder reads it too. */
function hidden(this: unknown, name: string, value: unknown): unknown {
  if (SECRETS.has(name) && typeof value === "string") return "(hidden)";
  if (name !== "headers" || typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.keys(value).map((header) => [header, "(hidden)"]));
}
