import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { htmlToText, pageText } from "./html-text.ts";

const URL = "https://site.example/docs/page";
const text = (html: string) => htmlToText(html, URL);

test.each([
  ["a title and headings", "<head><title>T &amp; U</title><meta x></head><h2>One</h2>two", "# T & U\n\n## One\n\ntwo"],
  ["paragraphs", "<p>a\n  b</p><p>c</p>", "a b\n\nc"],
  ["words around inline tags", "a <b>b</b>, c<i>d</i> e", "a b, cd e"],
  ["links become absolute", '<a href="../x?a=1&amp;b=2">go</a>', "[go](https://site.example/x?a=1&b=2)"],
  ["links that lead nowhere are words", '<a href="#top">up</a> <a href="javascript:x()">run</a>', "up run"],
  ["lists", "<ul><li>a<li>b<ol start=3><li>c</li><li>d</li></ol></ul>", "- a\n- b\n  3. c\n  4. d"],
  ["code", "<p>use <code>a &lt; b</code> so</p><pre><code>x\n  y</code></pre>", "use `a < b` so\n\n```\nx\n  y\n```"],
  ["tables", "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "| a | b |\n| 1 | 2 |"],
  ["cells without an end", "<table><tr><td>1<td>2<tr><td>3", "| 1 | 2 |\n| 3 |"],
  ["cells with blocks", "<table><tr><td><p>a</p></td><td><div><p>b </p></div></td></tr></table>", "| a | b |"],
  ["code that ends with a line break", "<pre>x<br>y\n</pre>", "```\nx\ny\n```"],
  ["scripts and styles are left out", "<script>if (a<b) '</p>'</script><style>p{}</style>x<!-- no -->y", "xy"],
  ["images by their words", '<img src=x alt="a cat"> sits', "[image: a cat] sits"],
  ["a quoted > in an attribute", '<a title="a > b" href="/x">y</a>', "[y](https://site.example/x)"],
  ["entities", "&#8211; &#x1F389; &nbsp;&hellip; &unknown; &#0; & <3", "– 🎉 … &unknown; \ufffd & <3"],
  ["entities of every name", "&lbrack;&NotEqualTilde;&amp;amp; &lt;b&gt; &ampx", "[≂̸&amp; <b> &x"],
  ["line breaks", "a<br>b<br/>c", "a\nb\nc"],
  ["a script without an end", "a<script>b", "a"],
  ["a head without an end", "<head><title>t</title><p>b", "# t\n\nb"],
  ["nothing", "", ""],
  ["a tag that never ends", "a <b", "a"],
])("%s", async (_, html, expected) => {
  expect(await text(html)).toBe(expected);
});

const CHROME = {
  before: `<header><div class="logo">The Site</div>
    <nav><ul><li><a href="/">Home</a></li><li><a href="/pricing">Pricing</a></li><li><a href="/blog">Blog</a></li></ul></nav></header>
    <div class="cookie-banner gdpr"><p>We use cookies to improve your experience, and so do our 842 partners.</p><button>Accept all</button></div>`,
  after: `<div class="sidebar related"><h3>Related stories</h3><ul><li><a href="/1">You will not believe this</a></li></ul></div>
    <footer class="footer"><p>© The Site. All rights reserved.</p><a href="/imprint">Imprint</a></footer>`,
};
const SENTENCE = "A lock file says who may write, and it stays behind when its owner is killed without warning. ";
const CONTENT = `<h1>Locks and leases</h1>
  <p>${SENTENCE.repeat(4)}</p>
  <h2>What goes wrong</h2>
  <p>${SENTENCE.repeat(3)} See <a href="../leases#fence">leases</a>.</p>
  <ul><li>The owner is gone, and nobody knows it.</li><li>Two owners believe in the same lock.</li></ul>
  <pre><code>const lease = await store.lease(id);
if (lease.number &lt; seen) throw lost();</code></pre>
  <table><thead><tr><th>way</th><th>survives a crash</th></tr></thead><tbody><tr><td>lock file</td><td>no</td></tr><tr><td>lease</td><td>yes</td></tr></tbody></table>
  <p>${SENTENCE.repeat(3)}</p>`;
const page = (content: string) =>
  `<!doctype html><html><head><title>Locks and leases</title></head><body>${CHROME.before}${content}${CHROME.after}</body></html>`;

describe("a page with an article", () => {
  test.each([
    ["in <main>", page(`<main>${CONTENT}</main>`)],
    ["in an element with the role", page(`<div role="main">${CONTENT}</div>`)],
    ["in its only <article>", page(`<article>${CONTENT}</article>`)],
    ["in <main> with a navigation of its own", page(`<main><nav>Home</nav>${CONTENT}<footer>Imprint</footer></main>`)],
    ["in a <div> like any other", page(`<div class="wrap"><div class="text">${CONTENT}</div></div>`)],
    ["after a body that was never closed", page(`</p></div><div>${CONTENT}`)],
  ])("%s gives the article, and not what is around it", async (_, html) => {
    const result = await pageText(html, URL);
    expect(result).toMatch(/^# Locks and leases\n\nA lock file/);
    expect(result).toContain("\n\n## What goes wrong\n\n");
    expect(result).toContain("[leases](https://site.example/leases#fence)");
    expect(result).toContain("- The owner is gone, and nobody knows it.\n- Two owners believe in the same lock.");
    expect(result).toContain("```\nconst lease = await store.lease(id);\nif (lease.number < seen) throw lost();\n```");
    expect(result).toContain("| way | survives a crash |\n| lock file | no |\n| lease | yes |");
    expect(result.split(SENTENCE.trim()).length - 1).toBe(10);
    expect(result).not.toMatch(/Pricing|cookies|Accept all|Related stories|Imprint|rights reserved/);
  });
});

describe("all that a page says is given", () => {
  const links = Array.from({ length: 60 }, (_, i) => `<li><a href="/${i}">Story number ${i}</a></li>`).join("");
  test.each([
    ["when it is a list of links", page(`<div><ul>${links}</ul></div>`), "[Story number 59]"],
    ["when what it marks is nearly empty", page(`<main><p>Loading …</p></main>`), "Loading …"],
    ["when it marks several articles", page(`<article>First.</article><article>Second.</article>`), "Second."],
    [
      "when the article would lose some of its code",
      page(`<div>${CONTENT}</div><div class="sidebar comment"><pre>npm i</pre></div>`),
      "npm i",
    ],
    [
      "when it is too large to look for an article",
      page(`<div>${CONTENT}</div>${"<p>x</p>".repeat(10_000)}`),
      "Pricing",
    ],
    ["when it is too deep", page(`${"<div>".repeat(300)}${CONTENT}`), "lock file | no"],
    ["when it is too deep in <main>", page(`<main>${"<div>".repeat(300)}${CONTENT}</main>`), "lock file | no"],
  ])("%s", async (_, html, expected) => {
    const result = await pageText(html, URL);
    expect(result).toContain(expected);
    expect(result).toContain("[Pricing](https://site.example/pricing)");
    expect(result).toContain("[Imprint](https://site.example/imprint)");
    expect(result).toBe(await text(html));
  });
});

describe("a hostile page", () => {
  const SIZE = 500_000;
  const many = (piece: string, size = SIZE) => piece.repeat(Math.ceil(size / piece.length));
  const count = (piece: string, size = SIZE) => Math.ceil(size / piece.length);
  const long = SENTENCE.repeat(8);

  // Quadratic work would run into the time limit of the test.
  test.each([
    ["of five million characters of tags without an end", many("<b>", 10 * SIZE), 0],
    ["of tags without an end, with text", many("<i>x"), count("<i>x")],
    ["of end tags without a beginning", many("<b>", SIZE / 2) + many("</i>", SIZE / 2), 0],
    ["of nested main parts", many("<main>"), 0],
    ["of nested pictures", many("<svg>"), 0],
    ["of nested links", many("<a href=x>", SIZE / 2) + many("</a>", SIZE / 2), 0],
    ["of entities", many("&amp;"), count("&amp;")],
    ["of one entity without an end", `&${many("a")}`, SIZE + 1],
    ["of ampersands", many("&"), SIZE],
    ["of a tag without an end", `<p ${many("a=")}`, 0],
    ["of an attribute without an end", many("<a href='"), 0],
    ["of a comment without an end", `<!--${many("-")}`, 0],
    ["of a script without an end", many("<script>"), 0],
    ["of white space", `<p>a${many(" ")}b`, 3],
    ["of beginnings", many("<"), SIZE],
  ])("%s is read once, to its end", async (_, html, length) => {
    expect(await pageText(html, URL)).toHaveLength(length);
  });

  test("of lists in lists grows by a bounded indent", async () => {
    const html = many("<ul><li>x", 900_000);
    const lines = (await pageText(html, URL)).split("\n");
    expect(lines.filter((line) => line.trimStart().startsWith("-"))).toHaveLength(count("<ul><li>x", 900_000));
    expect(lines.reduce((most, line) => Math.max(most, line.length), 0)).toBe("  ".repeat(10).length + "- x".length);
  });

  test.each([
    ["a picture with endless sources", `<p>${long}</p><img srcset="${"a".repeat(900_000)} b">`],
    ["a picture with an endless name", `<p>${long}</p><img src="${".jpg".repeat(200_000)} b">`],
    ["an element of endless classes", `<p class="${"a ".repeat(400_000)}">${long}</p>`],
    ["an endless style", `<p style="${"a:b;".repeat(200_000)}">${long}</p>`],
    ["endless white space", `<p>${long}</p><p>${" ".repeat(900_000)}</p>`],
  ])("with %s is searched for its article all the same", async (_, html) => {
    const result = await pageText(page(html), URL);
    expect(result).toContain(long.trim());
    expect(result).not.toMatch(/Pricing|cookies|Imprint/);
  });

  test("of any markup is read without a complaint", async () => {
    const names = ["p", "div", "main", "article", "table", "tr", "td", "pre", "code", "a", "title", "svg", "x:y", "li"];
    const piece = fc.oneof(
      fc.constantFrom(...names).map((name) => `<${name}>`),
      fc.constantFrom(...names).map((name) => `</${name}>`),
      fc.constantFrom(
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x",
        "<a href='",
        "&lt;",
        "&#x110000;",
        "<script>",
        SENTENCE,
      ),
      fc.string({ maxLength: 8 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
        expect(await pageText(pieces.join(""), URL)).toBeTypeOf("string");
      }),
      { numRuns: 300 },
    );
  });
});
