/**
 * A web page as text that a model reads well: without the navigation, banners and footers around its content, where that can be
 * found; else all that the page says.
 */
import { readHtml } from "./html-events.ts";
import { type Landmark, MainPart, mayHave } from "./main-part.ts";
import { MarkdownWriter } from "./markdown-writer.ts";
import { readablePart } from "./readable-part.ts";

/** A shorter text is more likely a banner, or the frame of a page that scripts fill. */
const MIN_CONTENT = 200;

export async function pageText(html: string, baseUrl: string): Promise<string> {
  return (
    (await markedText("main", html, { baseUrl })) ??
    (await markedText("article", html, { baseUrl })) ??
    (await articleText(html, baseUrl)) ??
    (await htmlToText(html, baseUrl))
  );
}

/** The whole page, in its own order. */
export async function htmlToText(html: string, baseUrl: string): Promise<string> {
  const writer = new MarkdownWriter(baseUrl);
  await readHtml(html, writer);
  return writer.result();
}

async function markedText(
  landmark: Landmark,
  html: string,
  { baseUrl }: { baseUrl: string },
): Promise<string | undefined> {
  if (!mayHave(landmark, html)) return undefined;
  const writer = new MarkdownWriter(baseUrl);
  const part = new MainPart(landmark, writer);
  const { wasCut } = await readHtml(html, part);
  // A page with several articles is a list of them.
  return part.count === 1 && writer.length >= MIN_CONTENT && !wasCut ? writer.result() : undefined;
}

async function articleText(html: string, baseUrl: string): Promise<string | undefined> {
  const article = await readablePart(html);
  if (!article || article.length < MIN_CONTENT) return undefined;
  const text = await htmlToText(article.html, baseUrl);
  return article.title === "" ? text : `# ${article.title}\n\n${text}`;
}
