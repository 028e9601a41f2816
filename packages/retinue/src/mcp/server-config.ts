/**
 * What follows from an MCP server's configuration: which connection it means, how it is reached, which tools it may offer.
 *
 * Two configurations are the same server when they start or reach the same thing; which tools an agent sees of it, and how long it
 * waits, may differ from agent to agent on one connection.
 */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { McpServerConfig } from "@retinue/protocol";

export type LocalServer = Extract<McpServerConfig, { command: string }>;
export type RemoteServer = Extract<McpServerConfig, { url: string }>;

const DEFAULT_CALL_LIMIT_MS = 120_000;
const DEFAULT_START_LIMIT_MS = 30_000;

export const isLocal = (config: McpServerConfig): config is LocalServer => "command" in config;

export const transportOf = (config: McpServerConfig): "stdio" | "http" | "sse" =>
  isLocal(config) ? "stdio" : config.type;

export function serverIdentity(name: string, config: McpServerConfig): string {
  const reached = isLocal(config)
    ? [config.command, config.args ?? [], sorted(config.env), config.cwd ?? null]
    : [config.type, config.url, sorted(config.headers)];
  return `${name}:${createHash("sha256").update(JSON.stringify(reached)).digest("hex")}`;
}

/** The same server, started in this folder unless it names another one. */
export function startedIn(folder: string, config: McpServerConfig): McpServerConfig {
  return isLocal(config) ? { ...config, cwd: resolve(folder, config.cwd ?? ".") } : config;
}

/** `tools` absent or with `*`: all of them. */
export function mayOffer(config: McpServerConfig, tool: string): boolean {
  const included = config.tools === undefined || config.tools.some((name) => name === "*" || name === tool);
  return included && !(config.excludeTools ?? []).includes(tool);
}

export const callLimitMs = (config: McpServerConfig): number => config.timeout ?? DEFAULT_CALL_LIMIT_MS;

export const startLimitMs = (config: McpServerConfig, otherwise = DEFAULT_START_LIMIT_MS): number =>
  config.startTimeout ?? otherwise;

const sorted = (record: Readonly<Record<string, string>> = {}): [string, string][] =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
