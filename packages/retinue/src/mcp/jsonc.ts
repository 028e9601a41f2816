/** JSON as editors write it: with comments, and a comma after the last of a list. */

/** Throws a SyntaxError. */
export function parseJsonc(text: string): unknown {
  return JSON.parse(withoutLastCommas(withoutComments(text.replace(/^\uFEFF/, ""))));
}

// An open comment reaches to the end, and an open string is taken as it is: each letter is looked at once.
const withoutComments = (text: string): string =>
  text.replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (_, string?: string) => string ?? " ");

const withoutLastCommas = (text: string): string =>
  text.replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_, string?: string) => string ?? "");
