/**
 * Autopilot since the user's last prompt: a fold over the events of a session, so that a restart goes on counting.
 *
 * It decides nothing; loop/autopilot.ts does.
 */
import type { EventData, EventType } from "@retinue/protocol";

export class AutopilotSoFar {
  /** Reminders that were sent. */
  continuations = 0;
  /** The model has said that the task is complete, and that was accepted. */
  isComplete = false;
  /** Why nothing may go on by itself. */
  stoppedBy: "aborted" | "budget" | undefined;
  /** Its end is recorded. */
  isOver = false;
  /** How often in a row the model has claimed completion without saying what was done, and has done nothing else. */
  #emptyClaims = 0;
  /** The model has answered or completed, and whether that was the end is not decided yet. */
  isUndecided = false;

  apply(event: { type: EventType; data: object }): void {
    const fold = FOLDS[event.type] as ((so: AutopilotSoFar, data: object) => void) | undefined;
    fold?.(this, event.data);
  }

  /** It would go on like this for ever. */
  get isStuck(): boolean {
    return this.#emptyClaims >= MAX_EMPTY_CLAIMS;
  }

  onClaim({ success, outcome, summary = "" }: EventData<"session.task_complete">): void {
    this.isComplete = success !== false;
    this.isUndecided = this.isComplete || outcome === "blocked"; // Both end the turn, and nothing follows by itself.
    if (!this.isComplete && summary.trim() === "") this.#emptyClaims++;
  }

  onCallEnded({ success }: EventData<"tool.execution_complete">): void {
    if (success) this.#emptyClaims = 0;
  }

  onMessage({ source, delivery, isSentBack, isAutopilotContinuation }: EventData<"user.message">): void {
    this.isUndecided = false;
    this.#emptyClaims = 0;
    if (isAutopilotContinuation) this.continuations++;
    if (isSentBack) this.isComplete = false; // A hook has not accepted it.
    if (source !== undefined || delivery === "steering" || isSentBack) return;
    this.continuations = 0;
    this.isComplete = false;
    this.stoppedBy = undefined;
    this.isOver = false;
  }
}

const MAX_EMPTY_CLAIMS = 5;

const FOLDS: { [T in EventType]?: (so: AutopilotSoFar, data: EventData<T>) => void } = {
  "user.message": (so, data) => so.onMessage(data),
  "assistant.message": (so, { toolRequests = [] }) => {
    so.isUndecided = toolRequests.length === 0;
  },
  "session.task_complete": (so, data) => so.onClaim(data),
  "tool.execution_complete": (so, data) => so.onCallEnded(data),
  "session.autopilot_ended": (so) => {
    so.isOver = true;
    so.isUndecided = false;
  },
  // What was answered in another mode had its end.
  "session.mode_changed": (so) => {
    so.isUndecided = false;
  },
  abort: (so) => {
    so.stoppedBy = "aborted";
  },
  "session.error": (so, { errorType }) => {
    if (errorType === "timed_out") so.stoppedBy = "budget";
  },
};
