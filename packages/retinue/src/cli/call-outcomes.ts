/**
 * The calls of a run, of whichever agent: which of them work now and what they print, and what became of one that has ended.
 *
 * Owns what a person must see of a call. Where its lines are shown is decided in progress.ts.
 */
import { type PermissionResult, visible } from "@retinue/protocol";
import type { SessionEvent } from "@retinue/sdk";
import { ruleText } from "../permissions/policy.ts";
import { outputOf } from "../tools/shell/shell-report.ts";
import { callWords, oneLine } from "./call-words.ts";
import { seconds } from "./seconds.ts";

const MAX_REASON = 300;
/** How the tool for leaving plan mode begins its answer then. */
const NOT_APPROVED = "The plan was not approved";
const NOBODY_ANSWERED = "denied-no-approval-rule-and-could-not-request-from-user";

export interface OpenCall {
  agentId: string | undefined;
  name: string;
  words: string;
  /** When it began to work: the time in which somebody was asked is not its own. */
  startedAt: number;
  /** What it has printed so far, or says about its progress. */
  live: string;
  /** Somebody is being asked about it. */
  isWaiting: boolean;
  wasAsked: boolean;
  /** Why it was not allowed. */
  refusal?: PermissionResult;
}

export interface CallOutcome {
  agentId: string | undefined;
  sign: "✓" | "✗" | "⊘";
  /** Which call it was, and of which agent. */
  words: string;
  /** What became of it. */
  facts: string;
  /** Of a command that failed. */
  output?: string;
  /** Of a file that was changed without anybody having been asked. */
  diff?: string;
  /** It was not allowed, or changed something that nobody has seen: a person must know, whichever agent it was. */
  isImportant: boolean;
}

type Ended = Extract<SessionEvent, { type: "tool.execution_complete" }>;

export class CallOutcomes {
  readonly #agentPath: (id: string) => string | undefined;
  readonly #open = new Map<string, OpenCall>();
  /** Which call an open question belongs to. */
  readonly #asks = new Map<string, string>();

  /** Those whose end is an event of its own. */
  readonly #untold = new Set<string>();

  readonly #canAsk: boolean;

  /** `canAsk`: where nobody can be asked, a refusal is told when it is made, with the flag that would have allowed the call. */
  constructor({ agentPath, canAsk }: { agentPath(id: string): string | undefined; canAsk: boolean }) {
    this.#agentPath = agentPath;
    this.#canAsk = canAsk;
  }

  /** Those that work, oldest first. */
  get working(): readonly OpenCall[] {
    return [...this.#open.values()].filter(({ isWaiting }) => !isWaiting);
  }

  /** What became of a call, when the event is its end and there is something to say about it. */
  receive(event: SessionEvent): CallOutcome | undefined {
    const at = Date.parse(event.timestamp);
    switch (event.type) {
      case "tool.execution_start":
        if (event.agentId === undefined && event.data.toolName === "task_complete")
          this.#untold.add(event.data.toolCallId);
        else this.#start(event, at);
        return undefined;
      case "tool.execution_partial_result":
        this.#change(event.data.toolCallId, { live: event.data.partialOutput });
        return undefined;
      case "tool.execution_progress":
        this.#change(event.data.toolCallId, { live: event.data.progressMessage });
        return undefined;
      case "permission.requested":
        if (!event.data.resolvedByHook) this.#ask(event.data.requestId, toolCallOf(event.data.permissionRequest));
        return undefined;
      case "user_input.requested":
      case "elicitation.requested":
      case "sampling.requested":
        this.#ask(event.data.requestId, event.data.toolCallId);
        return undefined;
      case "user_input.completed":
      case "elicitation.completed":
      case "sampling.completed":
        this.#answered(event.data.requestId, at);
        return undefined;
      case "permission.completed":
        this.#answered(event.data.requestId, at);
        this.#change(event.data.toolCallId, { refusal: event.data.result });
        return undefined;
      case "tool.execution_complete":
        return this.#untold.delete(event.data.toolCallId) ? undefined : this.#end(event, at);
      default:
        return undefined;
    }
  }

  /** What had not ended when the run was over. */
  cut(at: number): CallOutcome[] {
    const left = [...this.#open.values()];
    this.#open.clear();
    return left.map(({ agentId, words, startedAt }) => ({
      agentId,
      sign: "⊘",
      words: `${this.#nameOf(agentId)}${words}`,
      facts: joined("stopped", seconds(at - startedAt)),
      isImportant: false,
    }));
  }

  #start({ agentId, data }: Extract<SessionEvent, { type: "tool.execution_start" }>, startedAt: number): void {
    const words = callWords(data.toolName, data.arguments, this.#agentPath);
    this.#open.set(data.toolCallId, {
      agentId,
      name: data.toolName,
      words,
      startedAt,
      live: "",
      isWaiting: false,
      wasAsked: false,
    });
  }

