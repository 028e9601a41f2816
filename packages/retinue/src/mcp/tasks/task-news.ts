/** The tasks that are followed at one server, and how news of them finds its follower. */
import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { CallRef } from "../call-failed.ts";
import type { Elicit } from "../elicitation.ts";
import type { OtherAnswers } from "./other-questions.ts";
import type { Dialect, TaskLook } from "./server-task.ts";

/** A call takes its task as soon as the library has looked at the result. */
const CLAIM_MS = 1_000;

/** Where a result names the task that its call has become. */
export const CARRIED = "retinue/started-task";

/** A call that the server goes on with as a task. */
export interface StartedTask extends TaskLook {
  dialect: Dialect;
}

/** Whoever follows a task. */
export interface Follower {
  /** The call that became the task. */
  call?: CallRef;
  /** Something has changed: it is time to look. */
  onNews(): void;
  onProgress(progress: TaskProgress): void;
  /** The connection was lost, and with it all news. */
  onLost(error: string): void;
  /** Questions that the server asks on behalf of the task. */
  elicit: Elicit;
}

export interface TaskProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** The tasks that are followed at one server, by the server's ids. */
export class TaskNews {
  /** What tasks may ask for besides forms. */
  readonly others: OtherAnswers;
  readonly #followers = new Map<string, Follower>();
  /** Tasks that calls have become, until the call takes its task. Servers cannot guess the keys. */
  readonly #offered = new Map<string, StartedTask>();

  constructor(others: OtherAnswers) {
    this.others = others;
  }

  /** `giveUp` is called when nobody takes it: its call was cancelled meanwhile. */
  offer(task: StartedTask, giveUp: () => void): string {
    const claim = randomUUID();
    this.#offered.set(claim, task);
    setTimeout(() => this.#offered.delete(claim) && giveUp(), CLAIM_MS).unref();
    return claim;
  }

  /** The task that a call has become; undefined for an ordinary result. */
  claim({ _meta }: CallToolResult): StartedTask | undefined {
    const claim = _meta?.[CARRIED];
    if (typeof claim !== "string") return undefined;
    const task = this.#offered.get(claim);
    this.#offered.delete(claim);
    return task;
  }

  follow(taskId: string, follower: Follower): () => void {
    this.#followers.set(taskId, follower);
    return () => {
      if (this.#followers.get(taskId) === follower) this.#followers.delete(taskId);
    };
  }

  of(taskId: string): Follower | undefined {
    return this.#followers.get(taskId);
  }

  /** The follower of the task that a request of the server names as its reason. */
  ofRequest({ _meta }: { _meta?: Readonly<Record<string, unknown>> }): Follower | undefined {
    const related = _meta?.["io.modelcontextprotocol/related-task"];
    const taskId = typeof related === "object" && related !== null && "taskId" in related ? related.taskId : undefined;
    return typeof taskId === "string" ? this.#followers.get(taskId) : undefined;
  }

  lost(error: string): void {
    for (const follower of this.#followers.values()) follower.onLost(error);
  }
}
