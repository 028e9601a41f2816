/** Tells clients that an attempt of a model call has failed: the facts for programs, and a line for people when it is made again. */
import type { ModelChoice } from "../models/catalog.ts";
import { attemptWords, retryWords } from "../models/failure-words.ts";
import type { Provider } from "../models/provider.ts";
import type { FailedAttempt } from "../models/retry.ts";
import type { Agent } from "./agent.ts";

export interface FailedCall {
  /** The model that was asked. */
  choice: ModelChoice;
  startedAt: number;
  initiator: "user" | "agent";
}

export function reportFailure(
  { session }: Pick<Agent, "session">,
  failure: FailedAttempt,
  { choice, startedAt, initiator }: FailedCall,
): void {
  const { error, attempt, attempts, willRetry, delayMs } = failure;
  session.announce("model.call_failure", {
    model: choice.id,
    source: session.parent ? "subagent" : "top_level",
    statusCode: error.status,
    failureKind: error.kind === "api" ? "api" : "transport",
    errorMessage: error.detail ?? error.message,
    errorType: error.providerType || undefined,
    errorCode: error.providerCode || undefined,
    initiator,
    durationMs: session.world.now() - startedAt,
    isByok: true,
    isAuto: false,
    transport: "http",
    apiEndpoint: apiEndpointOf(choice),
    attempt,
    maxAttempts: attempts,
    retryInMs: willRetry ? delayMs : undefined,
  });
  if (!willRetry) return;
  const message = `${attemptWords(error, choice.provider)}; ${retryWords(failure)}`;
  session.announce("session.info", { infoType: "model_retry", message });
}

/** The offline model has no endpoint. */
export function apiEndpointOf({
  provider: { apiEndpoint },
}: ModelChoice): Exclude<Provider["apiEndpoint"], "offline"> | undefined {
  return apiEndpoint === "offline" ? undefined : apiEndpoint;
}
