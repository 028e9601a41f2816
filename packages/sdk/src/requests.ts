/**
 * Requests of the runtime to this client, answered by the session that owns the handlers.
 *
 * Every one of them finds its session by the same function, for child sessions too. Only `tool.call` checks the allowlist.
 * What comes as an event and is answered by a call is in broadcast.ts.
 */
import { AppError, defined, type PermissionRequest } from "@retinue/protocol";
import type { Attached } from "./attached.ts";
import type { Children } from "./children.ts";
import { invokeHook } from "./hooks.ts";
import { decide, decisionForV2 } from "./permissions.ts";
import type { GitHubTokenProvider } from "./providers.ts";
import { isExitPlanModeResult, isRecord, isUserInputResponse } from "./questions.ts";
import { transformSections } from "./system-message.ts";
import { resultForV2, runTool, unsupportedTool } from "./tools.ts";

export interface Host {
  readonly children: Children<Attached>;
  readonly gitHubTokens: ReadonlyMap<string, GitHubTokenProvider>;
  onError(error: unknown): void;
}

interface Asked {
  readonly host: Host;
  readonly params: Record<string, unknown>;
  readonly signal: AbortSignal;
}

const ANSWERS: Record<string, (asked: Asked) => Promise<unknown>> = {
  "tool.call": callTool,
  "permission.request": askPermission,
  "hooks.invoke": callHook,
  "userInput.request": askUser,
  "exitPlanMode.request": approvePlan,
  "autoModeSwitch.request": switchMode,
  "systemMessage.transform": transform,
  "providerToken.getToken": providerToken,
  "gitHubToken.getToken": gitHubToken,
  "tasks.cancel": cancelTask,
};

/** Undefined when there is no such request. */
export function answerRequest(
  host: Host,
  method: string,
  params: unknown,
  { signal }: { signal: AbortSignal },
): Promise<unknown> | undefined {
  const answer = Object.hasOwn(ANSWERS, method) ? ANSWERS[method] : undefined;
  return answer?.({ host, params: isRecord(params) ? params : {}, signal });
}

/** Who is asked, and on whose behalf. */
function resolve({ host, params }: Asked) {
  const sessionId = text(params, "sessionId");
  const { session, isChild } = host.children.resolveSession(sessionId);
  const childSessionId = isChild ? sessionId : optional(params, "agentId");
  const agentName = nameOf(host, childSessionId) ?? optional(params, "agentName");
  const isRepeat = params.isRepeat === true ? true : undefined;
  return { session, asker: { sessionId: session.sessionId, childSessionId, agentName }, isRepeat };
}

function nameOf({ children }: Host, childSessionId: string | undefined): string | undefined {
  return childSessionId === undefined ? undefined : children.childToAgent.get(childSessionId);
}

async function callTool(asked: Asked): Promise<unknown> {
  const { session, asker, isRepeat } = resolve(asked);
  const { params, signal, host } = asked;
  const toolName = text(params, "toolName");
  const tool = session.tools.get(toolName);
  const child = asker.childSessionId;
  const isDenied = child !== undefined && !host.children.isToolAllowedForChild(child, toolName);
  if (isDenied || !tool) return { result: { ...unsupportedTool(toolName), toolTelemetry: {} } };
  const outcome = await runTool(tool, {
    ...asker,
    isRepeat,
    toolName,
    toolCallId: text(params, "toolCallId"),
    arguments: params.arguments,
    signal,
  });
  return { result: resultForV2(outcome) };
}

async function askPermission(asked: Asked): Promise<unknown> {
  const { session, asker, isRepeat } = resolve(asked);
  const handler = session.config.onPermissionRequest;
  const { permissionRequest } = asked.params;
  if (!handler || !isPermissionRequest(permissionRequest)) return { result: decisionForV2(undefined) };
  const invocation = { ...asker, isRepeat };
  return { result: decisionForV2(await decide(handler, permissionRequest, invocation, asked.host.onError)) };
}

async function callHook(asked: Asked): Promise<unknown> {
  const { session, asker } = resolve(asked);
  const { host, params } = asked;
  const input = isRecord(params.input) ? params.input : {};
  // For a sub-agent the request names the session at the top, and the input the child.
  const inner = asker.childSessionId ?? childOf(host, input.sessionId);
  const agentName = inner === undefined ? undefined : host.children.childToAgent.get(inner);
  const { hooks = {} } = session.config;
  const isGuard = hooks.onError === "deny"; // The runtime must then learn of everything that went wrong.
  try {
    const invocation = { sessionId: session.sessionId, childSessionId: inner, agentName };
    const hook = { hookType: text(params, "hookType"), input };
    const output = await invokeHook(hooks, hook, invocation);
    return isRecord(output) || (isGuard && output !== undefined) ? { output } : {};
  } catch (error) {
    host.onError(error);
    if (isGuard) throw error;
    return {};
  }
}

