/**
 * Asks at the terminal: permission, questions, forms and plans, one after the other, whichever agent they come from.
 *
 * Where nobody can answer, a permission is refused, and a line names the flag that would have allowed it. Questions and
 * forms are then not offered to the model at all.
 */
import { type Approval, type PermissionRequest, visible, visibleText } from "@retinue/protocol";
import type {
  ElicitationContext,
  ElicitationResult,
  PermissionInvocation,
  PermissionRequestResult,
  SessionConfigBase,
  UserInputRequest,
  UserInputResponse,
} from "@retinue/sdk";
import { type Always, type PermissionWords, permissionWords } from "./permission-words.ts";
import { askPlan } from "./plan-question.ts";
import type { Questioner, Terminal } from "./terminal.ts";

export interface AskingOptions {
  terminal: Terminal;
  /** Aborted when the run is stopped: an open question is then given up. */
  signal: AbortSignal;
  workingDirectory(): string;
  /** What answers for this folder are kept by; undefined where none is to be kept. */
  location(): Promise<string | undefined>;
  /** The name of the agent that runs in a child session, with those above it. */
  agentPath(childSessionId: string): string | undefined;
}

/** While a question is asked, beneath the lines that stand still. */
type Asking = Omit<AskingOptions, "terminal"> & { terminal: Questioner };

export type Handlers = Pick<
  SessionConfigBase,
  "onPermissionRequest" | "onUserInputRequest" | "onElicitationRequest" | "onExitPlanModeRequest"
>;

export function askingAt(options: AskingOptions): Handlers {
  const { terminal } = options;
  const turns = queue(options);
  const onPermissionRequest: Handlers["onPermissionRequest"] = (request, invocation) =>
    terminal.canAsk ? turns((at) => askPermission(at, request, invocation)) : refuse(options, request, invocation);
  if (!terminal.canAsk) return { onPermissionRequest };
  return {
    onPermissionRequest,
    onUserInputRequest: (request, { childSessionId }) => turns((at) => askQuestion(at, request, childSessionId)),
    onElicitationRequest: (form) => turns((at) => askForm(at, form)),
    onExitPlanModeRequest: (plan) => turns((at) => askPlan(plan, at)),
  };
}

/** Asks one question at a time. The tree of agents stays above it, and nothing else is printed in between. */
function queue(options: AskingOptions): <T>(ask: (at: Asking) => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (ask) => {
    const next = last.then(() => options.terminal.pinned((terminal) => ask({ ...options, terminal })));
    last = next.catch(() => undefined); // Whoever waits for it gets the error; the next question is asked all the same.
    return next;
  };
}

async function askPermission(
  options: Asking,
  request: PermissionRequest,
  { childSessionId }: PermissionInvocation,
): Promise<PermissionRequestResult> {
  const { terminal, signal } = options;
  if (signal.aborted) return { kind: "user-not-available" }; // The run was stopped while this waited for its turn.
  const words = permissionWords(request, options.workingDirectory());
  terminal.note(`\n${who(options, childSessionId)} wants to ${words.what}`);
  for (const line of words.details) terminal.note(`    ${line}`);
  const choices = choicesOf(words, await options.location());
  for (const { key, means } of choices) terminal.note(`  ${key}  ${means}`);
  const keys = choices.map(({ key }) => key).join(", ");
  for (;;) {
    const answer = await terminal.ask(`Allow? [${keys}, or what to do instead] `, { signal });
    if (answer === undefined) return { kind: "user-not-available" };
    const chosen = choices.find(({ isMeant }) => isMeant.test(answer.trim()));
    if (chosen) return chosen.decision;
    const feedback = answer.trim().replace(/^no?\b[\s,.:;-]*/i, "");
    // One or two letters are a slip of the hand, and no instruction.
    if (feedback.length > 2) return { kind: "reject", feedback };
    terminal.note(`Please answer ${keys}, or say in words what to do instead.`);
  }
}

interface Choice {
  key: string;
  isMeant: RegExp;
  /** What the answer covers, for the person. */
  means: string;
  decision: PermissionRequestResult;
}

const NO = "The user said no. Go on without it, or ask for something else.";

function choicesOf({ once, always }: PermissionWords, location: string | undefined): Choice[] {
  const yes: PermissionRequestResult = { kind: "approve-once", approvedInteractively: true };
  const no: PermissionRequestResult = { kind: "reject", feedback: NO };
  return [
    { key: "y", isMeant: /^y(es)?$/i, means: `yes, ${once}`, decision: yes },
    ...(always ? [forSession(always)] : []),
    ...(always?.isForFolder && always.approval && location !== undefined
      ? [forFolder(always.words, { approval: always.approval, locationKey: location })]
      : []),
    { key: "n", isMeant: /^no?$/i, means: "no; words after it, or instead of it, are told to the agent", decision: no },
  ];
}

function forSession({ words, approval, domain }: Always): Choice {
  const decision = { kind: "approve-for-session" as const, ...(approval && { approval }), ...(domain && { domain }) };
  return { key: "a", isMeant: /^a(lways)?$/i, means: `always: ${words} in this session`, decision };
}

