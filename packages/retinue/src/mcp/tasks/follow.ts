/**
 * Follows one task of a server until it has ended: asks in the rhythm that the server wants, at once when there is news, and with growing
 * pauses while the server cannot be reached.
 *
 * News only makes it look sooner. So a stream that is lost, a server that is started again and a runtime that is new are one case: the next look.
 */
import { type CallToolResult, ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { AppError, longTimer, messageOf } from "@retinue/protocol";
import { isAnswerLost } from "../answer-watch.ts";
import type { CallRef } from "../call-failed.ts";
import { openTask, type TaskRef } from "./open-task.ts";
import { type AskPerson, Questions, type TaskHome } from "./questions.ts";
import { isUnknownTask, type TaskLook } from "./server-task.ts";
import type { Follower, TaskProgress } from "./task-news.ts";

export interface FollowOptions {
  task: TaskRef;
  /** The call that became it. */
  call?: CallRef;
  /** How often the server wanted to be asked, when the task began. */
  pollMs?: number;
  /** The server; undefined when the session has it no more. */
  server(): Promise<TaskHome | undefined>;
  /** By the clock of `now`. Nobody waits for a task longer than that. The server may change it while the task runs. */
  deadline(): number;
  now(): number;
  signal: AbortSignal;
  onLook(look: TaskLook): void;
  onProgress(progress: TaskProgress): void;
  /** The server could not be asked, or has answered wrongly. */
  onWarning(message: string): void;
  ask: AskPerson;
}

/** How a task came to its end. */
export type TaskEnd =
  | { way: "completed"; result: CallToolResult }
  | { way: "failed" | "expired" | "lost"; error: string };

const SHORTEST_MS = 100;
const LONGEST_MS = 60_000;
const FIRST_MS = 500;
const USUAL_MS = 5_000;
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** So long a server may be away. */
const AWAY_MS = 10 * 60_000;
const MAX_WRONG = 5;

/** Undefined when it was stopped by the signal. */
export async function follow(options: FollowOptions): Promise<TaskEnd | undefined> {
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const pause = new Pause();
  const seen = new Sightings(options);
  const task = openTask(options.task);
  let stuck: TaskEnd | undefined;
  const questions = new Questions({
    ...options,
    task,
    signal,
    onAnswered: () => pause.end(),
    onStuck: (error) => {
      stuck = { way: "failed", error };
      pause.end();
    },
  });
  const follower: Follower = {
    call: options.call,
    onNews: () => pause.end(),
    onProgress: options.onProgress,
    onLost: (error) => {
      options.onWarning(error);
      pause.end();
    },
    elicit: (question, asking) => questions.direct(question, asking),
  };
  let unfollow = () => {};
  try {
    for (let turn = 0; ; turn++) {
      if (options.signal.aborted) return undefined;
      if (stuck) return stuck;
      try {
        const server = await options.server();
        if (!server) return { way: "lost", error: "The session has no such MCP server any more." };
        const look = await server.with(
          async (client, news) => {
            unfollow();
            unfollow = news.follow(options.task.taskId, follower);
            const found = await task.look(client, { signal });
            if (!endOf(found)) task.listen?.(client, { signal, onLost: follower.onLost });
            return found;
          },
          { signal },
        );
        seen.look(look);
        options.onLook(look);
        const end = endOf(look);
        if (end) return end;
        if (seen.isOver) return EXPIRED;
        questions.answer(look.questions ?? {}, server);
        await pause.of(seen.pauseAfter(look, turn), signal);
      } catch (error) {
        if (options.signal.aborted) return undefined;
        const end = seen.failed(error) ?? (seen.isOver ? EXPIRED : undefined);
        if (end) return end;
        await pause.of(seen.pauseAfterFailure(), signal);
      }
    }
  } finally {
    over.abort();
    unfollow();
  }
}

const EXPIRED: TaskEnd = { way: "expired", error: "The task had not ended when its time was up." };

function endOf({ status, result, error, message }: TaskLook): TaskEnd | undefined {
  const words = error ?? message;
  switch (status) {
    case "completed":
      return result ? { way: "completed", result } : { way: "failed", error: words ?? "The server gave no result." };
    case "failed":
      return result
        ? { way: "completed", result: { ...result, isError: true } }
        : { way: "failed", error: words ?? "The task failed." };
    case "cancelled":
      return { way: "failed", error: `The server cancelled the task${message ? `: ${message}` : "."}` };
    default:
      return undefined;
  }
}

/** The server answered, and not as it must. */
class WrongAnswer extends Error {}

/** How asking went so far, and what follows from it. */
class Sightings {
  readonly #options: FollowOptions;
  #failures = 0;
  #wrong = 0;
  #unknown = 0;
  #awaySince: number | undefined;
  #pollMs: number | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#pollMs = options.pollMs;
  }

  look({ taskId, pollMs }: TaskLook): void {
    if (taskId !== this.#options.task.taskId) throw new WrongAnswer(`the server answered for another task, ${taskId}`);
    this.#pollMs = pollMs;
    this.#failures = 0;
    this.#wrong = 0;
    this.#unknown = 0;
    this.#awaySince = undefined;
  }

  get isOver(): boolean {
    return this.#options.now() >= this.#options.deadline();
  }

  /** The end that follows from a failure; undefined while it is worth trying again. */
  failed(error: unknown): TaskEnd | undefined {
    const { now, onWarning } = this.#options;
    const words = messageOf(error);
    onWarning(words);
    this.#failures++;
    const isThere = isAnswer(error);
    // Asked twice, since a server may answer before it has written the task down.
    if (isUnknownTask(error) && ++this.#unknown > 1)
      return { way: "lost", error: `The server no longer knows the task: ${words}` };
    if (isThere && ++this.#wrong >= MAX_WRONG)
      return { way: "failed", error: `The server cannot say how the task stands: ${words}` };
    if (isThere) return undefined;
    this.#awaySince ??= now();
    if (isForPerson(error)) this.#awaySince = now(); // It is there, once somebody has signed in.
    if (now() - this.#awaySince < AWAY_MS) return undefined;
    return { way: "lost", error: `The server could not be reached for ${AWAY_MS / 60_000} minutes: ${words}` };
  }

  pauseAfter({ pollMs }: Pick<TaskLook, "pollMs">, turn: number): number {
    const wanted = pollMs ?? Math.min(USUAL_MS, FIRST_MS * 1.5 ** turn);
    return this.#beforeDeadline(Math.min(LONGEST_MS, Math.max(SHORTEST_MS, wanted)));
  }

  /** A server that answers, only wrongly, is asked in its usual rhythm. */
  pauseAfterFailure(): number {
    if (this.#awaySince === undefined) return this.pauseAfter({ pollMs: this.#pollMs }, this.#failures);
    return this.#beforeDeadline(Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** (this.#failures - 1)));
  }

  #beforeDeadline(ms: number): number {
    return Math.max(0, Math.min(ms, this.#options.deadline() - this.#options.now()));
  }
}

function isForPerson(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error instanceof AppError && error.code === "authentication_required") || isForPerson(error.cause);
}

/** An error that the server sent, or an answer that cannot be read: the server is there. */
function isAnswer(error: unknown): boolean {
  if (error instanceof SdkError) return error.code === SdkErrorCode.InvalidResult;
  return (error instanceof WrongAnswer || error instanceof ProtocolError) && !isAnswerLost(error);
}

/** A pause that news ends, only not at once: a server that sends news with each answer is not asked without pause. */
class Pause {
  #isEnded = false;
  #end = () => {};

  end(): void {
    this.#isEnded = true;
    this.#end();
  }

  async of(ms: number, signal: AbortSignal): Promise<void> {
    const least = Math.min(ms, SHORTEST_MS);
    await this.#wait(least, signal);
    const ended = new AbortController();
    this.#end = () => ended.abort();
    if (!this.#isEnded) await this.#wait(ms - least, AbortSignal.any([signal, ended.signal]));
    this.#end = () => {};
    this.#isEnded = false;
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0) return;
    await new Promise<void>((resolve) => {
      const over = () => {
        timer.clear();
        signal.removeEventListener("abort", over);
        resolve();
      };
      const timer = longTimer(over, ms);
      signal.addEventListener("abort", over);
      if (signal.aborted) over();
    });
  }
}
