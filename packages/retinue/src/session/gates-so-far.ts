/** The gates of an agent since it was last given something to do: a fold over the events of its session. */
import type { EventData, EventType } from "@retinue/protocol";

export class GatesSoFar {
  /** How often they have failed. */
  failures = 0;
  /** They hold for the last answer. */
  isPassed = false;
  /** The agent has answered, and nothing has become of that yet. */
  isUnchecked = false;
  /** A check that has begun and has no end. */
  open: { checkId: string; attempt: number } | undefined;
  /** Why nothing is sent back to the model any more. */
  spent: string | undefined;

  apply(event: { type: EventType; data: object }): void {
    const fold = FOLDS[event.type] as ((so: GatesSoFar, data: object) => void) | undefined;
    fold?.(this, event.data);
  }

  onAnswer({ toolRequests = [] }: EventData<"assistant.message">): void {
    this.isPassed = false;
    this.isUnchecked = toolRequests.length === 0;
  }

  onMessage({ source, delivery, isSentBack, isAutopilotContinuation }: EventData<"user.message">): void {
    if (source === "system" || delivery === "steering" || isSentBack || isAutopilotContinuation) return;
    this.failures = 0;
    this.isPassed = false;
    this.spent = undefined;
  }

  onEnded({ passed, cancelled, isFinal, message = "a gate failed" }: EventData<"gate.completed">): void {
    this.open = undefined;
    if (cancelled) return;
    this.isPassed = passed;
    this.isUnchecked = false;
    if (!passed) this.failures++;
    if (isFinal) this.spent = message;
  }
}

const FOLDS: { [T in EventType]?: (so: GatesSoFar, data: EventData<T>) => void } = {
  "user.message": (so, data) => so.onMessage(data),
  "assistant.message": (so, data) => so.onAnswer(data),
  "session.error": (so) => {
    so.isUnchecked = false;
  },
  abort: (so) => {
    so.isUnchecked = false;
  },
  "gate.started": (so, { checkId, attempt }) => {
    so.open = { checkId, attempt };
  },
  "gate.completed": (so, data) => so.onEnded(data),
};
