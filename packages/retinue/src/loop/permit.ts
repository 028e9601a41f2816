/**
 * Permission for one call: the rules decide, or a person is asked, wherever in the tree the call is made.
 *
 * Owns when a call needs an ask, and what the answer means for it. The rules are in permissions/; how an ask proceeds is in asks/ask.ts.
 */
import { join } from "node:path";
import type { PermissionAnswer, PermissionRequest, PromptRequest } from "@retinue/protocol";
import { ask } from "../asks/ask.ts";
import { KINDS } from "../asks/kinds.ts";
import { permissionResult } from "../asks/permission-result.ts";
import { whyLeaves } from "../permissions/confinement.ts";
import { isAllWithin, pathsOf, withTargets } from "../permissions/path-rules.ts";
import { planRefusal } from "../permissions/plan-mode.ts";
import type { Verdict } from "../permissions/policy.ts";
import { modeNow } from "../session/mode-now.ts";
import type { OpenCall } from "../session/open-call.ts";
import type { Session } from "../session/session.ts";
import { Stop } from "../session/stop.ts";
import type { Outcome, Prepared } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import { outsideTerms } from "./prompt-limit.ts";

interface Permit {
  call: OpenCall;
  args: unknown;
  prepared: Prepared;
  hook: { decision?: "allow" | "ask"; reason?: string };
  signal: AbortSignal;
}

/** Undefined when the call may run; otherwise the outcome that the model reads. */
export async function permit(
  agent: Agent,
  { call, args, prepared, hook, signal }: Permit,
): Promise<Outcome | undefined> {
  const own = prepared.permission;
  const elsewhere = outsideTerms(agent.session, call, own) ?? (own && refusedInPlan(agent, own));
  if (elsewhere) return elsewhere;
  const leaving = own && confinementRefusal(agent, own);
  if (leaving) return leaving;
  const { workingDirectory, confinement } = agent.session.place;
  const ownVerdict =
    own && agent.permissions.rules.decide({ ...own, toolCallId: call.id }, { workingDirectory, confinement });
  if (ownVerdict?.type === "deny") return denyByRule(agent, call, ownVerdict); // Even when a hook says to ask.
  if (call.permission?.isApproved && isSameTarget(call.permission.request, own)) return undefined; // Approved before a restart.
  const needed: PermissionRequest | undefined =
    hook.decision === "ask"
      ? {
          kind: "hook",
          toolCallId: call.id,
          toolName: call.name,
          toolArgs: args,
          hookMessage: hook.reason,
          workingDirectory,
        }
      : own && { ...own, toolCallId: call.id };
  const request = needed ?? openBefore(call)?.request;
  if (!request) return undefined;
  const verdict = agent.permissions.rules.decide(request, { workingDirectory, confinement });
  if (verdict.type === "deny") return denyByRule(agent, call, verdict);
  const needsNoAsk =
    prepared.needsNoAsk ||
    isOfSession(agent.session.place, own) ||
    (hook.decision === "allow" && !(verdict.type === "ask" && verdict.mustAsk));
  const isAllowed = !needed || verdict.type === "allow" || (needsNoAsk && request.kind !== "hook");
  const earlier = earlierAsk(agent, call, own);
  if (isAllowed && !earlier) return undefined;
  const answering = agent.permissions.answering(request);
  if (answering.type === "deny" && !earlier)
    return denyUnattended(agent, call, unattendedReason(verdict, answering.reason));
  const shown = withWarning(request, verdict);
  const answer = await ask(agent, "permission", {
    payload: { permissionRequest: shown, promptRequest: promptRequest(shown) },
    callId: call.id,
    earlier,
    unattended: isAllowed
      ? { kind: "approve-once" }
      : answering.type === "deny"
        ? { kind: "user-not-available" }
        : undefined,
    onAnswer: (given) => applyStanding(agent, given),
    signal,
  });
  // Plan mode may have begun while somebody was asked.
  return refusal(answer, call, verdict) ?? (own && refusedInPlan(agent, own));
}

/** An agent's own papers: what is in the session's folder may be read, and plan, notes and reports written. Rules may still deny it. */
function isOfSession({ folder }: Session["place"], request: PermissionRequest | undefined): boolean {
  if (request?.kind !== "read" && request?.kind !== "write") return false;
  const folders = withTargets([folder]); // And not where a paper leads: a link is none.
  const papers = folders.flatMap((each) => PAPERS.map((name) => join(each, name)));
  return isAllWithin(request.kind === "read" ? folders : papers, request);
}

const PAPERS = ["plan.md", "research", "files"];

