/** What a program sends to a session, and how long it waits for the answer. */
import type { Attachment, EventOf, PromptMode, PromptTerms } from "@retinue/protocol";
import type { CallParams } from "./rpc.ts";

export interface MessageOptions {
  prompt: string;
  /** What a screen shows instead of the prompt. */
  displayPrompt?: string;
  attachments?: Attachment[];
  /** `immediate` steers the running turn; otherwise the prompt waits for its end. */
  mode?: "enqueue" | "immediate";
  agentMode?: PromptMode;
  /** Headers of the model requests that this prompt leads to. */
  requestHeaders?: Record<string, string>;
  /** The form of the answer, for endpoints that can be given one; `session.ask` fills it in. */
  responseFormat?: CallParams<"session.send">["responseFormat"];
  /** A prompt that begins with a slash is a command; its text comes as `session.info`. Default: it is a prompt. */
  commands?: boolean;
  /** Which tools the main agent has for this prompt, and how it may use them. Default: all of its own. */
  terms?: PromptTerms;
  /** Who sends it, for logs. */
  source?: string;
}

export interface WaitLimits {
  /** Rejects with `timed_out` after so long; the work goes on. Default: no limit. */
  timeoutMs?: number | undefined;
  /** Rejects with `cancelled` when it is aborted; the work goes on. Default: none. */
  signal?: AbortSignal | undefined;
}

export type AssistantMessageEvent = EventOf<"assistant.message">;
