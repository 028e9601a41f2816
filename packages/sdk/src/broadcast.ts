/**
 * Asks that the runtime sends to all clients as events (protocol 3) and that one client answers with a call.
 *
 * Owns which of them this client answers: tools and commands that it has, asks that it has a handler for. A host tool
 * that a sub-agent may not use is denied here, before the session sees the call.
 */
import { type EventOf, messageOf, type SessionEvent } from "@retinue/protocol";
import { type Attached, take } from "./attached.ts";
import { tokenFor } from "./mcp-auth.ts";
import { decide } from "./permissions.ts";
import { isElicitationResult } from "./questions.ts";
import type { Host } from "./requests.ts";
import { runTool, type ToolOutcome, unsupportedTool } from "./tools.ts";

export interface BroadcastHost extends Host {
  /**
   * Sends an answer, unless the session was left meanwhile; sends it again when the connection is lost on the way and
   * comes back.
   */
  answer(session: Attached, method: string, params: object): Promise<unknown>;
  /** Asks the runtime for sub-agents that started before this client came. */
  findChildren(session: Attached): Promise<void>;
}

export function answerEvent(host: BroadcastHost, session: Attached, event: SessionEvent): void {
  switch (event.type) {
    case "tool.execution_start":
      session.callers.set(event.data.toolCallId, event.agentId ?? session.sessionId);
      return;
    case "tool.execution_complete":
      session.callers.delete(event.data.toolCallId);
      return;
    case "session.idle":
      // Calls that an abort cut off have no end of their own; now nothing runs any more.
      if (event.agentId === undefined) session.callers.clear();
      return;
    case "external_tool.requested":
      if (take(session, event.data.requestId)) run(host, answerTool(host, session, event));
      else noteRepeat(session, event);
      return;
    case "external_tool.completed":
      session.running.get(event.data.requestId)?.abort();
      return;
    case "permission.requested":
      if (take(session, event.data.requestId)) run(host, answerPermission(host, session, event));
      return;
    case "elicitation.requested":
      if (take(session, event.data.requestId)) run(host, answerForm(host, session, event));
      return;
    case "mcp.oauth_required":
      if (take(session, event.data.requestId)) run(host, answerSignIn(host, session, event));
      return;
    case "command.execute":
      if (take(session, event.data.requestId)) run(host, answerCommand(host, session, event));
  }
}

function run(host: BroadcastHost, work: Promise<void>): void {
  work.catch((error: unknown) => host.onError(error));
}

async function answerTool(
  host: BroadcastHost,
  session: Attached,
  { data, agentId }: EventOf<"external_tool.requested">,
): Promise<void> {
  const { requestId, toolName, toolCallId } = data;
  const { sessionId } = session;
  const reply = (outcome: ToolOutcome) =>
    host.answer(session, "session.tools.handlePendingToolCall", { sessionId, requestId, ...outcome });
  const tool = session.tools.get(toolName);
  const caller = await callerOf(host, session, { data, agentId });
  if (caller === undefined) {
    // Another client may know the child. We do not have the tool, so there is nothing to refuse.
    if (tool) await reply({ result: failure(`unknown session ${data.sessionId}`) });
    return;
  }
  const child = caller === sessionId ? undefined : caller;
  if (child !== undefined && !host.children.isToolAllowedForChild(child, toolName)) {
    await reply({ result: unsupportedTool(toolName) });
    return;
  }
  if (!tool?.handler) return; // Another client's tool, or one that the host answers by hand.
  const controller = new AbortController();
  session.running.set(requestId, controller);
  try {
    const { traceparent, tracestate } = data;
    const agentName = child && host.children.childToAgent.get(child);
    const who = { sessionId, childSessionId: child, agentName, isRepeat: data.isRepeat };
    const call = {
      toolName,
      toolCallId,
      arguments: data.arguments,
      traceparent,
      tracestate,
      signal: controller.signal,
    };
    const outcome = await runTool(tool, { ...who, ...call });
    if (!controller.signal.aborted) await reply(outcome);
  } finally {
    session.running.delete(requestId);
  }
}

type Requested = Pick<EventOf<"external_tool.requested">, "data" | "agentId">;

/** How long to wait for the events that say who made a call. */
const AHEAD_MS = 100;

/** The child session that makes a call, the session itself when its main agent does, or undefined when nobody knows. */
async function callerOf(host: BroadcastHost, session: Attached, request: Requested): Promise<string | undefined> {
  const known = knownCaller(host, session, request);
  if (known !== undefined) return known;
  await host.findChildren(session);
  const found = knownCaller(host, session, request);
  if (found !== undefined) return found;
  const what = `the caller of ${request.data.toolCallId}`;
  const late = session.hub.until(() => knownCaller(host, session, request), { timeoutMs: AHEAD_MS, what });
  return late.catch(() => undefined); // No event named the caller in time: it stays unknown.
}

/**
 * A runtime may name the caller by its session, by its agent, or only by the call that it made. Some name a session of
 * their own making, and the agent of the call separately.
 */
