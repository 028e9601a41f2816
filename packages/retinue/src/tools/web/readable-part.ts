/**
 * The article of a page that does not mark it, found by Mozilla's Readability as in the reader view of a browser.
 *
 * Readability was made for ordinary pages: its work grows with the depth of a page and the length of its attributes. So it gets a
 * plain copy of the page, and is not used when the page is too large.
 */
import * as z from "zod";
import { type HtmlHandler, readHtml, WORDLESS } from "./html-events.ts";
import { isChrome } from "./main-part.ts";

const MAX_PAGE = 4_000_000;
/** Characters of the plain copy. */
const MAX_LENGTH = 1_000_000;
const MAX_ELEMENTS = 10_000;
/** Characters that are written as entities: the parser of the copy makes a node of each. */
const MAX_ENTITIES = 10_000;
/** The depths of all elements together. */
const MAX_DEPTHS = 200_000;
const MAX_TITLE = 500;
const MAX_ATTRIBUTE = 1000;

const Article = z.object({ title: z.string().nullish(), content: z.string(), length: z.number() });

export interface ReadablePart {
  title: string;
  html: string;
  /** Characters of its text. */
  length: number;
}

/** Undefined when the page is not an article, or would take too much work. */
export async function readablePart(html: string): Promise<ReadablePart | undefined> {
  const copy = html.length <= MAX_PAGE ? await plainCopy(html) : undefined;
  if (copy === undefined) return undefined;
  const article = await extract(copy);
  // Code always belongs to the content: when some of it is missing, the wrong part was found.
  const isWhole = article && countPre(article.content) >= countPre(copy);
  return isWhole ? { title: article.title ?? "", html: article.content, length: article.length } : undefined;
}

const countPre = (html: string) => html.match(/<pre\b/g)?.length ?? 0;

async function extract(html: string): Promise<z.output<typeof Article> | undefined> {
  const [{ parseHTML }, { isProbablyReaderable, Readability }] = await Promise.all([
    import("linkedom"),
    import("@mozilla/readability"),
  ]);
  try {
    const { document } = parseHTML(html);
    if (!isProbablyReaderable(document)) return undefined;
    return Article.safeParse(new Readability(document, { disableJSONLD: true }).parse()).data;
  } catch {
    return undefined; // The libraries failed on this markup. The caller shows the whole page instead.
  }
}

async function plainCopy(html: string): Promise<string | undefined> {
  const page = new PlainPage();
  const { wasCut } = await readHtml(html, page);
  return wasCut ? undefined : page.result();
}

/** What Readability looks at, and what we show. */
const ATTRIBUTES = new Set(
  "class id href src alt style hidden role rel itemprop aria-hidden aria-modal start summary datatable".split(" "),
);
/** Written by us, once each. */
const FRAME = new Set(["html", "head", "title", "body"]);
const NAME = /^[a-z][a-z0-9-]*$/;
const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));

/** Writes the page again: well-formed, with short attributes, without scripts and what is marked as navigation. */
class PlainPage implements HtmlHandler {
  readonly #parts: string[] = [];
  #title = "";
  #isInTitle = false;
  /** Elements that are open in something that is left out, itself included. */
  #leftOut = 0;
  #depth = 0;
  #depths = 0;
  #elements = 0;
  #entities = 0;
  #length = 0;

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.#leftOut > 0 || WORDLESS.has(name) || isChrome(name, attributes)) this.#leftOut++;
    else if (name === "title") this.#isInTitle = true;
    else if (!FRAME.has(name) && NAME.test(name)) this.#openElement(name, attributes);
  }

  text(text: string): void {
    if (this.#leftOut > 0) return;
    if (!this.#isInTitle) this.#writeText(text);
    else if (this.#title.length < MAX_TITLE) this.#title += text.slice(0, MAX_TITLE);
  }

  close(name: string): void {
    if (this.#leftOut > 0) this.#leftOut--;
    else if (name === "title") this.#isInTitle = false;
    else if (!FRAME.has(name) && NAME.test(name)) this.#closeElement(name);
  }

  result(): string | undefined {
    if (this.#isTooLarge) return undefined;
    const head = `<head><title>${escaped(this.#title)}</title></head>`;
    return `<!doctype html><html>${head}<body>${this.#parts.join("")}</body></html>`;
  }

  get #isTooLarge(): boolean {
    return (
      this.#length > MAX_LENGTH ||
      this.#elements > MAX_ELEMENTS ||
      this.#depths > MAX_DEPTHS ||
      this.#entities > MAX_ENTITIES
    );
  }

  #writeText(text: string): void {
    const plain = text.replace(/[&<]/g, (char) => {
      this.#entities++;
      return char === "&" ? "&amp;" : "&lt;";
    });
    this.#write(plain);
  }

  #openElement(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#elements++;
    this.#depths += ++this.#depth;
    if (this.#isTooLarge) return;
    const kept = Object.entries(attributes).filter(
      ([key, value]) => ATTRIBUTES.has(key) && value.length <= MAX_ATTRIBUTE,
    );
    this.#write(`<${name}${kept.map(([key, value]) => ` ${key}="${escaped(value)}"`).join("")}>`);
  }

  #closeElement(name: string): void {
    this.#depth--;
    if (!VOID.has(name)) this.#write(`</${name}>`);
  }

  #write(text: string): void {
    if (this.#isTooLarge) return;
    this.#length += text.length;
    this.#parts.push(text);
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
