import { expect, test } from "vitest";
import { visible, visibleText } from "./visible.ts";

test.each([
  ["an escape sequence", "\u001b[2Jrm", "‹U+001B›[2Jrm"],
  ["a control of one character", "a\u009b31mb\u0007\u0000\u007f", "a‹U+009B›31mb‹U+0007›‹U+0000›‹U+007F›"],
  ["a return that overwrites the line", "rm -rf /\rls", "rm -rf /‹U+000D›ls"],
  ["text from right to left", "a\u202eb\u202c\u2066c\u2069", "a‹U+202E›b‹U+202C›‹U+2066›c‹U+2069›"],
  ["letters without width", "a\u200bb\u2060c\ufeffd", "a‹U+200B›b‹U+2060›c‹U+FEFF›d"],
  ["tag characters", "a\u{e0041}\u{e0001}b", "a‹U+E0041›‹U+E0001›b"],
  ["line separators", "a\u2028b\u2029c\u0085d", "a‹U+2028›b‹U+2029›c‹U+0085›d"],
  ["letters that are blank", "a\u2800b\u3164c\u115fd", "a‹U+2800›b‹U+3164›c‹U+115F›d"],
  ["half of a pair", "a\ud800b", "a‹U+D800›b"],
])("%s is shown, in one line and in several", (_, text, shown) => {
  expect(visible(text)).toBe(shown);
  expect(visibleText(text)).toBe(shown);
});

test("one line has no breaks, and no spaces other than the ordinary one", () => {
  expect(visible("a\nb\tc\r\nd")).toBe("a⏎b⇥c‹U+000D›⏎d");
  expect(visible("rm\u00a0-rf\u3000x\u2003y")).toBe("rm‹U+00A0›-rf‹U+3000›x‹U+2003›y");
  expect(visible("x\u200d\u200c\u200e\ufe0f")).toBe("x‹U+200D›‹U+200C›‹U+200E›‹U+FE0F›");
});

test("text of several lines keeps its breaks, and what other languages and emoji need", () => {
  for (const text of [
    "a\n\tb\n",
    "👨\u200d👩\u200d👧 ❤\ufe0f",
    "می\u200cخواهم",
    "10\u00a0km",
    "漢字\u3000かな",
    "שלום\u200f!",
  ]) {
    expect(visibleText(text)).toBe(text);
  }
  expect(visibleText("a\r\nb")).toBe("a\nb");
});

test("ordinary text stays as it is", () => {
  for (const text of ["git status && ls -la './ä ö/漢字'", "e\u0301 naïve 🎉 →", ""]) {
    expect(visible(text)).toBe(text);
    expect(visibleText(text)).toBe(text);
  }
});

test("a long text is shown as its characters are one by one, runs and pairs included", () => {
  const pieces = [
    "a",
    "\u200b",
    "\u200b\u200b\u200b",
    "\u{e0041}",
    "\u{e0041}\u{e0041}",
    "🎉",
    "\ud83d",
    "\n",
    "\t",
    "é",
    "\u0000",
  ];
  let state = 3;
  const text = Array.from({ length: 20_000 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return pieces[Math.floor((state / 2 ** 32) * pieces.length)];
  }).join("");
  for (const show of [visible, visibleText]) expect(show(text)).toBe(Array.from(text, show).join(""));
});
