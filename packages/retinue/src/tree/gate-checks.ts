/**
 * How one gate is checked: a command, a file, a JSON Schema, a hook.
 *
 * A command has a process family of its own, in the ledger, which ends with it: what it leaves behind does not stay. Gates are what a
 * person or a program requires, so what cannot be checked has failed.
 */
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { type Gate, type GateOutcome, messageOf } from "@retinue/protocol";
import type { Agent } from "../loop/agent.ts";
import type { ProcessFamily } from "../processes/family.ts";
import { fitAnswer, schemaProblem } from "../tools/schema-check.ts";
import { askStopHooks } from "./stop-hooks.ts";

/** What commands need. */
export interface GateCommands {
  sessionId: string;
  family(): ProcessFamily;
}

export interface GateCheck {
  agent: Agent;
  /** What the agent says that it has come to. */
  result: string;
  commands: GateCommands;
  signal: AbortSignal;
}

type Found = Pick<GateOutcome, "passed" | "problem" | "exitCode" | "output">;

const LIMIT_SECONDS = 600;
const GRACE_MS = 500;
const MAX_OUTPUT = 4000;

export async function checkGate(gate: Gate, check: GateCheck): Promise<Found> {
  if ("command" in gate) return await checkCommand(gate, check);
  if ("file" in gate) return await checkFile(gate.file, check.agent.session.place.workingDirectory);
  if ("schema" in gate) return await checkSchema(gate.schema, check.result);
  return await checkHook(check);
}

export function gateKind(gate: Gate): GateOutcome["kind"] {
  if ("command" in gate) return "command";
  if ("file" in gate) return "file";
  return "schema" in gate ? "schema" : "hook";
}

export function gateName(gate: Gate): string {
  if ("command" in gate) return gate.command;
  if ("file" in gate) return gate.file;
  return "schema" in gate ? "the answer as JSON" : "the stop hook";
}

async function checkCommand(gate: Extract<Gate, { command: string }>, check: GateCheck): Promise<Found> {
  const { agent, commands, signal } = check;
  const seconds = gate.timeoutSeconds ?? LIMIT_SECONDS;
  const late = AbortSignal.timeout(seconds * 1000);
  const family = commands.family();
  const endings: Promise<void>[] = [];
  try {
    const { runCommand } = await import("../hooks/command-run.ts");
    const end = await runCommand(
      { run: { shell: gate.command }, env: {} },
      {
        payload: "",
        cwd: agent.session.place.workingDirectory,
        env: { RETINUE_SESSION_ID: commands.sessionId },
        family,
        signal: AbortSignal.any([signal, late]),
        trail: (ending) => endings.push(ending),
      },
    );
    const output = lastOf(`${end.stdout}${end.stderr}`);
    if (end.code === 0) return { passed: true, exitCode: 0, output };
    const problem = end.code === undefined ? `it was ended by ${end.signal}` : `it ended with exit code ${end.code}`;
    return { passed: false, problem, exitCode: end.code, output };
  } catch (error) {
    const problem = late.aborted ? `it was stopped after ${seconds} s, which is its time limit` : messageOf(error);
    return { passed: false, problem }; // The caller sees whether the agent was stopped.
  } finally {
    await Promise.allSettled(endings);
    await family.end({ graceMs: GRACE_MS });
  }
}

/** The end of an output says what went wrong. */
function lastOf(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return trimmed.length > MAX_OUTPUT ? `[cut]\n${trimmed.slice(-MAX_OUTPUT)}` : trimmed;
}

async function checkFile(file: string, folder: string): Promise<Found> {
  try {
    const real = await realpath(resolve(folder, file));
    if (!(await stat(real)).isFile()) return { passed: false, problem: "it is not a file" };
    const below = relative(await realpath(folder), real);
    if (!isAbsolute(file) && (below.startsWith("..") || isAbsolute(below)))
      return { passed: false, problem: "it leads to a file outside the working folder" };
    return { passed: true };
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return { passed: false, problem: isMissing ? "there is no such file" : messageOf(error) };
  }
}

async function checkSchema(schema: Record<string, unknown>, result: string): Promise<Found> {
  const wrong = schemaProblem(schema);
  if (wrong !== undefined) return { passed: false, problem: `the schema cannot be used: ${wrong}` };
  const fit = await fitAnswer(schema, result);
  return fit.ok ? { passed: true } : { passed: false, problem: `the answer does not fit: ${fit.problem}` };
}

async function checkHook({ agent, result, signal }: GateCheck): Promise<Found> {
  if (agent.hooks.isEmpty) return { passed: false, problem: "no hook is set up that could be asked" };
  const reason = await askStopHooks(agent, result, { isAgain: agent.session.state.gates.failures > 0, signal });
  return reason === undefined ? { passed: true } : { passed: false, problem: reason };
}
