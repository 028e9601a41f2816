/**
 * What the current run of a sub-agent has come to: a fold over its events since its `subagent.started`.
 *
 * Owns the difference between an answer of this run and one of an earlier run, and between work and nothing but refusals.
 */
import type { EventData } from "@retinue/protocol";

const REFUSALS: ReadonlySet<string> = new Set(["denied", "rejected"]);

export class RunSoFar {
  /** Its last words. */
  text = "";
  /** Those words are an answer: they asked for no call. */
  hasAnswered = false;
  #calls = 0;
  #refused = 0;

  /** There were calls, and none of them was allowed. */
  get isRefused(): boolean {
    return this.#calls > 0 && this.#refused === this.#calls;
  }

  onAssistantMessage({ content, toolRequests = [] }: EventData<"assistant.message">): void {
    if (content !== "") this.text = content;
    this.hasAnswered = content.trim() !== "" && toolRequests.length === 0;
  }

  onCallEnded({ error }: EventData<"tool.execution_complete">): void {
    this.#calls++;
    if (REFUSALS.has(error?.code ?? "")) this.#refused++;
  }
}