function forFolder(words: string, kept: { approval: Approval; locationKey: string }): Choice {
  const means = `always: ${words} in this folder, in later sessions too (${visible(kept.locationKey)})`;
  return { key: "f", isMeant: /^f(older)?$/i, means, decision: { kind: "approve-for-location", ...kept } };
}

function refuse(
  options: AskingOptions,
  request: PermissionRequest,
  { childSessionId }: PermissionInvocation,
): PermissionRequestResult {
  const { what, flag } = permissionWords(request, options.workingDirectory());
  options.terminal.note(`✗ refused: ${who(options, childSessionId)} wanted to ${what}`);
  const advice = flag === undefined ? "no flag answers for a person" : `to allow it: ${flag}`;
  options.terminal.note(`  there is no terminal to ask at; ${advice}`);
  return { kind: "user-not-available" };
}

async function askQuestion(
  options: Asking,
  { question, choices = [] }: UserInputRequest,
  childSessionId: string | undefined,
): Promise<UserInputResponse> {
  const { terminal, signal } = options;
  if (signal.aborted) return { answer: NO_ANSWER, wasFreeform: true };
  terminal.note(`\n${who(options, childSessionId)} asks: ${visibleText(question)}`);
  choices.forEach((choice, at) => {
    terminal.note(`  ${at + 1}  ${visible(choice)}`);
  });
  const answer = await terminal.ask(choices.length > 0 ? "A number, or your own answer: " : "> ", { signal });
  if (answer === undefined) return { answer: NO_ANSWER, wasFreeform: true };
  const chosen = choices[Number(answer.trim()) - 1];
  return chosen === undefined ? { answer, wasFreeform: true } : { answer: chosen, wasFreeform: false };
}

async function askForm({ terminal, signal }: Asking, form: ElicitationContext): Promise<ElicitationResult> {
  const { message, requestedSchema, elicitationSource, url } = form;
  const from = visible(elicitationSource ?? "The agent");
  terminal.note(`\n${from} asks: ${visibleText(message)}${url ? ` (${visible(url)})` : ""}`);
  const fields = url === undefined ? Object.entries(requestedSchema?.properties ?? {}) : [];
  if (fields.length === 0) return await askConsent({ terminal, signal }, { isAddress: url !== undefined });
  const content: NonNullable<ElicitationResult["content"]> = {};
  for (const [name, field] of fields) {
    const choices = Array.isArray(field.enum) ? field.enum.map(String) : [];
    const label = `${String(field.title ?? name)}${choices.length > 0 ? ` (${choices.join(" | ")})` : ""}`;
    const isNumber = field.type === "number" || field.type === "integer";
    const answer = await askField({ terminal, signal }, { label, choices, isNumber });
    if (answer === undefined) return { action: "cancel" };
    if (answer !== "") content[name] = valueFor(field, answer);
  }
  const missing = (requestedSchema?.required ?? []).some((name) => content[name] === undefined);
  return missing ? { action: "decline" } : { action: "accept", content };
}

/** Nothing is to be filled in, but only a person can agree. Nothing typed is no answer. */
async function askConsent(
  { terminal, signal }: Pick<Asking, "terminal" | "signal">,
  { isAddress }: { isAddress: boolean },
): Promise<ElicitationResult> {
  if (isAddress) terminal.note("  To go there, open the address in a browser. Nothing is opened by itself.");
  const answer = await terminal.ask("  Do you agree? [y, n] ", { signal });
  if (answer === undefined) return { action: "cancel" };
  return { action: isYes(answer) ? "accept" : "decline" };
}

/** Asks again until it is one of the choices or a number, where that is wanted, or nothing. */
async function askField(
  { terminal, signal }: Pick<Asking, "terminal" | "signal">,
  { label, choices, isNumber }: { label: string; choices: readonly string[]; isNumber: boolean },
): Promise<string | undefined> {
  for (;;) {
    const answer = await terminal.ask(`  ${visible(label)}: `, { signal });
    if (answer === undefined) return undefined;
    if (answer.trim() === "") return "";
    if (isNumber && !Number.isFinite(Number(answer))) {
      terminal.note("  Please answer with a number");
      continue;
    }
    if (choices.length === 0) return answer;
    const chosen = choices.find((choice) => choice.toLowerCase() === answer.trim().toLowerCase());
    if (chosen !== undefined) return chosen;
    terminal.note(`  Please answer one of: ${visible(choices.join(", "))}`);
  }
}

function valueFor({ type }: Record<string, unknown>, answer: string): string | number | boolean | string[] {
  if (type === "boolean") return isYes(answer) || answer.trim() === "true";
  if (type === "number" || type === "integer") return Number(answer);
  return type === "array" ? answer.split(",").map((part) => part.trim()) : answer;
}

function who({ agentPath }: Pick<AskingOptions, "agentPath">, childSessionId: string | undefined): string {
  const path = childSessionId === undefined ? undefined : agentPath(childSessionId);
  return path === undefined ? "The agent" : `The sub-agent ${visible(path)}`;
}

const NO_ANSWER = "The user gave no answer.";

const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());
