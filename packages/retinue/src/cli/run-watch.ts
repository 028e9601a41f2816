/** Follows one run of a session from its prompt to its end, by the session's events. */
import type { SessionEvent } from "@retinue/sdk";

export type RunEnd =
  | { type: "answered"; text: string }
  | { type: "failed"; message: string }
  /** Autopilot ended, and the task is not complete. */
  | { type: "unfinished"; message: string; text: string; reason: string };

/** The other ways to end are a completion, an error and a stop, which are told in their own way. */
const ENDS_UNFINISHED: ReadonlySet<string> = new Set(["limit", "budget", "gates"]);

/** The store refuses for now. Any other failure of it closes the session here, and nothing more is sent. */
export const isStoreOutage = ({ data }: Extract<SessionEvent, { type: "session.error" }>): boolean =>
  data.errorType === "storage" && data.errorCode === "store_unavailable";

export class RunWatch {
  readonly ended: Promise<RunEnd>;
  #settle: (end: RunEnd) => void = () => undefined;
  #isOurs: boolean;
  #hasEnded = false;
  #answer = "";
  #error: string | undefined;
  /** It is over without words of the model: what an earlier process said was accepted, or a plan is kept for later. */
  #hasPassed = false;
  #unfinished: { reason: string; message: string } | undefined;

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
    this.#unfinished = undefined;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  receive(event: SessionEvent): void {
    if (event.agentId !== undefined) return;
    switch (event.type) {
      case "user.message":
        this.#isOurs = true;
        if (event.data.isAutopilotContinuation) this.#error = undefined; // It goes on after an error of the model.
        return;
      case "assistant.message":
        this.#answer = event.data.content || this.#answer;
        return;
      case "session.task_complete":
        if (event.data.success !== false) this.#answer = event.data.summary ?? this.#answer;
        return;
      case "gate.completed":
        this.#hasPassed = event.data.passed;
        return;
      case "hook.end":
        this.#hasPassed ||= event.data.hookType === "agentStop" && event.data.success;
        return;
      case "exit_plan_mode.completed":
        this.#hasPassed = event.data.selectedAction === "exit_only";
        return;
      case "session.autopilot_ended":
        this.#unfinished = ENDS_UNFINISHED.has(event.data.reason) ? event.data : undefined;
        this.#hasPassed = event.data.reason === "completed";
        return;
      case "session.error":
        if (isStoreOutage(event)) return; // It goes on by itself when the store is back.
        if (event.data.errorType === "storage") this.#settle({ type: "failed", message: event.data.message });
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
    const { reason, message = "" } = this.#unfinished ?? {};
    // The limit is what ended it, even when the last request failed too.
    if (reason !== undefined && reason !== "gates")
      return { type: "unfinished", reason, message: withError(message, this.#error), text: this.#answer };
    if (this.#error !== undefined) return { type: "failed", message: this.#error };
    if (reason !== undefined) return { type: "failed", message };
    if (this.#answer === "" && !this.#hasPassed) return { type: "failed", message: "The run ended without an answer." };
    return { type: "answered", text: this.#answer };
  }
}

const withError = (message: string, error: string | undefined): string =>
  error === undefined ? message : `${message} The last error: ${error}`;
