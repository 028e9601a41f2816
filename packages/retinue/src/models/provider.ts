/**
 * What the loop knows about a model: one method, and it streams.
 *
 * Adapters (openai-chat, openai-responses, anthropic, offline, scripted) turn a ModelRequest into their wire format
 * and the answer into Parts. Retrying is in retry.ts; which provider serves a session is in catalog.ts.
 */
import { AppError } from "@retinue/protocol";

export interface Provider {
  readonly id: string;
  /** Named in `assistant.usage` and `model.call_failure`. */
  readonly apiEndpoint: "/chat/completions" | "/responses" | "/v1/messages" | "offline";
  /** Where requests go, for error texts; absent for models without a network. */
  readonly baseUrl?: string;
  /** Where its settings come from, for error texts. */
  readonly origin?: Origin;
  /** The first wait before a request is made again; each further one is twice as long. */
  readonly retryWaitMs?: number;
  /** The names of the models that it has; empty when it cannot be asked. */
  models?(options: { signal: AbortSignal }): Promise<readonly string[]>;
  stream(request: ModelRequest, options: StreamOptions): AsyncIterable<Part>;
}

/** Where the settings of a provider come from, in words that a person can look for. */
export interface Origin {
  /** Of its address: a variable, an option, or a place in a file; absent where nobody has set one. */
  address?: string;
  /** Of its key, whether there is one or not. */
  key?: string;
  hasKey?: boolean;
  /** What the configuration names. */
  models?: readonly string[];
}

export interface StreamOptions {
  signal: AbortSignal;
  /** Called when the request has left: from here on the endpoint may charge for it. Parts say so as well. */
  onSent?(): void;
}

/**
 * Messages are immutable and keep their identity from turn to turn: an adapter may keep the serialised form of a
 * message beside it (WeakMap), so that a turn costs what is new and not what the history holds. The same goes for `tools`,
 * whose array keeps its identity while the list is unchanged.
 */
export interface ModelRequest {
  model: string;
  system: string;
  messages: readonly Message[];
  tools: readonly ToolSpec[];
  toolChoice?: "auto" | "none" | { name: string };
  /** Ask the endpoint for a stream. The answer is read as Parts either way. */
  stream: boolean;
  maxOutputTokens?: number;
  reasoningEffort?: string;
  reasoningSummary?: string;
  responseFormat?: unknown;
  headers?: Readonly<Record<string, string>>;
}

export interface ToolSpec {
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters: Readonly<Record<string, unknown>>;
}

export type Message = UserMessage | AssistantMessage | ToolMessage;

export interface UserMessage {
  role: "user";
  content: string | readonly UserPart[];
}

export type UserPart = { type: "text"; text: string } | { type: "image"; mimeType: string; data: string };

export interface AssistantMessage {
  role: "assistant";
  text: string;
  calls: readonly ModelCall[];
  reasoning?: Reasoning;
}

export interface ModelCall {
  id: string;
  name: string;
  /** JSON text as the model wrote it; "{}" when it was not valid JSON. */
  arguments: string;
}

/** `blocks` is whatever the provider wants back unchanged (signatures, encrypted items), tagged with who wrote it. */
export interface Reasoning {
  text?: string;
  blocks?: { provider: string; items: readonly unknown[] };
}

/** A result of a call; images follow as a user message where the wire has no place for them. */
export interface ToolMessage {
  role: "tool";
  callId: string;
  text: string;
  failed?: boolean;
}

export type Part =
  | { type: "text"; delta: string }
  | { type: "reasoning"; delta: string }
  /** Provider-made reasoning items to send back with the history. */
  | { type: "reasoning_blocks"; provider: string; items: unknown[] }
  | { type: "call_delta"; id: string; name: string; delta: string }
  /** `arguments` as the model wrote them, which may not be JSON; "{}" when it wrote nothing. */
  | { type: "call"; id: string; name: string; arguments: string }
  /** Exactly one, and last. */
  | { type: "end"; reason: FinishReason; usage: Usage; responseId?: string; model?: string };

export type FinishReason = "stop" | "calls" | "length" | "filtered";

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

export const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

/** A failed model call, with all that retrying and reporting need. */
export class ModelError extends AppError {
  override readonly name = "ModelError";
  readonly kind: "api" | "transport" | "protocol";
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The provider's own word for the error, such as `context_length_exceeded`. */
  readonly providerCode: string | undefined;
  /** The provider's class of the error, such as `invalid_request_error`. */
  readonly providerType: string | undefined;
  /** What the endpoint said, in its own words; what it did, when it is no model endpoint. */
  readonly said: string | undefined;
  /** What has answered is no model endpoint, and will be none at the next try. */
  readonly isElsewhere: boolean;
  /** The provider's error object as JSON text, for `model.call_failure.errorMessage`; the message in quotes without one. */
  readonly detail: string;

  constructor(
    message: string,
    details: {
      kind: "api" | "transport" | "protocol";
      status?: number;
      retryAfterMs?: number;
      providerCode?: string;
      providerType?: string;
      said?: string;
      isElsewhere?: boolean;
      detail?: string;
      cause?: unknown;
    },
  ) {
    super("model_failed", message, { cause: details.cause });
    this.kind = details.kind;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.providerCode = details.providerCode;
    this.providerType = details.providerType;
    this.said = details.said;
    this.isElsewhere = details.isElsewhere ?? false;
    this.detail = details.detail ?? JSON.stringify(message);
  }
}
