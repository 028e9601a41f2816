import { expect, test } from "vitest";
import { has, occurrences } from "./occurrences.ts";

/** The plain way: compare at every place. */
function everyPlace(text: string, wanted: string): number[] {
  return Array.from({ length: text.length }, (_, at) => at).filter((at) => text.startsWith(wanted, at));
}

test("finds every place, overlapping ones too, for short texts as for long ones", () => {
  let state = 7;
  const below = (count: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  for (let n = 0; n < 2_000; n++) {
    const text = Array.from({ length: 1 + below(200) }, () => "aaab"[below(4)]).join("");
    const from = below(text.length);
    const piece = text.slice(from, from + 1 + below(80));
    const wanted = below(4) === 0 ? `${piece}b` : piece;
    expect([...occurrences(text, wanted)]).toEqual(everyPlace(text, wanted));
    expect(has(text, wanted)).toBe(text.includes(wanted));
  }
});
