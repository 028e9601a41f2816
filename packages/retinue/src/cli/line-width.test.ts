import { expect, test } from "vitest";
import { fitted, rowsOf, widthOf } from "./line-width.ts";

const red = (text: string) => `\u001b[31m${text}\u001b[0m`;

test.each([
  ["", 0],
  ["plain", 5],
  ["日本語", 6],
  ["한글", 4],
  ["ok 🎉", 5],
  ["a\tb", 9],
  [red("red"), 3],
])("the width of %j is %i", (text, width) => {
  expect(widthOf(text)).toBe(width);
});

test("a line that fits stays as it is, and a longer one is cut to the columns, with a sign", () => {
  expect(fitted("eight ch", 8)).toBe("eight ch");
  expect(fitted("nine char", 8)).toBe("nine ch…");
  expect(fitted("日本語日本語", 8)).toBe("日本語…");
  expect(fitted(red("red and long"), 6)).toBe("\u001b[31mred a…\u001b[0m");
  for (let columns = -1; columns < 20; columns++)
    expect(widthOf(fitted("a日\tb🎉 and more", columns))).toBeLessThanOrEqual(Math.max(0, columns));
});

test("a long line takes as many rows as it wraps into, and an empty one takes one", () => {
  expect(rowsOf([], 10)).toBe(0);
  expect(rowsOf(["", "0123456789", "0123456789a"], 10)).toBe(4);
});
