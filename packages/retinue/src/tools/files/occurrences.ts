/**
 * Where a text stands in another, in time proportional to both.
 *
 * `indexOf` compares a long text anew at every place where it may begin: 100 KB of one letter with another in the middle, looked for in
 * 200 KB of that letter, took seconds. Here what was compared once is known from then on (Knuth, Morris and Pratt).
 */

/** Up to here comparing anew is the quicker way. */
const SHORT = 32;

/** From the beginning to the end; they may overlap. */
export function* occurrences(text: string, wanted: string): Generator<number> {
  if (wanted.length > SHORT) yield* compared(text, wanted);
  else for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) yield at;
}

export const has = (text: string, wanted: string): boolean => !occurrences(text, wanted).next().done;

function* compared(text: string, wanted: string): Generator<number> {
  const known = beginnings(wanted);
  let same = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (same > 0 && (same === wanted.length || wanted.charCodeAt(same) !== code)) same = known[same - 1] ?? 0;
    if (wanted.charCodeAt(same) === code) same++;
    if (same === wanted.length) yield at + 1 - same;
  }
}

/** For every end within the text, how much of its beginning stands again before that end. */
function beginnings(text: string): Int32Array {
  const known = new Int32Array(text.length);
  let same = 0;
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (same > 0 && text.charCodeAt(same) !== code) same = known[same - 1] ?? 0;
    if (text.charCodeAt(same) === code) same++;
    known[at] = same;
  }
  return known;
}
