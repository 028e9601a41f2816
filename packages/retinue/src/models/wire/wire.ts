/** What the three wire formats share: reading an answer by its content type, JSON that may be broken, and call ids. */
import { randomUUID } from "node:crypto";
import type * as z from "zod";
import { ModelError } from "../provider.ts";
import { elsewhere, errorWithin } from "./api-error.ts";
import { type HttpAnswer, readText } from "./http.ts";
import { EventDecoder } from "./sse.ts";

export interface AnswerReader {
  /** An event of a stream. */
  event(value: unknown): void;
  /** The answer in one object. */
  whole(value: unknown): void;
  /** Nothing follows. Not every endpoint says so. */
  endMark?(): void;
}

/** The content type decides, not what was asked for: gateways answer a stream request with one object, and the reverse. */
export async function readAnswer(answer: HttpAnswer, reader: AnswerReader): Promise<void> {
  const contentType = answer.headers["content-type"];
  if (contentType?.includes("event-stream")) await readEvents(answer, reader);
  else readWhole(await readText(answer), { reader, contentType });
}

/** What is complete and still no answer of a model will be the same the next time. An empty one may have got lost. */
function readWhole(text: string, { reader, contentType }: { reader: AnswerReader; contentType?: string }): void {
  try {
    reader.whole(checked(text));
  } catch (error) {
    if (text.trim() === "" || !(error instanceof ModelError) || error.kind !== "protocol") throw error;
    throw elsewhere(contentType, text);
  }
}

/** `[DONE]` is the only event that is not JSON, and reading stops there. */
async function readEvents({ read }: HttpAnswer, reader: AnswerReader): Promise<void> {
  let isDone = false;
  const decoder = new EventDecoder((data) => {
    if (isDone || data === "") return;
    isDone = data.length < LONGEST_MARK && data.trim() === "[DONE]";
    if (isDone) reader.endMark?.();
    else reader.event(checked(data));
  });
  await read((chunk) => {
    decoder.push(chunk);
    return isDone;
  });
  if (!isDone) decoder.end();
}

const LONGEST_MARK = 32;
const UNREADABLE = "The model endpoint sent an answer that cannot be read";

function checked(text: string): unknown {
  const value = parsed(text);
  const error = isObject(value) && value.error ? errorWithin(value) : undefined;
  if (error) throw error;
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const detail = JSON.stringify({ message: UNREADABLE, text: text.slice(0, 200) });
    throw new ModelError(UNREADABLE, { kind: "protocol", cause, detail });
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** An answer that stopped before the format's end mark was cut off on its way, even where HTTP saw a proper end. */
export function cutOff(): ModelError {
  return new ModelError("The model endpoint ended the answer in the middle", { kind: "transport" });
}

export function unexpected(what: string): ModelError {
  return new ModelError(`${UNREADABLE}: ${what}`, { kind: "protocol" });
}

/** Parses a value of the wire; what does not fit is a fault of the endpoint. */
export function parseWire<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const detail = JSON.stringify({ message: UNREADABLE, value: JSON.stringify(value).slice(0, 200) });
  throw new ModelError(UNREADABLE, { kind: "protocol", cause: result.error, detail });
}

export const newCallId = (): string => `call_${randomUUID().replaceAll("-", "")}`;

export function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** A JSON object out of members that are JSON text already; `undefined` members are left out. */
export function jsonObject(members: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return `{${present.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

/** Models that think before they answer take an effort and refuse sampling settings. */
export function isReasoningModel(model: string): boolean {
  return /(^|\/)(o\d|gpt-5)/.test(model);
}
