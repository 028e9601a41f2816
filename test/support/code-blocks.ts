/** The code blocks of the pages: what language each is in, what stands in it, and why it is not run, where that is so. */

export interface CodeBlock {
  page: string;
  line: number;
  language: string;
  text: string;
  /** From a comment right before it: `not run`, a colon, and the reason. */
  reason: string | undefined;
}

const FENCE = /^```([a-z]*)\n([\s\S]*?)^```$/gm;
const NOT_RUN = /<!-- not run: ([^>]+?) -->\s*$/;

export function codeBlocks(page: string, text: string): CodeBlock[] {
  return [...text.matchAll(FENCE)].map(({ 1: language = "", 2: code = "", index }) => {
    const before = text.slice(0, index);
    return { page, line: before.split("\n").length, language, text: code, reason: NOT_RUN.exec(before)?.[1] };
  });
}

/** The commands of a block, without comments; a line that ends with a backslash goes on. */
export function commandsOf({ text }: CodeBlock): string[] {
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/(^|\s+)#.*$/, "").trim())
    .filter((line) => line !== "");
}
