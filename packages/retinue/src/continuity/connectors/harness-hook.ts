/** What a harness that runs our command for its hooks needs from its connector: reading a payload, and writing the answer. */
import type { HookAnswer } from "../ingest/hook-input.ts";

export interface HookCall {
  /** The last part of the hook's route. */
  route: string;
  body: object;
}

export interface HarnessHook {
  /** Undefined for a payload that means nothing to us. */
  read(payload: Readonly<Record<string, unknown>>): HookCall | undefined;
  /** What the harness reads on our standard output. */
  answer(answer: HookAnswer, payload: Readonly<Record<string, unknown>>): object | undefined;
}
