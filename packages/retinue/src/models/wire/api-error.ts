/** Error answers of model endpoints, in the shapes that providers use, as ModelErrors. */
import { type IncomingHttpHeaders, STATUS_CODES } from "node:http";
import * as z from "zod";
import { ModelError } from "../provider.ts";

const optionalText = z.string().nullish().catch(undefined);
const ErrorObject = z.looseObject({
  message: optionalText,
  type: optionalText,
  code: z.union([z.string(), z.number()]).nullish().catch(undefined),
  status: z.union([z.string(), z.number()]).nullish().catch(undefined),
});
const Words = z.looseObject({ message: optionalText, msg: optionalText });
const fromWords = ({ message, msg }: z.infer<typeof Words>): ErrorObject => ({ message: message ?? msg });
const ErrorBody = z.union([
  z.looseObject({ error: ErrorObject }).transform(({ error }) => error),
  z.looseObject({ error: z.string() }).transform((body): ErrorObject => ({ message: body.error })),
  z.looseObject({ detail: z.string() }).transform((body): ErrorObject => ({ message: body.detail })),
  z.looseObject({ detail: z.tuple([Words], z.unknown()) }).transform(({ detail: [first] }) => fromWords(first)),
  z.looseObject({ errors: z.tuple([Words], z.unknown()) }).transform(({ errors: [first] }) => fromWords(first)),
  ErrorObject.refine(({ message }) => message),
  z
    .looseObject({ error_description: z.string() })
    .transform((body): ErrorObject => ({ message: body.error_description })),
  Words.refine(({ msg }) => msg).transform(fromWords),
]);
type ErrorObject = z.infer<typeof ErrorObject>;

/** Used when an error arrives inside a stream, where there is no HTTP status. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  context_length_exceeded: 400,
  api_error: 500,
  server_error: 500,
  overloaded_error: 529,
};

export function apiError(answer: { status: number; headers: IncomingHttpHeaders; body: string }): ModelError {
  const { status, headers, body } = answer;
  const value = parseJson(body);
  const error = errorObjectOf(value);
  const isElsewhere = status < 500 && isPage(headers["content-type"], body) && !CAN_BE_A_PAGE.has(status);
  const words = error ? plainWords(error.message) : value === undefined ? pageWords(body, status) : undefined;
  const said = isElsewhere ? WEB_PAGE : words;
  const message = isElsewhere ? elsewhereWords(WEB_PAGE) : said || STATUS_CODES[status] || "no message";
  return build(error, { status, message, said: said || undefined, isElsewhere, retryAfterMs: retryAfter(headers) });
}

/** A refused key, too much and too often are said by whatever stands before the endpoint, in a page of its own. */
const CAN_BE_A_PAGE: ReadonlySet<number> = new Set([401, 403, 407, 408, 413, 429]);

const WEB_PAGE = "answered with a web page";
const elsewhereWords = (did: string) => `the address ${did}; is it the right URL?`;

function isPage(contentType: string | undefined, body: string): boolean {
  return contentType?.includes("html") || /^\s*<(!doctype html|html)\b/i.test(body.slice(0, 500));
}

/** A proper answer of something that is no model endpoint. */
export function elsewhere(contentType: string | undefined, body: string): ModelError {
  const did = isPage(contentType, body) ? WEB_PAGE : "answered with something that no model sends";
  const detail = JSON.stringify({ message: did, body: body.slice(0, 200) });
  return new ModelError(elsewhereWords(did), { kind: "protocol", said: did, isElsewhere: true, detail });
}

/** The error that a stream or a JSON answer holds instead of content, if it does. */
export function errorWithin(value: unknown): ModelError | undefined {
  const parsed = ErrorBody.safeParse(value);
  if (!parsed.success) return undefined;
  const error = parsed.data;
  const said = plainWords(error.message) ?? error.type ?? undefined;
  return build(error, { status: statusOf(error), message: said || "the provider reported an error", said });
}

interface Built {
  status?: number;
  message: string;
  said?: string;
  isElsewhere?: boolean;
  retryAfterMs?: number;
}

function build(error: ErrorObject | undefined, { status, message, ...more }: Built): ModelError {
  return new ModelError(status ? `${status} ${message}` : message, {
    kind: "api",
    status,
    ...more,
    providerCode: error?.code === undefined || error.code === null ? undefined : String(error.code),
    providerType: error?.type ?? undefined,
    detail: JSON.stringify(error ?? { message }),
  });
}

function statusOf({ code, type, status }: ErrorObject): number | undefined {
  const number = [status, code].find((value) => Number(value) >= 400 && Number(value) < 600);
  return number ? Number(number) : (STATUS_OF_TYPE[type ?? ""] ?? STATUS_OF_TYPE[String(code)]);
}

function errorObjectOf(body: unknown): ErrorObject | undefined {
  const parsed = ErrorBody.safeParse(Array.isArray(body) ? body[0] : body);
  return parsed.success ? parsed.data : undefined;
}

/** Gateways wrap the answer of the endpoint behind them: the message is then the text of another error. */
function plainWords(message: string | null | undefined, depth = 0): string | undefined {
  const text = message?.trim();
  if (!text) return undefined;
  const start = text.search(/[{[]/);
  const value = start < 0 || depth > 2 ? undefined : parseJson(text.slice(start));
  if (typeof value !== "object") return text;
  const within = plainWords(errorObjectOf(value)?.message, depth + 1);
  return [text.slice(0, start).trim(), within].filter(Boolean).join(" ") || undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Proxies answer with HTML or plain text; its first line is then the message.
  }
}

/** The title of a page, or the first line of a text, without the status that it repeats. */
function pageWords(body: string, status: number): string {
  const page = body.slice(0, MAX_PAGE_CHARACTERS);
  const [line = ""] = titleOf(page) ?? withoutTags(page).trim().split("\n");
  const words = line.slice(0, 1000).replaceAll(/\s+/g, " ").trim().slice(0, 300);
  return words.startsWith(`${status} `) ? words.slice(String(status).length + 1) : words;
}

function titleOf(page: string): [string] | undefined {
  const start = page.indexOf("<title>");
  const end = start < 0 ? -1 : page.indexOf("</title>", start);
  return end < 0 ? undefined : [page.slice(start + "<title>".length, end)];
}

/** Each character is looked at a few times at most, whatever the page opens and never closes. */
function withoutTags(page: string): string {
  const parts: string[] = [];
  const unclosed = new Set<string>();
  let at = 0;
  for (let open = page.indexOf("<"); open >= 0; open = page.indexOf("<", at)) {
    const name = ["style", "script"].find((each) => page.startsWith(each, open + 1));
    const end = name === undefined || unclosed.has(name) ? -1 : page.indexOf(`</${name}>`, open);
    if (name !== undefined && end < 0) unclosed.add(name);
    const close = end < 0 ? page.indexOf(">", open) : end + `</${name}`.length;
    if (close < 0) break;
    parts.push(page.slice(at, open), " ");
    at = close + 1;
  }
  return [...parts, page.slice(at)].join("");
}

/** The first line of a page that explains itself is not further in. */
const MAX_PAGE_CHARACTERS = 64 * 1024;

/** `Retry-After` is seconds or a date; some providers send milliseconds in a header of their own. */
function retryAfter(headers: IncomingHttpHeaders): number | undefined {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (exact >= 0) return exact;
  const text = headers["retry-after"];
  if (!text) return undefined;
  const seconds = Number(text);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : undefined;
}
