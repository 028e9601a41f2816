/** Where the runtime keeps things and what its limits are: environment first, then defaults. */
import { tmpdir } from "node:os";
import { AppError } from "@retinue/protocol/errors";
import { parseUnattended, UNATTENDED_WORDS, type Unattended, WAIT } from "../asks/unattended.ts";
import { type LogLevel, logLevel } from "./diagnostics.ts";
import { homeFolder } from "./home.ts";

export interface RuntimeConfig {
  home: string;
  tempFolder: string;
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  hookLimitMs: number;
  /** What a hook that fails before a call means, where its client does not say. */
  hooksOnError: "ignore" | "deny";
  /** How long a query of the `sql` tool may run. */
  sqlLimitMs: number;
  /** How long git may take to say whether a session's folder is changed; then the prompt does not say it. */
  gitLimitMs: number;
  maxDepth: number;
  maxConcurrent: number;
  /** What an ask does while no attached client can answer it, where the session does not say. */
  unattended: Unattended;
  /** Seconds without work after which an open session closes by itself; 0 means never. */
  idleTimeoutSeconds: number;
  logLevel: LogLevel;
}

export const VERSION = "0.1.0";

export function runtimeConfig(
  env: Readonly<Record<string, string | undefined>>,
  { home }: { home?: string } = {},
): RuntimeConfig {
  return {
    home: homeFolder(env, home),
    tempFolder: tmpdir(),
    version: VERSION,
    env,
    hookLimitMs: number(env.RETINUE_HOOK_TIMEOUT_MS, 60_000, 1, 3_600_000),
    hooksOnError: choice(env, "RETINUE_HOOKS_ON_ERROR", ["ignore", "deny"]),
    sqlLimitMs: 30_000,
    gitLimitMs: 400,
    maxDepth: number(env.RETINUE_SUBAGENT_MAX_DEPTH ?? env.COPILOT_SUBAGENT_MAX_DEPTH, 4, 0, 64),
    maxConcurrent: number(env.RETINUE_SUBAGENT_MAX_CONCURRENT ?? env.COPILOT_SUBAGENT_MAX_CONCURRENT, 16, 1, 256),
    unattended: unattended(env),
    idleTimeoutSeconds: 0,
    logLevel: logLevel(env.RETINUE_LOG_LEVEL),
  };
}

/** The first word is the default. A misspelt one is refused: a guard that somebody believes to be on must not be off. */
function choice<Word extends string>(env: RuntimeConfig["env"], name: string, words: readonly [Word, ...Word[]]): Word {
  const given = env[name]?.trim() ?? "";
  if (given === "") return words[0];
  const found = words.find((word) => word === given);
  if (found === undefined)
    throw new AppError("not_configured", `${name} is ${JSON.stringify(given)}; it must be ${words.join(" or ")}.`);
  return found;
}

function unattended(env: RuntimeConfig["env"]): Unattended {
  const given = env.RETINUE_UNATTENDED?.trim() ?? "";
  const found = given === "" ? WAIT : parseUnattended(given);
  if (found) return found;
  const words = `RETINUE_UNATTENDED is ${JSON.stringify(given)}; it must be ${UNATTENDED_WORDS}.`;
  throw new AppError("not_configured", words);
}

function number(text: string | undefined, otherwise: number, least: number, most: number): number {
  const value = text === undefined || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.floor(value))) : otherwise;
}
