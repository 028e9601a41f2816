/**
 * What the current prompt of the user says about its own interaction: a mode other than the session's, and the tools that its agent has.
 *
 * A fold, so that a restart changes nothing. It holds until the next prompt of the user, and until the session is idle; setting a mode ends
 * that of the prompt. Who keeps to it: tree/toolkit.ts, loop/prompt-limit.ts and loop/permit.ts.
 */
import type { EventData, EventType, PromptTerms } from "@retinue/protocol";

type Mode = EventData<"session.mode_changed">["newMode"];
type CallStart = Pick<EventData<"tool.execution_start">, "toolCallId" | "toolName">;

export class CurrentPrompt {
  mode: Mode | undefined;
  /** Messages that planned since the session was idle last, the latest at the end. What they have started may still be at work when another prompt has come. */
  readonly plans = new Set<string>();
  terms: PromptTerms | undefined;
  /** Calls since the prompt in their order. Those that were refused do not count. Empty without terms. */
  /** Where the report is that the terms want, or that it is missing. */
  isReportTold = false;
  #calls: CallStart[] = [];
  #turnBegan = 0;

  apply(event: { type: EventType; data: object }): void {
    const fold = FOLDS[event.type] as ((prompt: CurrentPrompt, data: object) => void) | undefined;
    fold?.(this, event.data);
  }

  onUserMessage({ source, isSentBack, delivery, agentMode, terms, messageId }: EventData<"user.message">): void {
    if (source !== undefined || isSentBack) return; // An agent or the runtime speaks.
    const mode = agentMode === "shell" ? undefined : agentMode;
    if (delivery === "steering") {
      if (mode !== undefined) this.#setMode(mode, messageId);
      return;
    }
    this.#setMode(mode, messageId);
    this.terms = terms;
    this.isReportTold = false;
    this.#forgetCalls();
  }

  onIdle(): void {
    this.endMode();
    this.terms = undefined;
    this.#forgetCalls();
  }

  endMode(): void {
    this.#setMode(undefined);
    this.plans.clear();
  }

  onTurn(): void {
    this.#turnBegan = this.#calls.length;
  }

  onCallStarted({ toolCallId, toolName }: CallStart): void {
    if (this.terms) this.#calls.push({ toolCallId, toolName });
  }

  onCallEnded({ toolCallId, error }: EventData<"tool.execution_complete">): void {
    if (error?.code === "denied") this.#calls = this.#calls.filter((call) => call.toolCallId !== toolCallId);
  }

  /** How many calls of its tool were made before this one: since the prompt, and in its turn. */
  callsBefore({ toolCallId, toolName }: CallStart): { inAll: number; inTurn: number } {
    const at = this.#calls.findIndex((call) => call.toolCallId === toolCallId);
    const before = (from: number) =>
      this.#calls.slice(from, at < 0 ? undefined : at).filter((call) => call.toolName === toolName).length;
    return { inAll: before(0), inTurn: before(Math.min(this.#turnBegan, this.#calls.length)) };
  }

  #setMode(mode: Mode | undefined, messageId = ""): void {
    this.mode = mode;
    if (mode === "plan") this.plans.add(messageId);
  }

  #forgetCalls(): void {
    this.#calls = [];
    this.#turnBegan = 0;
  }
}

const FOLDS: { [T in EventType]?: (prompt: CurrentPrompt, data: EventData<T>) => void } = {
  "user.message": (prompt, data) => prompt.onUserMessage(data),
  "session.mode_changed": (prompt) => prompt.endMode(),
  "assistant.turn_start": (prompt) => prompt.onTurn(),
  "tool.execution_start": (prompt, data) => prompt.onCallStarted(data),
  "tool.execution_complete": (prompt, data) => prompt.onCallEnded(data),
  "session.info": (prompt, { infoType }) => {
    prompt.isReportTold ||= infoType === "report";
  },
  "session.warning": (prompt, { warningType }) => {
    prompt.isReportTold ||= warningType === "report";
  },
  "session.idle": (prompt) => prompt.onIdle(),
};
