/** How long the model of the main agent has said nothing although it is its turn, and the line that shows it. */
import type { SessionEvent } from "@retinue/sdk";
import { wholeSeconds } from "./seconds.ts";

/** A shorter pause needs no sign. */
const FROM_MS = 1000;

export class Silence {
  #since: number | undefined;

  receive(event: SessionEvent): void {
    if (event.agentId !== undefined) return;
    switch (event.type) {
      case "user.message":
      case "model.call_failure":
      case "assistant.turn_start":
        this.#since ??= Date.parse(event.timestamp);
        return;
      case "assistant.message_delta":
      case "assistant.message":
      case "assistant.turn_end":
      case "tool.execution_start":
      case "session.error":
      case "session.idle":
      case "abort":
        this.#since = undefined;
        return;
      default:
        return;
    }
  }

  /** Undefined while there is nothing to show. */
  line(now: number): string | undefined {
    if (this.#since === undefined || now - this.#since < FROM_MS) return undefined;
    return `· thinking… ${wholeSeconds(now - this.#since)}`;
  }
}
