/** Where the runtime keeps things and what its limits are: environment first, then defaults. */
import { tmpdir } from "node:os";
import { AppError } from "@retinue/protocol/errors";
import { parseUnattended, UNATTENDED_WORDS, type Unattended, WAIT } from "../asks/unattended.ts";
import type { Catalog } from "../models/catalog.ts";
import { isLogLevel, LOG_LEVELS, type LogLevel, logLevel } from "./diagnostics.ts";
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
  /** How long the first prompt waits for MCP servers that are starting. */
  serverWaitMs: number;
  /** How long an MCP server may take to start, where its configuration does not say. */
  serverStartMs: number;
  maxDepth: number;
  /** How many sub-agents may work at the same time; undefined where the environment does not say it. */
  maxConcurrent: number | undefined;
  /** What an ask does while no attached client can answer it, where the session does not say. */
  unattended: Unattended;
  /** Whether closed sessions are consolidated by themselves; undefined when the environment does not say. */
  subconscious?: boolean;
  /** Seconds without work after which an open session closes by itself; 0 means never. */
  idleTimeoutSeconds: number;
  logLevel: LogLevel;
  /** How many reminders autopilot sends for one prompt, if the environment says so. */
  maxAutopilotContinues: number | undefined;
}

export const VERSION = "0.1.0";

/** Numbers that the environment sets. */
export const NUMBERS = {
  RETINUE_SUBAGENT_MAX_DEPTH: { least: 0, most: 64, otherwise: 6 },
  RETINUE_SUBAGENT_MAX_CONCURRENT: { least: 1, most: 256, otherwise: 16 },
  RETINUE_HOOK_TIMEOUT_MS: { least: 1, most: 3_600_000, otherwise: 60_000 },
  RETINUE_MCP_WAIT_MS: { least: 0, most: 3_600_000, otherwise: 5000 },
  RETINUE_MAX_AUTOPILOT_CONTINUES: { least: 0, most: 1000, otherwise: 5 },
  RETINUE_MCP_START_TIMEOUT_MS: { least: 1, most: 3_600_000, otherwise: 30_000 },
} as const;

export function runtimeConfig(
  env: Readonly<Record<string, string | undefined>>,
  { home }: { home?: string } = {},
): RuntimeConfig {
  choice(env, "RETINUE_CGROUPS", ["on", "off"]);
  return {
    home: homeFolder(env, home),
    tempFolder: tmpdir(),
    version: VERSION,
    env,
    hookLimitMs: number(env, "RETINUE_HOOK_TIMEOUT_MS"),
    hooksOnError: choice(env, "RETINUE_HOOKS_ON_ERROR", ["ignore", "deny"]),
    sqlLimitMs: 30_000,
    gitLimitMs: 400,
    serverWaitMs: number(env, "RETINUE_MCP_WAIT_MS"),
    serverStartMs: number(env, "RETINUE_MCP_START_TIMEOUT_MS"),
    maxDepth: number(env, "RETINUE_SUBAGENT_MAX_DEPTH"),
    maxConcurrent: isNumberSet(env, "RETINUE_SUBAGENT_MAX_CONCURRENT")
      ? number(env, "RETINUE_SUBAGENT_MAX_CONCURRENT")
      : undefined,
    unattended: unattended(env),
    subconscious: subconscious(env),
    idleTimeoutSeconds: 0,
    logLevel: level(env),
    maxAutopilotContinues: isSet(env, "RETINUE_MAX_AUTOPILOT_CONTINUES")
      ? number(env, "RETINUE_MAX_AUTOPILOT_CONTINUES")
      : undefined,
  };
}

/** The environment first, then the configuration file. */
export function concurrencyOf({ maxConcurrent }: RuntimeConfig, { subagents }: Pick<Catalog, "subagents">): number {
  return maxConcurrent ?? subagents?.().maxConcurrent ?? NUMBERS.RETINUE_SUBAGENT_MAX_CONCURRENT.otherwise;
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

const SWITCH: Readonly<Record<string, boolean>> = {
  on: true,
  true: true,
  "1": true,
  off: false,
  false: false,
  "0": false,
};

/** The variable of another runtime counts where ours is not set; a word that we do not know is no yes. */
function subconscious(env: RuntimeConfig["env"]): boolean | undefined {
  const own = env.RETINUE_SUBCONSCIOUS?.trim() ?? "";
  const other = env.COPILOT_SUBCONSCIOUS?.trim() ?? "";
  if (own === "") return other === "" ? undefined : (SWITCH[other.toLowerCase()] ?? false);
  const found = SWITCH[own.toLowerCase()];
  if (found !== undefined) return found;
  throw new AppError("not_configured", `RETINUE_SUBCONSCIOUS is ${JSON.stringify(own)}; it must be on or off.`);
}

function unattended(env: RuntimeConfig["env"]): Unattended {
  const given = env.RETINUE_UNATTENDED?.trim() ?? "";
  const found = given === "" ? WAIT : parseUnattended(given);
  if (found) return found;
  const words = `RETINUE_UNATTENDED is ${JSON.stringify(given)}; it must be ${UNATTENDED_WORDS}.`;
  throw new AppError("not_configured", words);
}

function level(env: RuntimeConfig["env"]): LogLevel {
  const given = env.RETINUE_LOG_LEVEL?.trim() ?? "";
  if (given === "" || isLogLevel(given)) return logLevel(given);
  const words = `RETINUE_LOG_LEVEL is ${JSON.stringify(given)}; it must be ${LOG_LEVELS.join(", ")}.`;
  throw new AppError("not_configured", words);
}

/** The variable by which another runtime knows the same number. */
export const foreignName = (name: string): string => name.replace(/^RETINUE_/, "COPILOT_");

const isSet = (env: RuntimeConfig["env"], name: string): boolean =>
  Boolean(env[name]?.trim() || env[foreignName(name)]?.trim());

function isNumberSet(env: RuntimeConfig["env"], name: keyof typeof NUMBERS): boolean {
  const other = env[foreignName(name)]?.trim() ?? "";
  return (env[name]?.trim() ?? "") !== "" || (other !== "" && Number.isFinite(Number(other)));
}

/** A number of our own that makes no sense is refused. One that was set for another runtime is brought into its bounds, and the doctor says so. */
function number(env: RuntimeConfig["env"], name: keyof typeof NUMBERS): number {
  const { least, most, otherwise } = NUMBERS[name];
  const own = env[name]?.trim() ?? "";
  if (own === "") {
    const other = Number(env[foreignName(name)]?.trim() || Number.NaN);
    return Number.isFinite(other) ? Math.min(most, Math.max(least, Math.floor(other))) : otherwise;
  }
  const value = Number(own);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  const words = `${name} is ${JSON.stringify(own)}; it must be a whole number from ${least} to ${most}.`;
  throw new AppError("not_configured", words);
}
