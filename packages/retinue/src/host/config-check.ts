/** What a session cannot be opened with, refused in words before anything is opened. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { AppError, type Gate, type SessionConfig } from "@retinue/protocol";
import { checkAgentFields } from "../agents/unknown-keys.ts";
import { schemaProblem } from "../tools/schema-check.ts";

/** Names of tools that providers would reject, and agents that nothing could call. */
export function checkConfig({ tools = [], customAgents = [], gates = [] }: SessionConfig): void {
  checkAgentFields({ customAgents });
  checkGates([...gates, ...customAgents.flatMap((agent) => agent.gates ?? [])]);
  for (const { name } of tools) {
    if (!/^[A-Za-z0-9_-]+$/.test(name))
      throw new AppError("invalid_params", `session construction failed: invalid tool name '${name}'`);
  }
  const nameless = customAgents.findIndex(({ name }) => name.trim() === "");
  if (nameless < 0) return;
  const { displayName, description } = customAgents[nameless] ?? {};
  const which = displayName || description;
  throw new AppError(
    "session_invalid",
    `customAgents[${nameless}]${which ? ` (${which})` : ""} has no name: give it one, or nothing can call it`,
  );
}

/** A schema that cannot be used would be a gate that nothing passes. */
function checkGates(gates: readonly Gate[]): void {
  for (const gate of gates) {
    const problem = "schema" in gate ? schemaProblem(gate.schema) : undefined;
    if (problem !== undefined) throw new AppError("session_invalid", `the schema of a gate cannot be used: ${problem}`);
  }
}

/** A folder that a client names for work must be there. The stored one of a session may be gone: its log can still be read. */
export function checkFolder({ workingDirectory }: SessionConfig): void {
  if (!workingDirectory) return;
  const folder = resolve(workingDirectory);
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  const what = found ? "is not a folder" : "does not exist";
  throw new AppError("session_invalid", `workingDirectory ${what}: ${folder}`);
}
