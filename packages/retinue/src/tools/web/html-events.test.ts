import { expect, test } from "vitest";
import { readHtml } from "./html-events.ts";

/** Counts what is read, and how deep it gets. */
async function counted(html: string) {
  const seen = { opened: 0, closed: 0, deepest: 0, text: "" };
  const { wasCut } = await readHtml(html, {
    open() {
      seen.deepest = Math.max(seen.deepest, ++seen.opened - seen.closed);
    },
    close() {
      seen.closed++;
    },
    text(text) {
      seen.text += text;
    },
  });
  return { ...seen, wasCut };
}

test("every element that opens closes, also where the page does not say so", async () => {
  expect(await counted("<ul><li>a<li>b<p>c</ul><br><td>d")).toEqual({
    opened: 6,
    closed: 6,
    deepest: 3,
    text: "abcd",
    wasCut: false,
  });
});

test("a page that is too deep is cut, and none of it is lost", async () => {
  expect(await counted("<div>x".repeat(100_000))).toEqual({
    opened: 100_000,
    closed: 100_000,
    deepest: 257,
    text: "x".repeat(100_000),
    wasCut: true,
  });
});

test("no script becomes text where a page is cut", async () => {
  const { text, opened } = await counted(`${"<div>".repeat(256)}<script>"<b>"</script><div>after`);
  expect({ text, opened }).toEqual({ text: '"<b>"after', opened: 258 });
});

test.each(["<br>", "<xmp/>", "<title/>", "<iframe>", "<svg/>"])(
  "a page of %s is never deeper than its bound",
  async (tag) => {
    const { opened, closed, deepest } = await counted("<div>".repeat(256) + tag.repeat(100_000));
    expect({ opened, closed }).toEqual({ opened: 100_256, closed: 100_256 });
    expect(deepest).toBeLessThanOrEqual(258);
  },
);
