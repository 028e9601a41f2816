/**
 * The questions of one task: each goes to a person once, and the answer to the server until it has it.
 *
 * One after the other, because a person reads one form at a time.
 */
import type { ElicitResult } from "@modelcontextprotocol/client";
import { messageOf } from "@retinue/protocol";
import * as z from "zod";
import type { CallRef } from "../call-failed.ts";
import type { Connection } from "../connection.ts";
import type { Elicitation } from "../elicitation.ts";
import type { ServerTask, TaskQuestion } from "./server-task.ts";

/** What a person said to a question of the server. */
export interface TaskAnswer {
  response: ElicitResult;
  /** The server has the answer, so it need not be kept. */
  taken(): void;
}

/** An answer that waits until the server has it. */
interface Kept {
  response: Readonly<Record<string, unknown>>;
  taken(): void;
}

/** The server of a task. */
export type TaskHome = Pick<Connection, "with">;

export type TaskForm = Omit<Elicitation, "server">;
export type AskPerson = (question: TaskForm, options: { signal: AbortSignal }) => Promise<TaskAnswer>;

export interface QuestionsOptions {
  ask: AskPerson;
  onWarning(message: string): void;
  task: ServerTask;
  /** The call that became the task. */
  call?: CallRef;
  /** Aborted when the task needs no answer any more. */
  signal: AbortSignal;
  onAnswered(): void;
  /** A question has no answer, and the task cannot go on without one. */
  onStuck(error: string): void;
}

const Form = z.looseObject({
  message: z.string(),
  mode: z.enum(["form", "url"]).default("form"),
  requestedSchema: z.record(z.string(), z.unknown()).optional(),
  url: z.string().optional(),
});

const MAX_QUESTIONS = 100;

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #asked = new Set<string>();
  readonly #answers = new Map<string, Kept>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** What a look says is open: asks what was not asked yet, and sends what was answered. */
  answer(open: Readonly<Record<string, TaskQuestion>>, server: TaskHome): void {
    const ready = Object.keys(open).filter((key) => this.#answers.has(key));
    if (ready.length > 0) void this.#send(ready, server);
    for (const [key, question] of Object.entries(open)) {
      if (this.#asked.has(key)) continue;
      if (this.#asked.size >= MAX_QUESTIONS) {
        this.#options.onWarning("the task asks more than a person can answer");
        return;
      }
      this.#asked.add(key);
      void this.#ask(key, question, server);
    }
  }

  /** A question that the server asks by a request of its own. */
  async direct(question: TaskForm, { signal }: { signal: AbortSignal }): Promise<ElicitResult> {
    const { response, taken } = await this.#inTurn(question, signal);
    taken();
    this.#options.onAnswered();
    return response;
  }

  async #ask(key: string, question: TaskQuestion, server: TaskHome): Promise<void> {
    const { signal, onStuck } = this.#options;
    try {
      const isForm = question.method === "elicitation/create";
      this.#answers.set(key, isForm ? await this.#form(question) : await this.#other(key, question, server));
      await this.#send([key], server);
    } catch (error) {
      if (!signal.aborted) onStuck(messageOf(error));
    }
  }

  /** The server learns that nobody answers a form that cannot be shown, and can go on without. */
  async #form({ params }: TaskQuestion): Promise<Kept> {
    const { data: form, error } = Form.safeParse(params);
    if (form) {
      const { response, taken } = await this.#inTurn(form);
      return { response: { ...response }, taken };
    }
    this.#options.onWarning(`a question of the task cannot be read: ${z.prettifyError(error)}`);
    return { response: { action: "cancel" }, taken: () => undefined };
  }

  async #other(key: string, question: TaskQuestion, server: TaskHome): Promise<Kept> {
    const { call, signal } = this.#options;
    const { otherAnswer } = await import("./other-questions.ts");
    const response = await server.with((_, { others }) => otherAnswer(question, others, { key, call, signal }), {
      signal,
    });
    return { response, taken: () => undefined };
  }

  /** Not asked any more when the task has ended, or when the server has withdrawn it. */
  async #inTurn(question: TaskForm, withdrawn?: AbortSignal): Promise<TaskAnswer> {
    const { ask, signal: over } = this.#options;
    const signal = withdrawn ? AbortSignal.any([over, withdrawn]) : over;
    const answer = this.#last.then(() => ask(question, { signal }));
    this.#last = answer.catch(() => undefined);
    return await answer;
  }

  /** An answer that does not arrive is sent again after the next look, while the question is still open. */
  async #send(keys: readonly string[], server: TaskHome): Promise<void> {
    const { task, signal, onWarning, onAnswered } = this.#options;
    const found = keys.flatMap((key) => [...this.#answers].filter(([known]) => known === key));
    const responses = Object.fromEntries(found.map(([key, { response }]) => [key, response]));
    try {
      await server.with(async (client) => await task.answer?.(client, responses, { signal }), { signal });
      for (const [, { taken }] of found) taken();
      onAnswered();
    } catch (error) {
      if (!signal.aborted) onWarning(`an answer did not reach the server: ${messageOf(error)}`);
    }
  }
}