function knownCaller({ children }: BroadcastHost, session: Attached, { data, agentId }: Requested): string | undefined {
  const { sessionId } = session;
  const named = [data.sessionId, data.agentId, agentId, session.callers.get(data.toolCallId)];
  const others = named.filter((id) => id !== undefined && id !== sessionId);
  if (others.length === 0) return sessionId;
  const child = others
    .flatMap((id) => (id && children.childOf(id)) ?? [])
    .find((id) => children.childToParent.get(id) === sessionId);
  return child ?? (session.callers.get(data.toolCallId) === sessionId ? sessionId : undefined);
}

/** The same request again, under the session's own id: the other id meant something only to the runtime. */
function noteRepeat(session: Attached, { data }: EventOf<"external_tool.requested">): void {
  if (data.sessionId !== session.sessionId || session.callers.has(data.toolCallId)) return;
  session.callers.set(data.toolCallId, session.sessionId);
}

/** Who made a call, by its id alone. Waiting makes sense only while there are sub-agents that could have made it. */
async function callerByCall(host: BroadcastHost, session: Attached, toolCallId = ""): Promise<string | undefined> {
  const known = session.callers.get(toolCallId);
  const running = host.children.subagentInstances.get(session.sessionId)?.size ?? 0;
  if (known !== undefined || running === 0 || toolCallId === "") return known;
  const what = `the caller of ${toolCallId}`;
  const late = session.hub.until(() => session.callers.get(toolCallId), { timeoutMs: AHEAD_MS, what });
  return late.catch(() => undefined); // No event named the caller in time: the ask goes on without a name.
}

function failure(text: string) {
  return { textResultForLlm: text, resultType: "failure" as const, error: text };
}

async function answerPermission(
  host: BroadcastHost,
  session: Attached,
  { data, agentId }: EventOf<"permission.requested">,
): Promise<void> {
  const handler = session.config.onPermissionRequest;
  if (!handler || data.resolvedByHook) return;
  const { requestId, permissionRequest } = data;
  const asker = data.agentId ?? agentId ?? (await callerByCall(host, session, permissionRequest.toolCallId));
  const childSessionId = asker === undefined ? undefined : host.children.childOf(asker);
  const agentName = childSessionId && host.children.childToAgent.get(childSessionId);
  const invocation = { sessionId: session.sessionId, requestId, childSessionId, agentName, isRepeat: data.isRepeat };
  const result = await decide(handler, permissionRequest, invocation, host.onError);
  if (result.kind === "no-result") return;
  const { sessionId } = session;
  await host.answer(session, "session.permissions.handlePendingPermissionRequest", { sessionId, requestId, result });
}

async function answerForm(
  host: BroadcastHost,
  session: Attached,
  { data }: EventOf<"elicitation.requested">,
): Promise<void> {
  const handler = session.config.onElicitationRequest;
  if (!handler) return;
  const { sessionId } = session;
  const { requestId, toolCallId: _call, agentId: childSessionId, agentName, ...form } = data;
  const filled = async (): Promise<unknown> =>
    handler({ ...form, sessionId, childSessionId, agentName, requestedSchema: schemaOf(form.requestedSchema) });
  const answer = await filled().catch((error: unknown) => host.onError(error));
  const result = isElicitationResult(answer) ? answer : { action: "cancel" };
  await host.answer(session, "session.ui.handlePendingElicitation", { sessionId, requestId, result });
}

async function answerSignIn(
  host: BroadcastHost,
  session: Attached,
  { data }: EventOf<"mcp.oauth_required">,
): Promise<void> {
  const handler = session.config.onMcpAuthRequest;
  if (!handler) return;
  const { sessionId } = session;
  const { requestId } = data;
  const result = await tokenFor(handler, data, sessionId).catch((error: unknown) => {
    host.onError(error);
    return { kind: "cancelled" };
  });
  await host.answer(session, "session.mcp.oauth.handlePendingRequest", { sessionId, requestId, result });
}

function schemaOf(schema: Record<string, unknown> | undefined) {
  if (!schema) return undefined;
  const { properties, required } = schema;
  const isFields = (value: unknown): value is Record<string, Record<string, unknown>> =>
    typeof value === "object" && value !== null;
  return {
    ...schema,
    type: "object" as const,
    properties: isFields(properties) ? properties : {},
    ...(Array.isArray(required) ? { required: required.map(String) } : {}),
  };
}

async function answerCommand(
  host: BroadcastHost,
  session: Attached,
  { data }: EventOf<"command.execute">,
): Promise<void> {
  const command = session.commands.get(data.commandName);
  if (!command) return; // Another client's command.
  const { sessionId } = session;
  const { requestId, ...context } = data;
  const failed = await settled(async () => command.handler({ ...context, sessionId }));
  await host.answer(session, "session.commands.handlePendingCommand", { sessionId, requestId, ...failed });
}

async function settled(work: () => Promise<void>): Promise<{ error?: string }> {
  try {
    await work();
    return {};
  } catch (error) {
    return { error: messageOf(error) };
  }
}