function childOf({ children }: Host, id: unknown): string | undefined {
  return typeof id === "string" && children.childToParent.has(id) ? id : undefined;
}

async function askUser(asked: Asked): Promise<unknown> {
  const { session, asker } = resolve(asked);
  const handler = session.config.onUserInputRequest;
  if (!handler) throw new AppError("not_configured", "nobody can be asked: there is no onUserInputRequest handler");
  const { question, choices, allowFreeform } = asked.params;
  const answer: unknown = await handler(
    defined({
      question: String(question),
      choices: Array.isArray(choices) ? choices.map(String) : undefined,
      allowFreeform: typeof allowFreeform === "boolean" ? allowFreeform : undefined,
    }),
    asker,
  );
  if (isUserInputResponse(answer)) return answer;
  throw wrongShape("onUserInputRequest", "{ answer, wasFreeform }");
}

async function approvePlan(asked: Asked): Promise<unknown> {
  const { session, asker } = resolve(asked);
  const handler = session.config.onExitPlanModeRequest;
  if (!handler)
    throw new AppError("not_configured", "nobody can approve a plan: there is no onExitPlanModeRequest handler");
  const { summary, planContent, actions, recommendedAction } = asked.params;
  const answer: unknown = await handler(
    defined({
      summary: String(summary ?? ""),
      planContent: typeof planContent === "string" ? planContent : undefined,
      actions: Array.isArray(actions) ? actions.map(String) : [],
      recommendedAction: String(recommendedAction ?? ""),
    }),
    asker,
  );
  if (isExitPlanModeResult(answer)) return answer;
  throw wrongShape("onExitPlanModeRequest", "{ approved }");
}

async function switchMode(asked: Asked): Promise<unknown> {
  const { session, asker } = resolve(asked);
  const { errorCode, retryAfterSeconds } = asked.params;
  const response: unknown = await session.config.onAutoModeSwitchRequest?.(
    defined({
      errorCode: typeof errorCode === "string" ? errorCode : undefined,
      retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
    }),
    asker,
  );
  return { response: response === "yes" || response === "yes_always" ? response : "no" };
}

async function transform(asked: Asked): Promise<unknown> {
  const { session } = resolve(asked);
  return transformSections(session.transforms, asked.params.sections, asked.host.onError);
}

async function providerToken(asked: Asked): Promise<unknown> {
  const { session } = resolve(asked);
  const providerName = text(asked.params, "providerName");
  const provider = session.tokens.get(providerName);
  if (!provider) throw new AppError("not_configured", `there is no token for the provider ${providerName}`);
  return { token: await provider({ providerName, sessionId: session.sessionId }) };
}

async function gitHubToken({ host, params }: Asked): Promise<unknown> {
  const provider = host.gitHubTokens.get(text(params, "registrationId"));
  if (!provider) return { kind: "cancelled" };
  const { sessionId } = params;
  return provider({
    host: text(params, "host"),
    reason: params.reason === "refresh" ? "refresh" : "initial",
    ...(typeof sessionId === "string" ? { sessionId } : {}),
  });
}

async function cancelTask(asked: Asked): Promise<unknown> {
  const { session } = resolve(asked);
  const cancel = session.cancels.get(text(asked.params, "clientTaskId"));
  if (!cancel) return { cancelled: false };
  await cancel(asked.params.reason === "session_shutdown" ? "session_shutdown" : "cancel_requested");
  return { cancelled: true };
}

function optional(params: Record<string, unknown>, name: string): string | undefined {
  const value = params[name];
  return typeof value === "string" ? value : undefined;
}

function text(params: Record<string, unknown>, name: string): string {
  const value = params[name];
  if (typeof value === "string") return value;
  throw new AppError("invalid_params", `missing parameter '${name}'`);
}

function isPermissionRequest(value: unknown): value is PermissionRequest {
  return isRecord(value) && typeof value.kind === "string";
}

function wrongShape(handler: string, expected: string): AppError {
  return new AppError("internal", `the ${handler} handler did not answer with ${expected}`);
}
