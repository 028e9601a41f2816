/** What a remote server answered instead of an answer, in words for the model and for a person. */
import { SdkHttpError, SseError } from "@modelcontextprotocol/client";
import { visible } from "@retinue/protocol";

const MAX_WORDS = 300;

/** With the status, which the library leaves out, and without the page that a browser would show. Any other error is as it was. */
export function httpWords(error: unknown): unknown {
  if (error instanceof SseError)
    return new Error(error.message.replace(/^SSE error: (TypeError: )?/, ""), { cause: error });
  if (!(error instanceof SdkHttpError)) return error;
  const said = saidBy(error);
  const about = said === "" ? error.statusText : said;
  const words = `the server answered with HTTP ${error.status}`;
  return new Error(about ? `${words}: ${visible(about).slice(0, MAX_WORDS)}` : words, { cause: error });
}

function saidBy({ data }: SdkHttpError): string {
  const text = data !== null && typeof data === "object" && "text" in data ? data.text : undefined;
  if (typeof text !== "string" || text.trimStart().startsWith("<")) return "";
  return text.trim();
}

/** The server does not know the session of the request, which it has therefore not looked at. The protocol wants 404; many say 400. */
export function isSessionUnknown(error: SdkHttpError): boolean {
  return error.status === 404 || (error.status === 400 && /\bsession\b|not initialized/i.test(saidBy(error)));
}

/** `fetch` says only that it failed; why is in the cause. Still a TypeError: the server could not be reached. */
export function reachable(error: unknown): unknown {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return error;
  const why = error.cause.message || ("code" in error.cause ? String(error.cause.code) : error.cause.name);
  return new TypeError(`the server cannot be reached (${why})`);
}
