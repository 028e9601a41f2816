/**
 * Permission for one call: the rules decide, or a person is asked, wherever in the tree the call is made.
 *
 * Owns the way from a request to `permission.requested`, the answer, and `permission.completed`. The rules are in permissions/.
 */
import type { PermissionAnswer, PermissionRequest, PermissionResult, PromptRequest } from "@retinue/protocol";
import { isWithin } from "../permissions/policy.ts";
import type { OpenCall } from "../session/state.ts";
import type { Outcome, Prepared } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import { stopOf } from "./stop.ts";

interface Permit {
  call: OpenCall;
  args: unknown;
  prepared: Prepared;
  hook: { decision?: "allow" | "ask"; reason?: string };
  signal: AbortSignal;
}

/** Undefined when the call may run; else what the model reads instead. */
export async function permit(
  agent: Agent,
  { call, args, prepared, hook, signal }: Permit,
): Promise<Outcome | undefined> {
  const own = prepared.permission;
  const inPlan = own && planModeRefusal(agent, own);
  if (inPlan) return inPlan;
  const ownVerdict = own && agent.rules.decide({ ...own, toolCallId: call.id });
  if (ownVerdict?.type === "deny") return denyByRule(agent, call, ownVerdict); // Also when a hook wants to have it asked.
  if (call.permission?.isApproved) return undefined; // Approved before a restart.
  const request: PermissionRequest | undefined =
    hook.decision === "ask"
      ? {
          kind: "hook",
          toolCallId: call.id,
          toolName: call.name,
          toolArgs: args,
          hookMessage: hook.reason,
          workingDirectory: agent.session.place.workingDirectory,
        }
      : own && { ...own, toolCallId: call.id };
  if (!request) return undefined;
  const verdict = agent.rules.decide(request);
  if (verdict.type === "deny") return denyByRule(agent, call, verdict);
  if (verdict.type === "allow" || (hook.decision === "allow" && request.kind !== "hook")) return undefined;
  const answering = agent.answering(request);
  if (answering.type === "deny") return denyUnattended(agent, call, answering.reason);
  const answer = await ask(agent, { call, request, signal });
  return await settle(agent, { call, request, answer });
}

async function ask(
  agent: Agent,
  { call, request, signal }: { call: OpenCall; request: PermissionRequest; signal: AbortSignal },
): Promise<Asked> {
  const { session } = agent;
  const again = call.permission && !call.permission.isDecided ? call.permission.requestId : undefined;
  const requestId = again ?? session.world.newId();
  if (!again) {
    session.appendAsk("permission.requested", {
      requestId,
      permissionRequest: request,
      promptRequest: promptRequest(request),
      agentMode: session.root.state.mode,
      ...(session.parent ? { agentId: session.id, agentPath: [...agent.path] } : {}),
    });
    await session.log.committed();
  }
  try {
    const open = {
      requestId,
      kind: "permission" as const,
      sessionId: session.id,
      callId: call.id,
      payload: { permissionRequest: request, promptRequest: promptRequest(request) },
    };
    const answer = await agent.slot.waiting(() => agent.asks.open(open, { signal }), signal);
    return { requestId, answer: answer as PermissionAnswer };
  } catch (error) {
    const stop = stopOf(signal);
    if (stop?.type !== "shutdown") {
      const reason = stop?.type === "suspend" ? "Session suspended" : (stop?.reason ?? "withdrawn");
      session.appendAsk("permission.completed", {
        requestId,
        toolCallId: call.id,
        result: { kind: "cancelled", reason },
      });
    }
    throw error;
  }
}

interface Asked {
  requestId: string;
  answer: PermissionAnswer;
}