  #ask(requestId: string, callId: string | undefined): void {
    if (callId === undefined) return;
    this.#asks.set(requestId, callId);
    this.#change(callId, { isWaiting: true, wasAsked: true });
  }

  #answered(requestId: string, at: number): void {
    const callId = this.#asks.get(requestId);
    if (!this.#asks.delete(requestId)) return;
    this.#change(callId, { isWaiting: false, startedAt: at });
  }

  #change(callId: string | undefined, parts: Partial<OpenCall>): void {
    const call = callId === undefined ? undefined : this.#open.get(callId);
    if (call && callId !== undefined) this.#open.set(callId, { ...call, ...parts });
  }

  #end({ agentId, data }: Ended, at: number): CallOutcome | undefined {
    const call = this.#open.get(data.toolCallId);
    this.#open.delete(data.toolCallId);
    if (call?.refusal?.kind === NOBODY_ANSWERED && !this.#canAsk) return undefined;
    const time = call ? seconds(at - call.startedAt) : undefined;
    const words = `${this.#nameOf(agentId)}${call?.words ?? EARLIER}`;
    const end = { call, data, time };
    return { agentId, words, ...(data.success ? succeeded(end) : failed(end)) };
  }

  #nameOf(agentId: string | undefined): string {
    return agentId === undefined ? "" : `${visible(this.#agentPath(agentId) ?? "sub-agent")}: `;
  }
}

interface End {
  call: OpenCall | undefined;
  data: Ended["data"];
  time: string | undefined;
}

function succeeded({ call, data, time }: End): Omit<CallOutcome, "agentId" | "words"> {
  const { result, shellExecution: { exitCode = 0 } = {} } = data;
  if (exitCode !== 0) {
    const facts = joined(`exit code ${exitCode}`, time);
    // Of an output that is too long for the model it reads something else; the screen has its end.
    const output = isCut(result?.contents ?? []) ? (call?.live ?? "") : outputOf(result?.content ?? "");
    return { sign: "✗", facts, output, isImportant: false };
  }
  const said = result?.content ?? "";
  // For the model that is an answer; for a person a plan that nobody has approved must not look like one that is carried out.
  if (call?.name === "exit_plan_mode" && said.startsWith(NOT_APPROVED))
    return { sign: "✗", facts: joined(time, oneLine(said, MAX_REASON)), isImportant: true };
  const isLeftRunning = call?.name === "bash" && data.shellExecution === undefined;
  const facts = joined(isLeftRunning ? "in the background" : undefined, time);
  const detail = result?.detailedContent ?? "";
  const isUnseen = call !== undefined && WRITERS.has(call.name) && !call.wasAsked && detail.startsWith("diff --git");
  return { sign: "✓", facts, isImportant: isUnseen, ...(isUnseen ? { diff: detail } : {}) };
}

function isCut(contents: readonly unknown[]): boolean {
  return contents.some((part) => typeof part === "object" && part !== null && "outputTruncated" in part);
}

function failed({ call, data, time }: End): Omit<CallOutcome, "agentId" | "words"> {
  const { message = "failed", code } = data.error ?? {};
  if (code === "interrupted" || message === "interrupted")
    return { sign: "⊘", facts: joined("stopped", time), isImportant: false };
  const refusal = call?.refusal && refusalWords(call.refusal);
  if (refusal !== undefined) return { sign: "✗", facts: refusal, isImportant: true };
  const isDenied = code === "denied" || code === "rejected";
  const isLong = message.trim().includes("\n");
  return {
    sign: "✗",
    facts: isLong ? joined("failed", time) : joined(time, oneLine(message, MAX_REASON)),
    ...(isLong ? { output: message } : {}),
    isImportant: isDenied,
  };
}

/** By whom a call was not allowed; undefined when it was. */
function refusalWords(result: PermissionResult): string | undefined {
  const why = (text: string | undefined) => (text ? `: ${oneLine(text, MAX_REASON)}` : "");
  switch (result.kind) {
    case "denied-by-rules":
      return `denied by the rule ${visible(result.rules.map(ruleText).join(", "))}`;
    case NOBODY_ANSWERED:
      return "nobody answered";
    case "denied-interactively-by-user":
      return "you said no";
    case "denied-by-permission-request-hook":
      return `denied by a hook${why(result.message)}`;
    case "denied-by-content-exclusion-policy":
      return `denied by a policy${why(result.message)}`;
    case "cancelled":
      return `not asked any more${why(result.reason)}`;
    default:
      return undefined;
  }
}

function toolCallOf(request: object): string | undefined {
  return "toolCallId" in request && typeof request.toolCallId === "string" ? request.toolCallId : undefined;
}

const joined = (...facts: (string | undefined)[]): string => facts.filter((fact) => fact !== undefined).join(" · ");

/** A resumed session ends calls whose start was told by another process. */
const EARLIER = "a call of an earlier process";

/** The tools whose result is shown as a diff. */
const WRITERS: ReadonlySet<string> = new Set(["create", "edit"]);
