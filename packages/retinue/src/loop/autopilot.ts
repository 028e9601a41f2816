/**
 * Autopilot: an agent that stops without saying that the task is complete is reminded to go on, a few times for each prompt of the user.
 *
 * Owns the decision, which is taken where the session would be idle; the counting is a fold of the log. Each end is recorded once.
 */
import type { EventData } from "@retinue/protocol";
import type { Prompt } from "../session/inbox.ts";
import type { Agent } from "./agent.ts";
import words from "./autopilot.md";
import type { RunEnd } from "./drive.ts";

export const DEFAULT_CONTINUES = 5;

type Reason = EventData<"session.autopilot_ended">["reason"];

export class Autopilot {
  readonly #agent: Agent;
  readonly #limit: () => number;

  constructor(agent: Agent, limit: () => number = () => DEFAULT_CONTINUES) {
    this.#agent = agent;
    this.#limit = limit;
  }

  /** Nothing has ended it for the user's last prompt, and the mode is on. */
  get isOn(): boolean {
    const { state, parent } = this.#agent.session;
    return !parent && state.modeNow === "autopilot" && state.userPrompts > 0 && !state.autopilot.isOver;
  }

  /** Called at the end of each run, whatever still works in the background: what ends autopilot is a fact now. */
  onRunEnded(end: RunEnd): void {
    if (!this.isOn) return;
    if (end.type === "stopped") this.#end(this.#agent.session.state.autopilot.stoppedBy ?? "aborted");
    else if (end.type === "failed" && !end.isModelError) this.#end(this.#whyFailed());
  }

  #whyFailed(): Reason {
    if (this.#agent.session.state.gates.spent !== undefined) return "gates";
    return this.#agent.budget.isUsedUp ? "budget" : "error";
  }

  /** Called when nothing is left to do: the reminder to go on with, or undefined when it is over. */
  next(): Prompt | undefined {
    if (!this.isOn) return undefined;
    const { isComplete, stoppedBy, continuations } = this.#agent.session.state.autopilot;
    if (isComplete) return this.#end("completed");
    if (stoppedBy) return this.#end(stoppedBy);
    if (this.#agent.budget.isUsedUp) return this.#end("budget");
    if (continuations >= this.#limit()) return this.#end("limit");
    return reminder(this.#agent);
  }

  #end(reason: Reason): undefined {
    const { session } = this.#agent;
    const { continuations } = session.state.autopilot;
    const limit = this.#limit();
    const message = endWords(reason, { continuations, limit });
    session.append("session.autopilot_ended", { reason, continuations, limit, message });
    // Clients that do not know the event show at least this.
    if (reason !== "completed" && reason !== "aborted")
      session.announce("session.info", { infoType: "autopilot", message });
  }
}

function endWords(reason: Reason, { continuations, limit }: { continuations: number; limit: number }): string {
  const after = `after ${continuations} of ${limit} reminders`;
  switch (reason) {
    case "completed":
      return `The task is complete, ${after}.`;
    case "limit":
      return `Autopilot stopped: the task is not marked as complete ${after}.`;
    case "budget":
      return `Autopilot stopped: the budget is used up, ${after}.`;
    case "error":
      return `Autopilot stopped after an error, ${after}.`;
    case "aborted":
      return `Autopilot was stopped, ${after}.`;
    case "gates":
      return `Autopilot stopped: a gate failed too often, ${after}.`;
    default:
      return reason satisfies never;
  }
}

/** The tool must be there; the model is not forced to call it, or it would complete at once. */
function reminder({ session: { world } }: Agent): Prompt {
  return {
    kind: "prompt",
    id: world.newId(),
    messageId: world.newId(),
    prompt: words.trim(),
    source: "system",
    requiredTool: "task_complete",
    isAutopilotContinuation: true,
  };
}
