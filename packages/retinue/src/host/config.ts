/** Where the runtime keeps things and what its limits are: environment first, then defaults. */
import { tmpdir } from "node:os";
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
  maxDepth: number;
  maxConcurrent: number;
  /** What an ask does while no client is attached: wait for one, or be denied with a reason. */
  unattended: "wait" | "deny";
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
    hooksOnError: env.RETINUE_HOOKS_ON_ERROR === "deny" ? "deny" : "ignore",
    sqlLimitMs: 30_000,
    maxDepth: number(env.RETINUE_SUBAGENT_MAX_DEPTH ?? env.COPILOT_SUBAGENT_MAX_DEPTH, 4, 0, 64),
    maxConcurrent: number(env.RETINUE_SUBAGENT_MAX_CONCURRENT ?? env.COPILOT_SUBAGENT_MAX_CONCURRENT, 16, 1, 256),
    unattended: env.RETINUE_UNATTENDED === "deny" ? "deny" : "wait",
    idleTimeoutSeconds: 0,
    logLevel: logLevel(env.RETINUE_LOG_LEVEL),
  };
}

function number(text: string | undefined, otherwise: number, least: number, most: number): number {
  const value = text === undefined || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.floor(value))) : otherwise;
}
