/**
 * A typed query as terms of the index. No query is an error: operators and punctuation are only words or gaps
 * between them. "Quoted words" are a phrase; a word with a star at its end is a prefix.
 */
import type { Term } from "../../store/transcripts.ts";

const MAX_TERMS = 24;
/** More than any question has; the rest is not looked at. */
const MAX_CHARACTERS = 2000;

export function parseQuery(query: string): Term[] {
  const terms: Term[] = [];
  for (const [, phrase, word] of query
    .slice(0, MAX_CHARACTERS)
    .normalize("NFC")
    .matchAll(/"([^"]*)"|([^\s"]+)/g)) {
    const term = phrase === undefined ? wordTerm(word ?? "") : phraseTerm(phrase, false);
    if (term) terms.push(term);
  }
  const telling = terms.filter(({ words }) => words.length > 1 || !FILLERS.has(words[0] ?? ""));
  return unique(telling.length > 0 ? telling : terms).slice(0, MAX_TERMS);
}

/** `foo.bar_baz` is three words of the index, side by side. */
function wordTerm(word: string): Term | undefined {
  return phraseTerm(word, word.length > 1 && word.endsWith("*"));
}

function phraseTerm(text: string, isPrefix: boolean): Term | undefined {
  // The same characters that the index takes for parts of a word.
  const words = text.toLowerCase().match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu);
  if (!words) return undefined;
  return { words, isPrefix };
}

function unique(terms: readonly Term[]): Term[] {
  return [...new Map(terms.map((term) => [`${term.words.join(" ")}${term.isPrefix ? "*" : ""}`, term])).values()];
}

/** Common words of questions. They count only when there is nothing else. */
const FILLERS: ReadonlySet<string> = new Set(
  (
    "a about an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it its me my no not of on or our " +
    "she should so some than that the their them then there these they this those to us was we were what when where which who why will with would you your"
  ).split(" "),
);
