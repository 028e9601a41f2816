/**
 * Asks at the terminal: permission, questions, forms and plans, one after the other, whichever agent they come from.
 *
 * Where nobody can answer, a permission is refused, and a line names the flag that would have allowed it. Questions and
 * forms are then not offered to the model at all.
 */
import { type PermissionRequest, visible, visibleText } from "@retinue/protocol";
import type {
  ElicitationContext,
  ElicitationResult,
  PermissionInvocation,
  PermissionRequestResult,
  SessionConfigBase,
  UserInputRequest,
  UserInputResponse,
} from "@retinue/sdk";
import { type PermissionWords, permissionWords } from "./permission-words.ts";
import type { Terminal } from "./terminal.ts";

export interface AskingOptions {
  terminal: Terminal;
  /** Aborted when the run is stopped: an open question is then given up. */
  signal: AbortSignal;
  workingDirectory(): string;
  /** The name of the agent that runs in a child session, with those above it. */
  agentPath(childSessionId: string): string | undefined;
}

type Handlers = Pick<
  SessionConfigBase,
  "onPermissionRequest" | "onUserInputRequest" | "onElicitationRequest" | "onExitPlanModeRequest"
>;

export function askingAt(options: AskingOptions): Handlers {
  const { terminal } = options;
  const turns = queue();
  const onPermissionRequest: Handlers["onPermissionRequest"] = (request, invocation) =>
    terminal.canAsk ? turns(() => askPermission(options, request, invocation)) : refuse(options, request, invocation);
  if (!terminal.canAsk) return { onPermissionRequest };
  return {
    onPermissionRequest,
    onUserInputRequest: (request, { childSessionId }) => turns(() => askQuestion(options, request, childSessionId)),
    onElicitationRequest: (form) => turns(() => askForm(options, form)),
    onExitPlanModeRequest: ({ summary, planContent }) =>
      turns(async () => {
        terminal.note(`\nThe plan:\n${visibleText(planContent?.trim() || summary)}\n`);
        const answer = await terminal.ask("Carry it out? [y/n, or what should change] ", options);
        if (answer !== undefined && isYes(answer)) return { approved: true, selectedAction: "interactive" };
        return answer && !isNo(answer) ? { approved: false, feedback: answer } : { approved: false };
      }),
  };
}

/** Asks one question at a time. */
function queue(): <T>(ask: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (ask) => {
    const next = last.then(ask);
    last = next.catch(() => undefined); // Whoever waits for it gets the error; the next question is asked all the same.
    return next;
  };
}

async function askPermission(
  options: AskingOptions,
  request: PermissionRequest,
  { childSessionId }: PermissionInvocation,
): Promise<PermissionRequestResult> {
  const { terminal, signal } = options;
  const words = permissionWords(request, options.workingDirectory());
  terminal.note(`\n${who(options, childSessionId)} wants to ${words.what}`);
  for (const line of words.details) terminal.note(`    ${line}`);
  const always = words.always ? `, a = always (${words.always.words})` : "";
  for (;;) {
    const answer = await terminal.ask(`Allow? [y = yes, n = no${always}, then Enter] `, { signal });
    if (answer === undefined) return { kind: "user-not-available" };
    if (isYes(answer)) return { kind: "approve-once", approvedInteractively: true };
    if (isNo(answer))
      return { kind: "reject", feedback: "The user said no. Go on without it, or ask for something else." };
    if (words.always && /^a(lways)?$/i.test(answer.trim())) return alwaysDecision(words.always);
    terminal.note(`Please answer y${words.always ? ", n or a" : " or n"}.`);
  }
}

function alwaysDecision({ approval, domain }: NonNullable<PermissionWords["always"]>): PermissionRequestResult {
  return { kind: "approve-for-session", ...(approval ? { approval } : {}), ...(domain ? { domain } : {}) };
}

function refuse(
  options: AskingOptions,
  request: PermissionRequest,
  { childSessionId }: PermissionInvocation,
): PermissionRequestResult {
  const { what, flag } = permissionWords(request, options.workingDirectory());
  options.terminal.note(`✗ refused: ${who(options, childSessionId)} wanted to ${what}`);
  options.terminal.note(`  there is no terminal to ask at; to allow it: ${flag}`);
  return { kind: "user-not-available" };
}

async function askQuestion(
  options: AskingOptions,
  { question, choices = [] }: UserInputRequest,
  childSessionId: string | undefined,
): Promise<UserInputResponse> {
  const { terminal, signal } = options;
  terminal.note(`\n${who(options, childSessionId)} asks: ${visibleText(question)}`);
  choices.forEach((choice, at) => {
    terminal.note(`  ${at + 1}  ${visible(choice)}`);
  });
  const answer = await terminal.ask(choices.length > 0 ? "A number, or your own answer: " : "> ", { signal });
  if (answer === undefined) return { answer: "The user gave no answer.", wasFreeform: true };
  const chosen = choices[Number(answer.trim()) - 1];
  return chosen === undefined ? { answer, wasFreeform: true } : { answer: chosen, wasFreeform: false };
}

async function askForm({ terminal, signal }: AskingOptions, form: ElicitationContext): Promise<ElicitationResult> {
  const { message, requestedSchema, elicitationSource, url } = form;
  const from = visible(elicitationSource ?? "The agent");
  terminal.note(`\n${from} asks: ${visibleText(message)}${url ? ` (${visible(url)})` : ""}`);
  const content: NonNullable<ElicitationResult["content"]> = {};
  for (const [name, field] of Object.entries(requestedSchema?.properties ?? {})) {
    const choices = Array.isArray(field.enum) ? ` (${field.enum.join(" | ")})` : "";
    const answer = await terminal.ask(`  ${visible(`${String(field.title ?? name)}${choices}`)}: `, { signal });
    if (answer === undefined) return { action: "cancel" };
    if (answer !== "") content[name] = valueFor(field, answer);
  }
  const missing = (requestedSchema?.required ?? []).some((name) => content[name] === undefined);
  return missing ? { action: "decline" } : { action: "accept", content };
}

function valueFor({ type }: Record<string, unknown>, answer: string): string | number | boolean | string[] {
  if (type === "boolean") return isYes(answer) || answer.trim() === "true";
  if (type === "number" || type === "integer") return Number(answer);
  return type === "array" ? answer.split(",").map((part) => part.trim()) : answer;
}

function who({ agentPath }: AskingOptions, childSessionId: string | undefined): string {
  const path = childSessionId === undefined ? undefined : agentPath(childSessionId);
  return path === undefined ? "The agent" : `The sub-agent ${visible(path)}`;
}

const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());
const isNo = (answer: string): boolean => /^no?$/i.test(answer.trim());