async function settle(
  agent: Agent,
  { call, request, answer: { requestId, answer } }: { call: OpenCall; request: PermissionRequest; answer: Asked },
): Promise<Outcome | undefined> {
  const result = resultOf(agent, request, answer);
  agent.session.appendAsk("permission.completed", { requestId, toolCallId: call.id, result });
  agent.asks.settled(requestId);
  await agent.session.log.committed();
  if (result.kind.startsWith("approved")) return undefined;
  if (result.kind === "denied-interactively-by-user") {
    if (result.feedback)
      return {
        resultType: "denied",
        text: `The user did not allow this call and said: ${result.feedback}`,
        error: result.feedback,
      };
    return { resultType: "rejected", text: "The user did not allow this call." };
  }
  return {
    resultType: "denied",
    text: `Nobody could allow this call of '${call.name}'. Go on without it, or say what you need.`,
  };
}

/** Applies a standing answer, and gives its form for the log. */
function resultOf(agent: Agent, request: PermissionRequest, answer: PermissionAnswer): PermissionResult {
  switch (answer.kind) {
    case "approve-once":
      return { kind: "approved" };
    case "approve-for-session":
      if (answer.approval) agent.rules.approveForSession(answer.approval);
      if (answer.domain) agent.rules.allowDomain(answer.domain);
      return { kind: "approved-for-session", ...(answer.approval ? { approval: answer.approval } : {}) };
    case "approve-for-location":
      agent.rules.approveForLocation(answer.approval, answer.locationKey);
      return { kind: "approved-for-location", approval: answer.approval, locationKey: answer.locationKey };
    case "approve-permanently":
      agent.rules.allowDomain(answer.domain, { isPermanent: true });
      return { kind: "approved" };
    case "reject":
      return { kind: "denied-interactively-by-user", ...(answer.feedback ? { feedback: answer.feedback } : {}) };
    case "cancelled":
      return { kind: "cancelled", ...(answer.reason ? { reason: answer.reason } : {}) };
    case "user-not-available":
    case "unknown":
      return { kind: "denied-no-approval-rule-and-could-not-request-from-user" };
    default:
      answer satisfies never;
      throw new Error(`no result for ${request.kind}`);
  }
}

function denyByRule(
  { session }: Agent,
  call: OpenCall,
  verdict: { rule: string; rules: readonly { kind: string; argument: string | null }[] },
): Outcome {
  const requestId = session.world.newId();
  session.appendAsk("permission.completed", {
    requestId,
    toolCallId: call.id,
    result: { kind: "denied-by-rules", rules: [...verdict.rules] },
  });
  return {
    resultType: "denied",
    text: `The call of '${call.name}' is denied by the ${verdict.rule}. Do it another way, or ask the user.`,
  };
}

/** Nobody is there who could be asked: what the policy decided is on record, and the model reads why. */
function denyUnattended({ session }: Agent, call: OpenCall, reason: string): Outcome {
  const result = { kind: "denied-no-approval-rule-and-could-not-request-from-user" as const };
  session.appendAsk("permission.completed", {
    requestId: session.world.newId(),
    toolCallId: call.id,
    result,
    decisionSource: "unattended_fallback",
  });
  return { resultType: "denied", text: reason };
}

function planModeRefusal({ session }: Agent, request: PermissionRequest): Outcome | undefined {
  if (session.root.state.mode !== "plan" || request.kind !== "write") return undefined;
  if (isWithin(session.place.folder, request.fileName)) return undefined;
  return {
    resultType: "denied",
    text: "Plan mode: files outside the session's own folder must not be changed. Write the plan, then leave plan mode.",
  };
}

/** The form for a screen. */
export function promptRequest(request: PermissionRequest): PromptRequest {
  switch (request.kind) {
    case "shell":
      return {
        kind: "commands",
        toolCallId: request.toolCallId,
        fullCommandText: request.fullCommandText,
        intention: request.intention,
        commandIdentifiers: request.commands.map(({ identifier }) => identifier),
        canOfferSessionApproval: request.canOfferSessionApproval,
        ...(request.warning ? { warning: request.warning } : {}),
      };
    case "mcp": {
      const { readOnly: _, ...rest } = request;
      const prefix = `${request.serverName}-`;
      return {
        ...rest,
        toolName: request.toolName.startsWith(prefix) ? request.toolName.slice(prefix.length) : request.toolName,
      };
    }
    case "custom-tool": {
      const { skipPermission: _, ...rest } = request;
      return rest;
    }
    default:
      return request;
  }
}
