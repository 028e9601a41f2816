/**
 * The last line of `--output-format json`: what came of the run, in one record.
 *
 * It is written whatever happens: after an answer, a failure, a refusal before anything began, and Ctrl-C.
 */
import { AppError, messageOf } from "@retinue/protocol";
import { type AgentTree, emptyTree, foldTree, type SessionEvent, totalUsage } from "@retinue/sdk";
import type { RunEnd } from "./run-watch.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

export interface RunResult {
  type: "result";
  success: boolean;
  /** What the main agent said last. */
  text: string;
  error?: { message: string; code?: string | undefined };
  /** Of all agents. */
  turns: number;
  tokens: { input: number; output: number };
  /** As the provider reports it; 0 when it reports none. */
  cost: number;
  /** Absent when none was opened. */
  sessionId?: string;
  durationMs: number;
  exitCode: number;
}

/** What is told about a run while it goes on. */
export class ResultRecord {
  readonly #startedAt = performance.now();
  #tree: AgentTree = emptyTree();
  #sessionId: string | undefined;
  #text = "";
  #error: RunResult["error"];
  #errorCode: string | undefined;

  opened(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  receive(event: SessionEvent): void {
    this.#tree = foldTree(this.#tree, event);
    if (event.agentId !== undefined) return;
    if (event.type === "assistant.message") this.#text = event.data.content || this.#text;
    if (event.type === "session.error") this.#errorCode = event.data.errorType;
  }

  ended(end: RunEnd | { type: "stopped" }): void {
    if (end.type === "answered") this.#text = end.text;
    if (end.type === "unfinished") {
      this.#text = end.text;
      this.#error = { message: end.message, code: `autopilot_${end.reason}` };
    }
    if (end.type === "failed") this.#error = { message: end.message, code: this.#errorCode };
  }

  refused(error: unknown): void {
    const code = error instanceof UsageError ? "usage" : error instanceof AppError ? error.code : undefined;
    this.#error = { message: messageOf(error), code };
  }

  result(exitCode: number): RunResult {
    const { turns, inputTokens, outputTokens, cost } = totalUsage(this.#tree);
    const success = exitCode === 0;
    return {
      type: "result",
      success,
      text: this.#text,
      ...(success ? {} : { error: this.#error ?? { message: "The run was stopped.", code: "stopped" } }),
      turns,
      tokens: { input: inputTokens, output: outputTokens },
      cost,
      ...(this.#sessionId === undefined ? {} : { sessionId: this.#sessionId }),
      durationMs: Math.round(performance.now() - this.#startedAt),
      exitCode,
    };
  }
}

/** Runs something that ends with an exit code or throws, and writes the record when that is over. */
export async function withResult(
  terminal: Pick<Terminal, "out">,
  run: (record: ResultRecord) => Promise<number>,
): Promise<number> {
  const record = new ResultRecord();
  const write = (exitCode: number) => terminal.out(`${JSON.stringify(record.result(exitCode))}\n`);
  process.once("exit", write); // A second Ctrl-C ends the process without coming back here.
  try {
    const exitCode = await run(record);
    write(exitCode);
    return exitCode;
  } catch (error) {
    record.refused(error);
    write(error instanceof UsageError ? error.exitCode : 1);
    throw error;
  } finally {
    process.off("exit", write);
  }
}
