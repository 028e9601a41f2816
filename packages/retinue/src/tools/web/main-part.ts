/**
 * Passes on the part of a page that the page itself marks as its content: `<main>`, or its only `<article>`.
 *
 * Nothing is guessed, so pages of documentation keep every signature and every table.
 */
import type { HtmlHandler } from "./html-events.ts";

type Attributes = Readonly<Record<string, string>>;
export type Landmark = "main" | "article";

const MARKS = {
  main: /<main[\s>]|role=["']?main\b/i,
  article: /<article[\s>]|role=["']?article\b/i,
} as const satisfies Record<Landmark, RegExp>;

/** A quick test: most pages without such marks need not be parsed for it. */
export const mayHave = (landmark: Landmark, html: string) => MARKS[landmark].test(html);

const CHROME = new Set(["nav", "footer", "dialog"]);
const CHROME_ROLES = new Set(["navigation", "contentinfo", "complementary", "dialog", "alertdialog", "search", "menu"]);

/** What is never content. */
export const isChrome = (name: string, { role = "" }: Attributes) => CHROME.has(name) || CHROME_ROLES.has(role);

export class MainPart implements HtmlHandler {
  readonly #landmark: Landmark;
  readonly #target: HtmlHandler;
  /** Elements that are open in the landmark, itself included; in the title of the page; in what is left out. */
  #inside = 0;
  #title = 0;
  #leftOut = 0;
  /** How many parts the page marks in this way, one inside another counted once. */
  count = 0;

  constructor(landmark: Landmark, target: HtmlHandler) {
    this.#landmark = landmark;
    this.#target = target;
  }

  open(name: string, attributes: Attributes): void {
    if (this.#leftOut > 0 || (this.#inside > 0 && isChrome(name, attributes))) this.#leftOut++;
    else if (this.#inside > 0) {
      this.#inside++;
      this.#target.open(name, attributes);
    } else if (name === this.#landmark || attributes.role === this.#landmark) {
      this.#inside = 1;
      this.count++;
    } else if (name === "title") {
      this.#title++;
      this.#target.open(name, attributes);
    }
  }

  text(text: string): void {
    if (this.#leftOut === 0 && this.#inside + this.#title > 0) this.#target.text(text);
  }

  close(name: string): void {
    if (this.#leftOut > 0) this.#leftOut--;
    else if (this.#inside > 0) {
      this.#inside--;
      this.#target.close(name);
    } else if (name === "title" && this.#title > 0) {
      this.#title--;
      this.#target.close(name);
    }
  }
}
