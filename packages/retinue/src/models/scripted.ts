/**
 * A model that follows a script, turn by turn. Published, so that users can test their agents the way we test ours.
 *
 * Each request takes the next turn of the script. A request that the script does not expect fails, and so does
 * `assertSpent()` when a turn was never asked for.
 */
import { type ModelRequest, NO_USAGE, type Part, type Provider, type StreamOptions } from "./provider.ts";

/** A part to yield, an error to throw, or a promise to wait for before going on. */
export type Step = Part | ScriptedCall | Error | Promise<unknown>;
export type ScriptedCall = { type: "call"; id?: string; name: string; arguments: string };
export type Turn = readonly Step[] | Error | TurnOf | WhenTurn;
export type TurnOf = (request: ModelRequest) => readonly Step[] | Promise<readonly Step[]>;

interface WhenTurn {
  matches(request: ModelRequest): boolean;
  turn: Turn;
}

export interface ScriptedProvider extends Provider {
  /** What was asked, in order. */
  readonly requests: readonly ModelRequest[];
  assertSpent(): void;
}

export const say = (text: string): Part => ({ type: "text", delta: text });
export const think = (text: string): Part => ({ type: "reasoning", delta: text });

/** Without an id the script numbers its calls: `call_1`, `call_2` … */
export function call(name: string, args: unknown = {}, id?: string): ScriptedCall {
  return { type: "call", id, name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
}

/** A turn for the first request whose system prompt or user messages hold `text`; for sub-agents that run at the same time. */
export function when(text: string | ((request: ModelRequest) => boolean), turn: Turn): Turn {
  const matches = typeof text === "function" ? text : (request: ModelRequest) => promptsOf(request).includes(text);
  return { matches, turn };
}

export function scripted(turns: readonly Turn[]): ScriptedProvider {
  const left = [...turns];
  const requests: ModelRequest[] = [];
  const unexpected: string[] = [];
  let calls = 0;

  async function* stream(request: ModelRequest, { signal, onSent }: StreamOptions): AsyncGenerator<Part> {
    signal.throwIfAborted();
    requests.push({ ...request, messages: [...request.messages] }); // A copy, because the conversation keeps growing.
    const turn = take(request);
    if (!(turn instanceof Error)) onSent?.(); // An error instead of steps is a connection that never was.
    const steps = await stepsOf(turn, request);
    let called = false;
    for (const step of steps) {
      if (step instanceof Error) throw step;
      if (step instanceof Promise) {
        await untilAborted(step, signal);
        continue;
      }
      if (step.type === "end") return yield step;
      called ||= step.type === "call";
      yield step.type === "call" ? { ...step, id: step.id ?? `call_${++calls}` } : step;
      signal.throwIfAborted();
    }
    yield { type: "end", reason: called ? "calls" : "stop", usage: NO_USAGE };
  }

  function take(request: ModelRequest): Turn {
    const at = left.findIndex((turn) => !("matches" in turn) || turn.matches(request));
    const [turn] = at < 0 ? [] : left.splice(at, 1);
    if (turn) return turn;
    const problem = `scripted model: unexpected request ${requests.length}: ${lastWords(request)}`;
    unexpected.push(problem);
    throw new Error(problem);
  }

  function assertSpent(): void {
    const [problem] = unexpected;
    if (problem) throw new Error(problem);
    if (left.length > 0) throw new Error(`scripted model: ${left.length} turns were never asked for`);
  }

  return { id: "scripted", apiEndpoint: "offline", requests, stream, assertSpent };
}

async function stepsOf(turn: Turn, request: ModelRequest): Promise<readonly Step[]> {
  if (turn instanceof Error) throw turn;
  if (typeof turn === "function") return await turn(request);
  return "matches" in turn ? await stepsOf(turn.turn, request) : turn;
}

async function untilAborted(gate: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([gate, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Calls are left out: a parent's request repeats the prompts that it gave to its sub-agents. */
function promptsOf(request: ModelRequest): string {
  const prompts = request.messages.flatMap((message) => (message.role === "user" ? [message.content] : []));
  const texts = prompts.flatMap((content) =>
    typeof content === "string" ? [content] : content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
  return [request.system, ...texts].join("\n");
}

function lastWords(request: ModelRequest): string {
  return JSON.stringify(request.messages.at(-1) ?? null).slice(0, 300);
}
