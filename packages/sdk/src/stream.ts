/**
 * A prompt as a stream of parts: `for await (const part of session.stream(prompt))`.
 *
 * Owns which events are parts, and what leaving the loop means: listeners are gone, and work that nobody reads is stopped.
 */
import { AppError, type EventOf, type SessionEvent } from "@retinue/protocol";
import type { AssistantMessageEvent, WaitLimits } from "./message.ts";

/** `agentId` is absent for the main agent. */
export type StreamPart =
  /** A piece of what the main agent says; a whole message in sessions without `streaming`. */
  | { readonly type: "text"; readonly text: string; readonly messageId: string }
  /** A piece of the main agent's reasoning, where the model shows it. */
  | { readonly type: "reasoning"; readonly text: string }
  | {
      readonly type: "tool-start";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly arguments: unknown;
      readonly agentId?: string | undefined;
    }
  | {
      readonly type: "tool-end";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly success: boolean;
      /** What the model reads of a call that succeeded. */
      readonly result?: string | undefined;
      /** Why it failed or was refused. */
      readonly error?: string | undefined;
      /** `denied` by a rule or because nobody could be asked, `rejected` by whoever was asked, `failure`, `timeout`, … */
      readonly code?: string | undefined;
      readonly agentId?: string | undefined;
    }
  | {
      readonly type: "agent-start";
      readonly agentId: string;
      readonly name: string;
      readonly displayName: string;
      /** What its task is called; two tasks of one agent differ by it. */
      readonly taskName?: string | undefined;
      /** The agent above, when that is a sub-agent too. */
      readonly parentId?: string | undefined;
    }
  | {
      readonly type: "agent-end";
      readonly agentId: string;
      readonly name: string;
      readonly displayName: string;
      readonly taskName?: string | undefined;
      readonly status: "completed" | "failed" | "cancelled";
      readonly error?: string | undefined;
    }
  /** The last part: the session has nothing left to do. */
  | { readonly type: "end"; readonly text: string; readonly message: AssistantMessageEvent | undefined };

export interface StreamOptions extends WaitLimits {
  /** Leaving the loop early leaves the work running. Default: it is aborted. */
  keepRunning?: boolean;
}

export interface StreamSource {
  listen(listener: (event: SessionEvent) => void): () => void;
  /** Whether something else runs: the stream begins with its own message. */
  isBusy: boolean;
  sendAndWait(limits: WaitLimits): Promise<AssistantMessageEvent | undefined>;
  abort(): Promise<void>;
  isLeft(): boolean;
}

type Outcome = { message: AssistantMessageEvent | undefined } | { error: unknown };

export async function* streamOf(
  source: StreamSource,
  { keepRunning = false, ...limits }: StreamOptions,
): AsyncGenerator<StreamPart, void, undefined> {
  const waiting: StreamPart[] = [];
  const parts = new Parts(source.isBusy);
  const leaving = new AbortController();
  let outcome: Outcome | undefined;
  let wake: () => void = () => undefined;
  const stopListening = source.listen((event) => {
    waiting.push(...parts.of(event));
    wake();
  });
  const settle = (given: Outcome) => {
    outcome = given;
    wake();
  };
  const signal = limits.signal ? AbortSignal.any([limits.signal, leaving.signal]) : leaving.signal;
  source.sendAndWait({ ...limits, signal }).then(
    (message) => settle({ message }),
    (error: unknown) => settle({ error }),
  );
  try {
    for (;;) {
      const part = waiting.shift();
      if (part) yield part;
      else if (outcome) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    yield endOf(outcome);
  } finally {
    stopListening();
    leaving.abort();
    if (!isOver(outcome) && !keepRunning && !source.isLeft()) await source.abort();
  }
}

function endOf(outcome: Outcome): StreamPart {
  if ("error" in outcome) throw outcome.error;
  const { message } = outcome;
  return { type: "end", text: message?.data.content ?? "", message };
}

/** A limit of ours ends the waiting and not the work. */
function isOver(outcome: Outcome | undefined): boolean {
  if (!outcome) return false;
  if (!("error" in outcome) || !(outcome.error instanceof AppError)) return true;
  return outcome.error.code !== "cancelled" && outcome.error.code !== "timed_out";
}

/** Turns events into parts; keeps what an event needs to know of earlier ones. */
class Parts {
  readonly #streamed = new Set<string>();
  readonly #tools = new Map<string, string>();
  #isWaiting: boolean;

  constructor(isBusy: boolean) {
    this.#isWaiting = isBusy;
  }

  of(event: SessionEvent): StreamPart[] {
    const { agentId } = event;
    if (this.#isWaiting) this.#isWaiting = event.type !== "user.message" || agentId !== undefined;
    if (this.#isWaiting) return [];
    switch (event.type) {
      case "assistant.message_delta":
        return agentId === undefined ? this.#delta(event.data) : [];
      case "assistant.message":
        return agentId === undefined ? this.#message(event.data) : [];
      case "assistant.reasoning_delta":
        return agentId === undefined ? [{ type: "reasoning", text: event.data.deltaContent }] : [];
      case "tool.execution_start":
        return this.#call(event);
      case "tool.execution_complete":
        return this.#result(event);
      case "subagent.started":
        return [started(event)];
      case "subagent.completed":
        return [ended(event, event.data.cancelled ? "cancelled" : "completed")];
      case "subagent.failed":
        return [ended(event, "failed", event.data.error)];
      default:
        return [];
    }
  }

  #delta({ messageId, deltaContent: text }: EventOf<"assistant.message_delta">["data"]): StreamPart[] {
    this.#streamed.add(messageId);
    return [{ type: "text", text, messageId }];
  }

  #message({ messageId, content: text }: EventOf<"assistant.message">["data"]): StreamPart[] {
    return this.#streamed.delete(messageId) || text === "" ? [] : [{ type: "text", text, messageId }];
  }

  #call({ data, agentId }: EventOf<"tool.execution_start">): StreamPart[] {
    const { toolCallId, toolName } = data;
    this.#tools.set(toolCallId, toolName);
    return [{ type: "tool-start", toolCallId, toolName, arguments: data.arguments, agentId }];
  }

  #result({ data, agentId }: EventOf<"tool.execution_complete">): StreamPart[] {
    const { toolCallId, success, result, error } = data;
    const toolName = this.#tools.get(toolCallId) ?? "";
    this.#tools.delete(toolCallId);
    const told = { result: result?.content, error: error?.message, code: error?.code };
    return [{ type: "tool-end", toolCallId, toolName, success, ...told, agentId }];
  }
}

function started({ data, agentId }: EventOf<"subagent.started">): StreamPart {
  const { toolCallId, agentName: name, agentDisplayName: displayName, taskName, parentId } = data;
  const id = agentId ?? data.remoteSessionId ?? toolCallId;
  return { type: "agent-start", agentId: id, name, displayName, taskName, parentId };
}

function ended(
  { data, agentId }: EventOf<"subagent.completed"> | EventOf<"subagent.failed">,
  status: "completed" | "failed" | "cancelled",
  error?: string,
): StreamPart {
  const { toolCallId, agentName: name, agentDisplayName: displayName, taskName } = data;
  return { type: "agent-end", agentId: agentId ?? toolCallId, name, displayName, taskName, status, error };
}
