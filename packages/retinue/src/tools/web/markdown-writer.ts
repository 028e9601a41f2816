/**
 * Writes the elements of a page as text in the manner of Markdown: headings, links, lists, code and tables.
 *
 * One pass, linear in the size of the page. Not a browser: no styles, no scripts.
 */
import { type HtmlHandler, WORDLESS } from "./html-events.ts";

type Attributes = Readonly<Record<string, string>>;

const BLOCKS = new Set(
  "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure footer form header main nav ol p section summary table tbody tfoot thead tr ul".split(
    " ",
  ),
);
/** Parts of a table that are written on lines of their own, with no empty line between them. */
const ROWS = new Set(["tr", "thead", "tbody", "tfoot"]);
const MAX_INDENT = 10;

export class MarkdownWriter implements HtmlHandler {
  readonly #baseUrl: string;
  readonly #parts: string[] = [];
  #title = "";
  #isInTitle = false;
  #wordless = 0;
  #pendingBreaks = 0;
  #hasPendingSpace = false;
  #isCellStart = false;
  #preDepth = 0;
  readonly #lists: { next: number | undefined }[] = [];
  #link: { url: string; firstPart: number } | undefined;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  open(name: string, attributes: Attributes): void {
    if (WORDLESS.has(name)) this.#wordless++;
    if (this.#wordless > 0) return;
    if (name === "title") this.#isInTitle = true;
    else if (/^h[1-6]$/.test(name)) this.#openHeading(Number(name[1]));
    else if (name === "br") this.#lineBreak();
    else if (name === "hr") this.#rule();
    else if (name === "a") this.#openLink(attributes.href ?? "");
    else if (name === "img") this.#image(attributes.alt ?? "");
    else if (name === "pre") this.#openPre();
    else if (name === "code" && this.#preDepth === 0) this.#write("`");
    else if (name === "li") this.#openItem();
    else if (name === "td" || name === "th") this.#isCellStart = true;
    else if (BLOCKS.has(name)) this.#openBlock(name, attributes);
  }

  text(text: string): void {
    if (this.#wordless > 0) return;
    if (this.#isInTitle) this.#title += text;
    else if (this.#preDepth > 0) this.#write(text);
    else this.#words(text);
  }

  close(name: string): void {
    if (WORDLESS.has(name)) this.#wordless--;
    if (this.#wordless > 0) return;
    if (name === "title") this.#isInTitle = false;
    else if (/^h[1-6]$/.test(name)) this.#break(2);
    else if (name === "a") this.#closeLink();
    else if (name === "pre") this.#closePre();
    else if (name === "code" && this.#preDepth === 0) this.#parts.push("`");
    else if (name === "li") this.#break(1);
    else if (name === "td" || name === "th") this.#closeCell();
    else if (BLOCKS.has(name)) this.#closeBlock(name);
  }

  /** Characters written so far, without the title. */
  get length(): number {
    return this.#parts.reduce((sum, part) => sum + part.length, 0);
  }

  result(): string {
    const title = this.#title.trim().replace(/\s+/g, " ");
    const text = this.#parts.join("").trim();
    const isRepeated = text.startsWith(`# ${title}\n`);
    return [isRepeated ? "" : title && `# ${title}`, text].filter((part) => part !== "").join("\n\n");
  }

  /** White space at both ends counts as one space, unless a break comes there. */
  #words(text: string): void {
    if (/^\s/.test(text)) this.#hasPendingSpace = true;
    const words = text.trim().replace(/\s+/g, " ");
    if (words === "") return;
    this.#write(words);
    if (/\s/.test(text.at(-1) ?? "")) this.#hasPendingSpace = true;
  }

  #write(text: string): void {
    if (this.#pendingBreaks > 0) this.#parts.push("\n".repeat(this.#pendingBreaks));
    else if (this.#hasPendingSpace && !/^$|\s/.test(this.#parts.at(-1)?.at(-1) ?? "")) this.#parts.push(" ");
    this.#pendingBreaks = 0;
    this.#hasPendingSpace = false;
    if (text === "") return;
    this.#isCellStart = false;
    this.#parts.push(text);
  }

  /** A block at the beginning of a cell stays in the line of its row. */
  #break(count: number): void {
    if (this.#isCellStart) return;
    this.#hasPendingSpace = false;
    this.#pendingBreaks = Math.max(this.#pendingBreaks, count);
  }

  #lineBreak(): void {
    if (this.#preDepth > 0) this.#write("\n");
    else this.#break(1);
  }

  #rule(): void {
    this.#break(2);
    this.#write("---");
    this.#break(2);
  }

  #openHeading(level: number): void {
    this.#break(2);
    this.#write(`${"#".repeat(level)} `);
  }

  #image(alt: string): void {
    if (alt !== "") this.text(` [image: ${alt}] `);
  }

  #openBlock(name: string, attributes: Attributes): void {
    if (name === "ul") this.#lists.push({ next: undefined });
    if (name === "ol") this.#lists.push({ next: Number(attributes.start) || 1 });
    this.#break(ROWS.has(name) || this.#lists.length > 1 ? 1 : 2);
    if (name === "tr") this.#write("| ");
  }

  #closeBlock(name: string): void {
    if (name === "ul" || name === "ol") this.#lists.pop();
    this.#break(ROWS.has(name) || this.#lists.length > 0 ? 1 : 2);
  }

  #openItem(): void {
    this.#break(1);
    const list = this.#lists.at(-1);
    const mark = list?.next === undefined ? "-" : `${list.next++}.`;
    this.#write(`${"  ".repeat(Math.min(MAX_INDENT, Math.max(0, this.#lists.length - 1)))}${mark} `);
  }

  #closeCell(): void {
    this.#isCellStart = false;
    this.#pendingBreaks = 0;
    this.#hasPendingSpace = false;
    this.#write(" |");
    this.#hasPendingSpace = true;
  }

  #openPre(): void {
    this.#break(2);
    this.#write("```");
    this.#break(1);
    this.#preDepth++;
  }

  #closePre(): void {
    this.#preDepth--;
    if (!this.#parts.at(-1)?.endsWith("\n")) this.#break(1);
    this.#write("```");
    this.#break(2);
  }

  #openLink(url: string): void {
    this.#write("");
    this.#link = { url, firstPart: this.#parts.length };
  }

  #closeLink(): void {
    if (!this.#link) return;
    const url = this.#absolute(this.#link.url);
    const label = this.#parts.splice(this.#link.firstPart).join("").trim();
    this.#link = undefined;
    if (label !== "") this.#parts.push(url === undefined ? label : `[${label}](${url})`);
  }

  #absolute(url: string): string | undefined {
    if (url === "" || url.startsWith("#") || /^(javascript|data):/i.test(url)) return undefined;
    return URL.canParse(url, this.#baseUrl) ? new URL(url, this.#baseUrl).href : undefined;
  }
}