/** Whoever approves everything would not expect a question, so it says what brought it about. */
function withWarning(request: PermissionRequest, verdict: Verdict): PermissionRequest {
  const isUnclear = verdict.type === "ask" && verdict.mustAsk && request.kind === "shell";
  return isUnclear ? { ...request, warning: `There are deny rules for commands, and ${verdict.rule}.` } : request;
}

/** What was asked before a restart and has no decision. Even when nothing need be asked any more, an answer to it counts. */
function openBefore({ permission }: OpenCall): OpenCall["permission"] {
  return permission && !permission.isDecided ? permission : undefined;
}

/** The ask from before a restart that is still open. One that was about other files is withdrawn. */
function earlierAsk({ session }: Agent, call: OpenCall, own: PermissionRequest | undefined) {
  const permission = openBefore(call);
  if (!permission) return undefined;
  if (isSameTarget(permission.request, own)) return permission;
  const reason = new Stop("abort", "the path leads elsewhere now");
  KINDS.permission.settleStopped({ session, requestId: permission.requestId, callId: call.id }, reason);
  return undefined;
}

/** An answer from before a restart is about the files that the call led to then. */
function isSameTarget(before: PermissionRequest, now: PermissionRequest | undefined): boolean {
  if (before.kind === "hook" || (now?.kind !== "read" && now?.kind !== "write")) return true;
  return before.kind === now.kind && pathsOf(before).join("\0") === pathsOf(now).join("\0");
}

/** Keeps an answer that holds for later calls as well. */
function applyStanding({ permissions: { rules } }: Agent, answer: PermissionAnswer): void {
  switch (answer.kind) {
    case "approve-for-session":
      if (answer.approval) rules.answers.forSession(answer.approval);
      if (answer.domain) rules.allowDomain(answer.domain);
      return;
    case "approve-for-location":
      rules.answers.forLocation(answer.approval, answer.locationKey);
      return;
    case "approve-permanently":
      rules.allowDomain(answer.domain, { isPermanent: true });
      return;
  }
}

/** The outcome that the model reads when the answer is no approval. */
function refusal(answer: PermissionAnswer, call: OpenCall, verdict: Verdict): Outcome | undefined {
  const result = permissionResult(answer);
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
  const reason = `Nobody could allow this call of '${call.name}'. Go on without it, or say what you need.`;
  return { resultType: "denied", text: unattendedReason(verdict, reason) };
}

function denyByRule(
  { session }: Agent,
  call: OpenCall,
  verdict: { rule: string; rules: readonly { kind: string; argument: string | null }[] },
): Outcome {
  const requestId = openBefore(call)?.requestId ?? session.world.newId();
  session.append(
    "permission.completed",
    {
      requestId,
      toolCallId: call.id,
      result: { kind: "denied-by-rules", rules: [...verdict.rules] },
    },
    { untagged: true },
  );
  return {
    resultType: "denied",
    text: `The call of '${call.name}' is denied by the ${verdict.rule}. Do it another way, or ask the user.`,
  };
}

/** No one can be asked: the denial is recorded, and the model reads why. */
function denyUnattended({ session }: Agent, call: OpenCall, reason: string): Outcome {
  const result = { kind: "denied-no-approval-rule-and-could-not-request-from-user" as const };
  session.append(
    "permission.completed",
    {
      requestId: session.world.newId(),
      toolCallId: call.id,
      result,
      decisionSource: "unattended_fallback",
    },
    { untagged: true },
  );
  return { resultType: "denied", text: reason };
}

/** With everything approved a person would not expect this denial, so it says what brought it about. */
function unattendedReason(verdict: Verdict, reason: string): string {
  if (verdict.type !== "ask" || !verdict.mustAsk) return reason;
  return `There are deny rules for commands, and ${verdict.rule}. ${reason} Plain commands, without that, are decided by the rules.`;
}

function refusedInPlan({ session }: Agent, request: PermissionRequest): Outcome | undefined {
  if (modeNow(session) !== "plan") return undefined;
  const reason = planRefusal(request, { sessionFolder: session.place.folder });
  if (reason === undefined) return undefined;
  const todo = session.parent ? "Report what should be changed instead." : "Write the plan, then leave plan mode.";
  return { resultType: "denied", text: `Plan mode: ${reason}. ${todo}` };
}

/** Nobody is asked: a worktree keeps agents apart only if none of them can be let out of it. */
function confinementRefusal({ session: { place } }: Agent, request: PermissionRequest): Outcome | undefined {
  const why = whyLeaves(request, place);
  if (why === undefined) return undefined;
  const words =
    `You work in a git worktree of your own, ${place.confinement?.root}, and may write only there. This call was refused: ${why}. ` +
    "Use paths inside the worktree, and plain commands without variables, substitutions, here-documents or another repository.";
  return { resultType: "denied", text: words, error: `Outside the worktree: ${why}` };
}

/** The request in the form that clients display. */
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
