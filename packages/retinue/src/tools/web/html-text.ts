/**
 * HTML as text that a model reads well: headings, links, lists, code and tables in the manner of Markdown.
 *
 * One pass over tags and text, linear in the size of the page. Not a browser: no styles, no scripts, and markup that is broken
 * is read as far as it goes.
 */
import { decodeEntities } from "./html-entities.ts";

const SKIPPED = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "head",
  "title",
  "object",
  "select",
  "textarea",
]);
const BLOCKS = new Set(
  "address article aside blockquote body dd div dl dt fieldset figcaption figure footer form header hr main nav ol p section table tbody thead tr ul".split(
    " ",
  ),
);

export function htmlToText(html: string, baseUrl: string): string {
  const title = /<title[^>]{0,200}>([^<]*)/i.exec(html)?.[1];
  const writer = new Writer(baseUrl);
  if (title?.trim()) writer.title(decodeEntities(title.trim()));
  for (const token of tokens(html)) {
    if (token.type === "text") writer.text(decodeEntities(token.text));
    else writer.tag(token);
  }
  return writer.result();
}

const MAX_INDENT = 10;

interface Tag {
  type: "tag";
  name: string;
  isEnd: boolean;
  attributes: string;
}
type Token = { type: "text"; text: string } | Tag;

const TAG_NAME = /(\/?)([a-zA-Z][\w:-]*|![a-zA-Z]+|\?\w+)/y;

function* tokens(html: string): Generator<Token> {
  const endless = new Set<string>();
  let at = 0;
  for (let open = html.indexOf("<"); open >= 0; open = html.indexOf("<", Math.max(at, open + 1))) {
    if (open < at) continue;
    const isComment = html.startsWith("<!--", open);
    const name = isComment ? null : nameAt(html, open + 1);
    // A `<` that begins nothing is text; it goes out with what follows.
    if (!isComment && !name) continue;
    if (open > at) yield { type: "text", text: html.slice(at, open) };
    if (!name) {
      at = after(html, "-->", open);
      continue;
    }
    const close = tagEnd(html, open);
    const tag: Tag = { type: "tag", ...name, attributes: html.slice(open + 1 + name.length, close) };
    at = close + 1;
    if (SKIPPED.has(tag.name) && !tag.isEnd && !tag.attributes.endsWith("/"))
      at = skip(html, tag.name, { from: at, endless });
    else yield tag;
  }
  if (at < html.length) yield { type: "text", text: html.slice(at) };
}

function nameAt(html: string, at: number): { name: string; isEnd: boolean; length: number } | undefined {
  TAG_NAME.lastIndex = at;
  const match = TAG_NAME.exec(html);
  return match ? { isEnd: match[1] === "/", name: (match[2] ?? "").toLowerCase(), length: match[0].length } : undefined;
}

function after(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from);
  return found < 0 ? html.length : found + text.length;
}

/** Where a tag ends; a `>` inside a quoted attribute does not end it. */
function tagEnd(html: string, open: number): number {
  let quote = "";
  for (let at = open + 1; at < html.length; at++) {
    const char = html[at] ?? "";
    if (quote !== "") quote = char === quote ? "" : quote;
    else if ((char === '"' || char === "'") && html[at - 1] === "=") quote = char;
    else if (char === ">") return at;
  }
  return html.length;
}

/** Where the text goes on after an element that is left out. */
function skip(html: string, name: string, { from, endless }: { from: number; endless: Set<string> }): number {
  const end = new RegExp(`</${name}\\s*>`, "gi");
  end.lastIndex = from;
  if (!endless.has(name) && end.test(html)) return end.lastIndex;
  endless.add(name);
  // A head without an end would hide the page.
  return name === "head" ? from : html.length;
}

function attribute(attributes: string, name: string): string {
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, "i").exec(attributes);
  return decodeEntities(match?.[1] ?? match?.[2] ?? match?.[3] ?? "");
}

