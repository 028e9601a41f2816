/** `--gate`: what was typed, as gates of a session. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Gate, messageOf } from "@retinue/protocol";
import * as z from "zod";
import { UsageError } from "./usage-error.ts";

export interface GateFlags {
  gate?: readonly string[];
  maxGateFailures?: number;
}

export function gatesOf(
  { gate = [], maxGateFailures }: GateFlags,
  cwd: string,
): { gates?: Gate[]; maxGateFailures?: number } {
  return {
    ...(gate.length > 0 ? { gates: gate.map((typed) => gateOf(typed, cwd)) } : {}),
    ...(maxGateFailures === undefined ? {} : { maxGateFailures }),
  };
}

function gateOf(typed: string, cwd: string): Gate {
  const [, kind, path = ""] = /^(file|schema):(.*)$/s.exec(typed) ?? [];
  if (kind !== undefined && path.trim() === "") throw new UsageError(`--gate ${typed}: name a file after the colon.`);
  if (kind === "file") return { file: path };
  if (kind === "schema") return { schema: schemaIn(resolve(cwd, path)) };
  if (typed.trim() === "") throw new UsageError("--gate: name a command.");
  return { command: typed };
}

function schemaIn(file: string): Record<string, unknown> {
  try {
    return z.record(z.string(), z.json()).parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new UsageError(`--gate schema:${file}: it is no JSON Schema that can be read (${messageOf(error)}).`);
  }
}
