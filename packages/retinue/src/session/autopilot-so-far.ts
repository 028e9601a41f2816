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
  /** The model has answered or completed, and whether that was the end is not decided yet. */
  isUndecided = false;

  apply(event: { type: EventType; data: object }): void {
    const fold = FOLDS[event.type] as ((so: AutopilotSoFar, data: object) => void) | undefined;
    fold?.(this, event.data);
  }

  onMessage({ source, delivery, isSentBack, isAutopilotContinuation }: EventData<"user.message">): void {
    this.isUndecided = false;
    if (isAutopilotContinuation) this.continuations++;
    if (isSentBack) this.isComplete = false; // A hook has not accepted it.
    if (source !== undefined || delivery === "steering" || isSentBack) return;
    this.continuations = 0;
    this.isComplete = false;
    this.stoppedBy = undefined;
    this.isOver = false;
  }
}

const FOLDS: { [T in EventType]?: (so: AutopilotSoFar, data: EventData<T>) => void } = {
  "user.message": (so, data) => so.onMessage(data),
  "assistant.message": (so, { toolRequests = [] }) => {
    so.isUndecided = toolRequests.length === 0;
  },
  "session.task_complete": (so, { success, outcome }) => {
    so.isComplete = success !== false;
    so.isUndecided = so.isComplete || outcome === "blocked"; // Both end the turn, and nothing follows by itself.
  },
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
