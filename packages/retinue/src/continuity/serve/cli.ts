/**
 * The commands of continuity as functions: arguments in an object, text to an output. Parsing the command line is up to cli/.
 */
import { AppError, visibleText } from "@retinue/protocol";
import { connect, connectionStatus, disconnect } from "../connectors/connect.ts";
import type { Hit } from "../recall/search.ts";
import { OWNER } from "../records/scope.ts";
import { runDaemon } from "./daemon.ts";
import type { Address } from "./daemon-client.ts";
import { livingDaemon } from "./daemon-client.ts";
import { daemonLog, startDaemon, stopDaemon } from "./daemon-process.ts";
import { openContinuity } from "./home.ts";
import { serveMcp } from "./mcp.ts";
import { operationNamed } from "./operations.ts";
import { hitText } from "./session-search-tool.ts";

export interface Output {
  write(text: string): unknown;
}

export interface CommandContext {
  home: string;
  /** How to run this program again: the executable and its first arguments. */
  program: readonly string[];
  env: NodeJS.ProcessEnv;
  out: Output;
}

const print = ({ out }: CommandContext, text: string) => out.write(`${text}\n`);

export async function daemonStart(context: CommandContext, { port }: { port?: number } = {}): Promise<Address> {
  const { isNew, ...address } = await startDaemon({ ...context, port });
  print(context, `${isNew ? "Started" : "Already running"}: process ${address.pid}, http://127.0.0.1:${address.port}`);
  return address;
}

export async function daemonStop(context: CommandContext): Promise<void> {
  print(context, (await stopDaemon(context.home)) ? "Stopped." : "Not running.");
}

export async function daemonStatus(context: CommandContext): Promise<boolean> {
  const running = await livingDaemon(context.home);
  print(context, running ? `Running: process ${running.pid}, http://127.0.0.1:${running.port}` : "Not running.");
  return running !== undefined;
}

export function daemonLogs(context: CommandContext, { lines = 50 }: { lines?: number } = {}): void {
  for (const line of daemonLog(context.home, lines)) print(context, line);
}

/** Runs the daemon in this process until it is stopped. */
export async function daemonRun(
  context: CommandContext,
  { port, signal }: { port?: number; signal: AbortSignal },
): Promise<void> {
  const log = (line: string) => print(context, `${new Date().toISOString()} ${line}`);
  const daemon = await runDaemon({ home: context.home, port, env: context.env, log });
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await daemon.close();
  log("ended");
}

export interface ConnectArguments {
  harness: string;
  confirm: (changes: string) => Promise<boolean>;
}

export async function connectHarness(context: CommandContext, { harness, confirm }: ConnectArguments): Promise<void> {
  const result = await connect({ ...context, harness, confirm, now: Date.now() });
  print(
    context,
    result.done
      ? `Connected ${harness}.${result.backup ? ` The old files are in ${result.backup}` : ""}`
      : `Nothing done: ${result.reason}.`,
  );
  if (result.done || result.reason === "nothing to change") await connectStatus(context, harness);
}

export async function disconnectHarness(
  context: CommandContext,
  { harness, confirm }: ConnectArguments,
): Promise<void> {
  const result = await disconnect({ ...context, harness, confirm, now: Date.now() });
  print(
    context,
    result.done
      ? `Disconnected ${harness}.${result.backup ? ` The old files are in ${result.backup}` : ""}`
      : `Nothing done: ${result.reason}.`,
  );
}

export async function connectStatus(context: CommandContext, only?: string): Promise<void> {
  const daemon = await livingDaemon(context.home);
  print(context, `daemon: ${daemon ? `running on 127.0.0.1:${daemon.port}` : "not running; the first hook starts it"}`);
  for (const { harness, folder, checks } of await connectionStatus(context)) {
    if (only !== undefined && harness !== only) continue;
    print(context, `${harness} (${folder})`);
    for (const { what, ok, detail } of checks) print(context, `  ${ok ? "✓" : "✗"} ${what}: ${detail}`);
  }
}

export interface SearchArguments {
  query: string;
  sessionKey?: string;
  project?: string;
  harness?: string;
  agentId?: string;
  since?: string;
  limit?: number;
  offset?: number;
  json?: boolean;
}

export async function searchSessions(context: CommandContext, { json, ...input }: SearchArguments): Promise<void> {
  const found = (await call(context, "session_search", input)) as { hits: Hit[]; hasMore: boolean; note?: string };
  if (json) return void print(context, JSON.stringify(found));
  if (found.hits.length === 0) return void print(context, found.note ?? "Nothing was found.");
  print(context, visibleText(found.hits.map(hitText).join("\n\n")));
  if (found.hasMore) print(context, `\nMore: --offset ${(input.offset ?? 0) + found.hits.length}`);
}

export async function addCheckpointTo(
  context: CommandContext,
  input: { key: string; summary: string; entities?: string[]; agentId?: string },
): Promise<void> {
  await call(context, "checkpoint_add", { ...input, origin: "cli" });
  print(context, `Kept a checkpoint of ${input.key}.`);
}

export async function showTranscript(
  context: CommandContext,
  input: { key: string; format?: "text" | "json"; after?: number; limit?: number },
): Promise<void> {
  const { format = "text" } = input;
  const result = await call(context, "session_transcript", { ...input, format });
  print(context, typeof result === "string" ? visibleText(result) : JSON.stringify(result));
}

/** Any operation by its name, on the store itself: no daemon is needed. */
export async function call({ home, env }: CommandContext, name: string, input: object): Promise<unknown> {
  const continuity = openContinuity({ home, env });
  try {
    return await operationNamed(name).call(continuity, OWNER, input);
  } finally {
    continuity.close();
  }
}

/** Serves MCP on this process's stdio until the client goes. */
export async function runMcp({ home, env }: CommandContext, { signal }: { signal: AbortSignal }): Promise<void> {
  if (process.stdin.destroyed) throw new AppError("connection_closed", "Standard input is closed");
  const continuity = openContinuity({ home, env });
  const served = serveMcp({ continuity, env });
  await new Promise<void>((resolve) => {
    process.stdin.once("end", () => resolve());
    process.stdin.once("close", () => resolve());
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await served.close();
  continuity.close();
}