class Writer {
  readonly #baseUrl: string;
  readonly #parts: string[] = [];
  #pendingBreaks = 0;
  #hasPendingSpace = false;
  #preDepth = 0;
  readonly #lists: { next: number | undefined }[] = [];
  #link: { url: string; firstPart: number } | undefined;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  title(text: string): void {
    this.#write(`# ${text.replace(/\s+/g, " ")}`);
    this.#break(2);
  }

  text(text: string): void {
    if (this.#preDepth > 0) this.#write(text);
    else this.#words(text);
  }

  tag({ name, isEnd, attributes }: Tag): void {
    if (/^h[1-6]$/.test(name)) this.#heading(Number(name[1]), isEnd);
    else if (name === "br") this.#break(1);
    else if (name === "a") this.#anchor(attributes, isEnd);
    else if (name === "img" && attribute(attributes, "alt") !== "")
      this.text(` [image: ${attribute(attributes, "alt")}] `);
    else if (name === "pre") this.#pre(isEnd);
    else if (name === "code" && this.#preDepth === 0) this.#code(isEnd);
    else if (name === "li") this.#item(isEnd);
    else if ((name === "td" || name === "th") && isEnd) this.#cellEnd();
    else if (BLOCKS.has(name)) this.#block(name, isEnd, attributes);
  }

  result(): string {
    return this.#parts.join("").trim();
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
    if (text !== "") this.#parts.push(text);
  }

  #break(count: number): void {
    this.#pendingBreaks = Math.max(this.#pendingBreaks, count);
    this.#hasPendingSpace = false;
  }

  #heading(level: number, isEnd: boolean): void {
    this.#break(2);
    if (!isEnd) this.#write(`${"#".repeat(level)} `);
  }

  #block(name: string, isEnd: boolean, attributes: string): void {
    if (name === "ul" || name === "ol") {
      if (isEnd) this.#lists.pop();
      else this.#lists.push({ next: name === "ol" ? Number(attribute(attributes, "start")) || 1 : undefined });
    }
    this.#break(name === "tr" || this.#lists.length > (isEnd ? 0 : 1) ? 1 : 2);
    if (name === "hr") this.#write("---");
    if (name === "tr" && !isEnd) this.#write("| ");
    if (name === "hr") this.#break(2);
  }

  #item(isEnd: boolean): void {
    this.#break(1);
    if (isEnd) return;
    const list = this.#lists.at(-1);
    const mark = list?.next === undefined ? "-" : `${list.next++}.`;
    this.#write(`${"  ".repeat(Math.min(MAX_INDENT, Math.max(0, this.#lists.length - 1)))}${mark} `);
  }

  #pre(isEnd: boolean): void {
    if (isEnd && this.#preDepth === 0) return;
    if (isEnd) this.#break(1);
    else this.#break(2);
    if (isEnd) this.#preDepth--;
    this.#write("```");
    if (!isEnd) this.#preDepth++;
    this.#break(isEnd ? 2 : 1);
  }

  #code(isEnd: boolean): void {
    if (isEnd) this.#parts.push("`");
    else this.#write("`");
  }

  #cellEnd(): void {
    this.#write(" |");
    this.#hasPendingSpace = true;
  }

  #anchor(attributes: string, isEnd: boolean): void {
    if (!isEnd) {
      this.#write("");
      this.#link = { url: attribute(attributes, "href"), firstPart: this.#parts.length };
      return;
    }
    const url = this.#link && this.#absolute(this.#link.url);
    const label = this.#link ? this.#parts.splice(this.#link.firstPart).join("").trim() : "";
    this.#link = undefined;
    if (label !== "") this.#parts.push(url === undefined ? label : `[${label}](${url})`);
  }

  #absolute(url: string): string | undefined {
    if (url === "" || url.startsWith("#") || /^(javascript|data):/i.test(url)) return undefined;
    return URL.canParse(url, this.#baseUrl) ? new URL(url, this.#baseUrl).href : undefined;
  }
}
