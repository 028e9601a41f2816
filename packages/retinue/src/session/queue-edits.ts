/** The edits of waiting prompts: remove one, change it, move it, or pause the queue. */
import type { Notice, Prompt } from "./inbox-entry.ts";

export interface Waiting {
  queue: Prompt[];
  steering: Prompt[];
  notices: Notice[];
  isPaused: boolean;
}

export interface OnEdit {
  onRemoved(prompt: Prompt): void;
  onReordered(): void;
}

export class QueueEdits {
  readonly #waiting: Waiting;
  readonly #on: OnEdit;

  constructor(waiting: Waiting, on: OnEdit) {
    this.#waiting = waiting;
    this.#on = on;
  }

  remove(id: string): boolean {
    const waiting = this.#waiting;
    const prompt = [...waiting.queue, ...waiting.steering].find((each) => each.id === id);
    if (!prompt) return false;
    waiting.queue = waiting.queue.filter((each) => each !== prompt);
    waiting.steering = waiting.steering.filter((each) => each !== prompt);
    this.#on.onRemoved(prompt);
    return true;
  }

  move(id: string, toPosition: number): boolean {
    const { queue } = this.#waiting;
    const from = queue.findIndex((each) => each.id === id);
    const [prompt] = from < 0 ? [] : queue.splice(from, 1);
    if (!prompt) return false;
    const to = Math.min(Math.max(0, toPosition), queue.length);
    queue.splice(to, 0, prompt);
    this.#on.onReordered();
    return to !== from;
  }

  update(id: string, change: Partial<Pick<Prompt, "prompt" | "displayPrompt" | "isSteering">>): boolean {
    const { queue, steering } = this.#waiting;
    const index = queue.findIndex((each) => each.id === id);
    const prompt = queue[index];
    if (!prompt) return false;
    const changed = { ...prompt, ...change };
    queue.splice(index, 1);
    if (changed.isSteering) steering.push(changed);
    else queue.splice(index, 0, changed);
    this.#on.onReordered();
    return true;
  }

  setPaused(isPaused: boolean): void {
    this.#waiting.isPaused = isPaused;
  }
}
