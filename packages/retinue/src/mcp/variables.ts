/**
 * Variables in the configuration of a server: `${env:NAME}`, `${NAME}`, `${NAME:-otherwise}`, `${workspaceFolder}`, `${userHome}`.
 *
 * What cannot be filled in is refused: a server that is started with `${input:token}` as its token fails for a reason that nobody finds.
 */
import { homedir } from "node:os";
import type { McpServerConfig } from "@retinue/protocol";
import { didYouMean } from "../nearest.ts";
import { isLocal } from "./server-config.ts";

export interface VariableValues {
  env: Readonly<Record<string, string | undefined>>;
  workspaceFolder: string;
}

/** Throws, with words for a person, when a value is not known. */
export function withVariables(config: McpServerConfig, values: VariableValues): McpServerConfig {
  const fill = (text: string): string =>
    text.replaceAll(/\$\{([^{}]*)\}/g, (_, name: string) => filledIn(name, values));
  const fillAll = (record: Readonly<Record<string, string>> | undefined) =>
    record && Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fill(value)]));
  if (!isLocal(config)) return { ...config, url: fill(config.url), headers: fillAll(config.headers) };
  return {
    ...config,
    command: fill(config.command),
    args: config.args?.map(fill),
    env: fillAll(config.env),
    cwd: config.cwd === undefined ? undefined : fill(config.cwd),
  };
}

const KNOWN = ["workspaceFolder", "userHome", "env:NAME"];

function filledIn(name: string, { env, workspaceFolder }: VariableValues): string {
  if (name === "workspaceFolder") return workspaceFolder;
  if (name === "userHome") return homedir();
  if (name.startsWith("input:"))
    throw new Error(`\${${name}} asks an editor for a value; set a variable of the environment and write \${env:NAME}`);
  const [, variable, otherwise] = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s.exec(name) ?? [];
  if (variable === undefined) throw new Error(`\${${name}} is not known${didYouMean(name, KNOWN)}`);
  const value = env[variable] || otherwise;
  if (value === undefined) throw new Error(`the environment variable ${variable} is not set`);
  return value;
}
