/** Follows one run of a session from its prompt to its end, by the session's events. */
import type { SessionEvent } from "@retinue/sdk";

export type RunEnd = { type: "answered"; text: string } | { type: "failed"; message: string };

export class RunWatch {
  readonly ended: Promise<RunEnd>;
  #settle: (end: RunEnd) => void = () => undefined;
  #isOurs: boolean;
  #hasEnded = false;
  #answer = "";
  #error: string | undefined;

  /** `isOurs`: what happens from the first event on is what is waited for, also when no prompt is sent. */
  constructor({ isOurs }: { isOurs: boolean }) {
    this.#isOurs = isOurs;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** From here on what happens belongs to our prompt; before, a resumed session may have finished older work. */
  begin(): void {
    this.#isOurs = false;
    this.#answer = "";
    this.#error = undefined;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  receive(event: SessionEvent): void {
    if (event.agentId !== undefined) return;
    switch (event.type) {
      case "user.message":
        this.#isOurs = true;
        return;
      case "assistant.message":
        this.#answer = event.data.content || this.#answer;
        return;
      case "session.task_complete":
        this.#answer ||= event.data.summary ?? "";
        return;
      case "session.error":
        this.#isOurs = true; // A run can fail before its prompt is recorded.
        this.#error = event.data.message;
        return;
      case "session.idle":
        if (!this.#isOurs) return;
        this.#hasEnded = true;
        this.#settle(this.#end());
        return;
      default:
        return;
    }
  }

  #end(): RunEnd {
    if (this.#error !== undefined) return { type: "failed", message: this.#error };
    if (this.#answer === "") return { type: "failed", message: "The run ended without an answer." };
    return { type: "answered", text: this.#answer };
  }
}
