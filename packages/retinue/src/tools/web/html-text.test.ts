import { expect, test } from "vitest";
import { htmlToText } from "./html-text.ts";

const text = (html: string) => htmlToText(html, "https://site.example/docs/page");

test.each([
  ["a title and headings", "<head><title>T &amp; U</title><meta x></head><h2>One</h2>two", "# T & U\n\n## One\n\ntwo"],
  ["paragraphs", "<p>a\n  b</p><p>c</p>", "a b\n\nc"],
  ["words around inline tags", "a <b>b</b>, c<i>d</i> e", "a b, cd e"],
  ["links become absolute", '<a href="../x?a=1&amp;b=2">go</a>', "[go](https://site.example/x?a=1&b=2)"],
  ["links that lead nowhere are words", '<a href="#top">up</a> <a href="javascript:x()">run</a>', "up run"],
  ["lists", "<ul><li>a<li>b<ol start=3><li>c</li><li>d</li></ol></ul>", "- a\n- b\n  3. c\n  4. d"],
  ["code", "<p>use <code>a &lt; b</code> so</p><pre><code>x\n  y</code></pre>", "use `a < b` so\n\n```\nx\n  y\n```"],
  ["tables", "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "| a | b |\n| 1 | 2 |"],
  ["scripts and styles are left out", "<script>if (a<b) '</p>'</script><style>p{}</style>x<!-- no -->y", "xy"],
  ["images by their words", '<img src=x alt="a cat"> sits', "[image: a cat] sits"],
  ["a quoted > in an attribute", '<a title="a > b" href="/x">y</a>', "[y](https://site.example/x)"],
  ["entities", "&#8211; &#x1F389; &nbsp;&hellip; &unknown; &#0; & <3", "– 🎉 … &unknown; \ufffd & <3"],
  ["line breaks", "a<br>b<br/>c", "a\nb\nc"],
  ["a script without an end", "a<script>b", "a"],
  ["a head without an end", "<head><title>t</title><p>b", "# t\n\nb"],
  ["nothing", "", ""],
  ["a tag that never ends", "a <b", "a"],
])("%s", (_, html, expected) => {
  expect(text(html)).toBe(expected);
});

test.each([
  ["<".repeat(100_000)],
  ["<a href='".repeat(50_000)],
  ["<div>".repeat(100_000)],
  ["<ul>".repeat(2_000) + "<li>x".repeat(2_000)],
  [`<p ${"a=".repeat(100_000)}`],
  ["&".repeat(500_000)],
  ["<script>".repeat(20_000)],
  ["<head>".repeat(50_000)],
  ["</ ".repeat(100_000)],
  ["<title".repeat(50_000)],
  [`${"<a href=x>y".repeat(50_000)}${"</a>".repeat(50_000)}`],
  ["<a href=x>y</a> ".repeat(50_000)],
])("a hostile page is done in a moment", (html) => {
  // Work that grows with the square of the size would run into the time limit of the test.
  expect(text(html).length).toBeLessThan(20 * html.length);
});
