/** Fetches a page and gives its text in parts. Which addresses may be reached is in ../web/web-fetch-guard.ts. */
import { lazy, messageOf, type PermissionRequest } from "@retinue/protocol";
import * as z from "zod";
import { refuseTooLong } from "../longest.ts";
import { type CallContext, CallRefused, defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import { pageText } from "../web/html-text.ts";
import description from "./web-fetch.md";

const DEFAULT_LENGTH = 20_000;
const MAX_LENGTH = 100_000;
const TEXT_TYPES = /^(text\/|application\/([\w.+-]*[+])?(json|xml|javascript|ecmascript|x-ndjson|yaml|x-yaml)\b|$)/i;

const input = lazy(() =>
  z.object({
    url: z.string().describe("The address."),
    max_length: z.int().min(1).max(MAX_LENGTH).optional().describe("How many characters to give at most."),
    start_index: z.int().min(0).optional().describe("Where to begin in the text."),
    raw: z.boolean().optional().describe("The page as it was sent."),
  }),
);
type Input = z.output<ReturnType<typeof input>>;

export const webFetchTool = (): Tool =>
  defineTool({
    name: "web_fetch",
    title: "Fetch a web page",
    description,
    input,
    readOnly: true,
    prepare(args, context) {
      refuseTooLong("url", args.url);
      if (!isWebAddress(args.url))
        throw new CallRefused(failure(`${args.url} is not an http or https address.`, { error: "Invalid URL" }));
      const { href: url, username, password } = new URL(args.url);
      if (username + password !== "")
        throw new CallRefused(failure(`${args.url} has a user name in it. Leave it out.`, { error: "Invalid URL" }));
      const request = (to: string) =>
        ({ kind: "url", toolCallId: context.callId, intention: "Fetch a web page", url: to }) as const;
      return {
        permission: request(url),
        run: () => fetchText({ ...args, url }, context, (to) => mayFollow(request(url), request(to), context)),
      };
    },
  });

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** A redirect needs what the first address needed: a rule that allows it, or, where a person said yes, no rule against it. */
function mayFollow(first: PermissionRequest, next: PermissionRequest, { rules }: CallContext): boolean {
  const verdict = rules.judge(next);
  return verdict === "allow" || (verdict === "ask" && rules.judge(first) === "ask");
}

async function fetchText(
  args: Input,
  { services, signal }: CallContext,
  follows: (url: string) => boolean,
): Promise<Outcome> {
  if (!services.fetchPage) return failure("Web pages cannot be fetched in this session.");
  let page: Awaited<ReturnType<typeof services.fetchPage>>;
  try {
    page = await services.fetchPage(args.url, { signal, mayFollow: follows });
  } catch (error) {
    return failure(error instanceof Error ? `${error.name}: ${error.message}` : messageOf(error));
  }
  if (page.status >= 300 && page.status < 400)
    return success(`The page redirects to ${page.url}. Fetch that address to follow it.`);
  if (!TEXT_TYPES.test(page.contentType))
    return failure(`${page.url} is ${page.contentType}, which has no text to show.`);
  const text = args.raw || !/html/i.test(page.contentType) ? page.body : await pageText(page.body, page.url);
  if (page.status >= 400)
    return failure(`The server answered with status ${page.status}.\n\n${part(text, args)}`, {
      error: `HTTP ${page.status}`,
    });
  return success(part(text, args));
}

function part(text: string, { start_index: start = 0, max_length: length = DEFAULT_LENGTH }: Input): string {
  if (text === "") return "The page has no text.";
  if (start >= text.length) return `There is nothing at ${start}: the text has ${text.length} characters.`;
  const end = start + length;
  const more = text.length > end ? `\n\n[${text.length - end} more characters; go on with start_index ${end}]` : "";
  return text.slice(start, end) + more;
}
