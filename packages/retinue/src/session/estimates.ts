/**
 * What endpoints may charge one session for requests of which they have not said what they used. Estimates: they limit, and are not on
 * the bill. Only what a budget limits has any.
 */
import type { EventData, EventType } from "@retinue/protocol";

export interface Unreported {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  nanoAiu: number;
}

type Estimate = NonNullable<EventData<"session.usage_checkpoint">["unreported"]>;

export const NO_ESTIMATE: Unreported = { requests: 0, inputTokens: 0, outputTokens: 0, nanoAiu: 0 };

export class Estimates {
  /** Of requests that have ended. */
  unreported = NO_ESTIMATE;
  /** The prompt of a request that was about to be sent, until something is known of its end. */
  #underWay: Estimate | undefined;

  get all(): Unreported {
    return withOne(this.unreported, this.#underWay);
  }

  apply({ type, data }: { type: EventType; data: object }): void {
    switch (type) {
      case "assistant.turn_start":
        this.#begin((data as EventData<"assistant.turn_start">).prompt);
        return;
      case "session.compaction_start":
        this.#begin((data as EventData<"session.compaction_start">).prompt);
        return;
      case "session.usage_checkpoint":
        this.unreported = withOne(this.unreported, (data as EventData<"session.usage_checkpoint">).unreported);
        return;
      case "assistant.message":
      case "assistant.turn_end":
      case "session.compaction_complete":
        this.#underWay = undefined;
    }
  }

  /** One that is still under way when the next begins was cut off with its process; nobody knows how far it got. */
  #begin(prompt: Estimate | undefined): void {
    this.unreported = this.all;
    this.#underWay = prompt;
  }
}

export function addUnreported(a: Unreported, b: Unreported): Unreported {
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    nanoAiu: a.nanoAiu + b.nanoAiu,
  };
}

function withOne(sum: Unreported, one: Estimate | undefined): Unreported {
  return one ? addUnreported(sum, { ...one, requests: 1 }) : sum;
}
