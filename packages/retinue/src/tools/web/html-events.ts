/** Reads HTML as a run of elements that open and close, and the text between them. htmlparser2 does the reading. */
import { setImmediate as nextTurn } from "node:timers/promises";

export interface HtmlHandler {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  text(text: string): void;
  close(name: string): void;
}

/** Elements that have no words of the page, or none that a reader sees. */
export const WORDLESS: ReadonlySet<string> = new Set(
  "script style noscript template svg iframe object select textarea".split(" "),
);

/** A large page is read in parts, with a turn for others in between. */
const AT_ONCE = 64 * 1024;
/** Ordinary pages stay far below this. */
const MAX_DEPTH = 256;
/** The content of these is text whatever it looks like, and a new parser would not know that. So inside them the cut waits for the next tag. */
const RAW_TEXT = new Set(["script", "style", "title", "textarea", "xmp"]);
/** The parser keeps a list of these, and leaves self-closing ones on it. */
const FOREIGN = new Set(["svg", "math"]);
const MAX_FOREIGN = 1000;

/**
 * The parser goes through all open elements at every tag, which takes quadratic time on a page of unclosed tags. Where a page
 * gets too deep it is cut, and the rest is read as if another page began. The answer says whether it was cut.
 */
export async function readHtml(html: string, handler: HtmlHandler): Promise<{ wasCut: boolean }> {
  const { Parser } = await import("htmlparser2");
  let from = 0;
  let rested = 0;
  while (from < html.length) {
    const open: string[] = [];
    let foreign = 0;
    let isTooDeep = false;
    const parser = new Parser({
      onopentag(name, attributes) {
        open.push(name);
        handler.open(name, attributes);
        if (FOREIGN.has(name)) foreign++;
        isTooDeep = foreign > MAX_FOREIGN || open.length > MAX_DEPTH + (RAW_TEXT.has(name) ? 1 : 0);
        if (isTooDeep) parser.pause();
      },
      ontext: (text) => handler.text(text),
      onclosetag(name, isImplied) {
        if (FOREIGN.has(name) && !isImplied) foreign--;
        open.pop();
        handler.close(name);
      },
    });
    for (let at = from; at < html.length && !isTooDeep; at += AT_ONCE) {
      if (at - rested >= AT_ONCE) {
        await nextTurn();
        rested = at;
      }
      parser.write(html.slice(at, at + AT_ONCE));
    }
    if (!isTooDeep) {
      parser.end();
      break;
    }
    from += parser.endIndex + 1;
    for (const name of open.reverse()) handler.close(name);
  }
  return { wasCut: from > 0 };
}
