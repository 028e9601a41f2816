/**
 * A prompt whose answer is data: `session.ask(prompt, { schema })`.
 *
 * Owns how the form of the answer is asked for and checked. Endpoints that can be given a schema get it, and the model reads it as
 * well, since not every endpoint can. An answer that does not fit is sent back with what is wrong with it.
 */
import { AppError } from "@retinue/protocol";
import type { AssistantMessageEvent, MessageOptions, WaitLimits } from "./message.ts";

/** What a schema finds wrong with a value. */
export interface AnswerIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type Checked<Data> =
  | { readonly value: Data; readonly issues?: undefined }
  | { readonly issues: readonly AnswerIssue[] };

/** A zod schema, or any other that follows Standard Schema. One that can describe itself as JSON Schema is shown to the model. */
export interface AnswerSchema<Data = unknown> {
  readonly "~standard": {
    readonly validate: (value: unknown) => Checked<Data> | Promise<Checked<Data>>;
  };
  toJSONSchema?(options?: { io?: "input" | "output" }): object;
}

export interface AskOptions<Data> extends WaitLimits, Omit<MessageOptions, "prompt" | "responseFormat"> {
  /** What the answer must be. */
  schema: AnswerSchema<Data>;
  /** How often an answer that does not fit is sent back (default 2). The limits of time are for each try. */
  repairs?: number;
}

/** The model did not give an answer that fits, however often it was asked. */
export class AnswerError extends AppError {
  override readonly name: string = "AnswerError";
  /** Its last answer. */
  readonly text: string;
  /** Why that does not fit. */
  readonly issues: readonly AnswerIssue[];

  constructor(text: string, issues: readonly AnswerIssue[]) {
    super("answer_invalid", `The answer does not fit the schema: ${wordsOf(issues)}`, { data: { text } });
    this.text = text;
    this.issues = issues;
  }
}

type SendAndWait = (message: MessageOptions, limits: WaitLimits) => Promise<AssistantMessageEvent | undefined>;

const REPAIRS = 2;

export async function ask<Data>(sendAndWait: SendAndWait, prompt: string, options: AskOptions<Data>): Promise<Data> {
  const { schema, repairs = REPAIRS, timeoutMs, signal, ...message } = options;
  const form = schema.toJSONSchema?.({ io: "input" });
  let responseFormat = form && formatOf(form);
  let next: MessageOptions = {
    ...message,
    prompt: asking(prompt, form),
    displayPrompt: message.displayPrompt ?? prompt,
  };
  for (let left = repairs; ; left -= 1) {
    const send = () => sendAndWait({ ...next, responseFormat }, { timeoutMs, signal });
    const answer = await send().catch((error: unknown) => {
      if (!responseFormat || !isAboutFormat(error)) throw error;
      responseFormat = undefined; // The model has read the schema, and its answer is checked.
      return send();
    });
    const text = answer?.data.content ?? "";
    const checked = await check(text, schema);
    if (!checked.issues) return checked.value;
    if (left <= 0) throw new AnswerError(text, checked.issues);
    next = { prompt: sendingBack(checked.issues), source: message.source };
  }
}

/** Endpoints that cannot be given a schema refuse the whole request, each in its own words. */
function isAboutFormat(error: unknown): boolean {
  return (
    error instanceof AppError && error.code === "turn_failed" && /response.?format|json.?schema/i.test(error.message)
  );
}

function asking(prompt: string, form: object | undefined): string {
  const fits = form ? ` that fits this JSON Schema:\n\n${JSON.stringify(form)}` : ".";
  return `${prompt}\n\nGive your final answer as one JSON value and nothing else: no other text, no code fence. It must be JSON${fits}`;
}

function sendingBack(issues: readonly AnswerIssue[]): string {
  return `That answer cannot be used: ${wordsOf(issues)}. Give the whole answer again as one corrected JSON value and nothing else.`;
}

/** Endpoints take a schema only for an object. */
function formatOf(form: object): MessageOptions["responseFormat"] {
  const { $schema: _, ...schema } = form as Record<string, unknown>;
  if (schema.type !== "object") return undefined;
  return { type: "json_schema", jsonSchema: { name: "answer", schema, strict: false } };
}

async function check<Data>(text: string, schema: AnswerSchema<Data>): Promise<Checked<Data>> {
  const candidates = candidatesIn(text);
  let first: Checked<Data> | undefined;
  for (const value of candidates) {
    const checked = await schema["~standard"].validate(value);
    if (!checked.issues) return checked;
    first ??= checked;
  }
  return first ?? { issues: [{ message: text.trim() === "" ? "it is empty" : "it is not JSON" }] };
}

/** The answer as it is, else what is in its code fence, else what is between its outermost brackets. */
function candidatesIn(text: string): unknown[] {
  const fenced = /```\w*\s*\n([\s\S]*?)\n\s*```/.exec(text)?.[1];
  const start = text.search(/[[{]/);
  const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
  const inner = start >= 0 && end > start ? text.slice(start, end + 1) : undefined;
  return [text, fenced, inner].flatMap((part) => parsed(part));
}

function parsed(text: string | undefined): unknown[] {
  if (text === undefined) return [];
  try {
    return [JSON.parse(text)];
  } catch {
    return []; // Said to the model when nothing else can be read either.
  }
}

function wordsOf(issues: readonly AnswerIssue[]): string {
  return issues
    .slice(0, 10)
    .map(({ message, path }) => (path?.length ? `${path.map(step).join(".")}: ${message}` : message))
    .join("; ");
}

function step(at: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof at === "object" ? at.key : at);
}
