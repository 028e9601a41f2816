import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SmallWorld, smallWorld } from "../small-world.ts";
import { createFetchPage, type FetchOptions } from "../web/web-fetch-guard.ts";
import { webFetchTool } from "./web-fetch.ts";

const webFetch = webFetchTool();
const HTML = { "content-type": "text/html; charset=utf-8" };
let server: Server;
let origin: string;
let requests: string[];
let worlds: SmallWorld[];

const routes: Record<string, RequestListener> = {
  "/page": (_, response) => response.writeHead(200, HTML).end("<title>Hi</title><p>Some <b>text</b></p>"),
  "/article": (_, response) =>
    response
      .writeHead(200, HTML)
      .end(`<title>Hi</title><nav><a href="/">Home</a></nav><div><p>${"Some words, and more. ".repeat(40)}</p></div>`),
  "/long": (_, response) => response.writeHead(200, { "content-type": "text/plain" }).end("0123456789".repeat(10)),
  "/gzip": (_, response) => response.writeHead(200, { ...HTML, "content-encoding": "gzip" }).end(gzipSync("packed")),
  "/latin": (_, response) =>
    response.writeHead(200, { "content-type": "text/plain; charset=iso-8859-1" }).end(Buffer.from([0x67, 0xfc])),
  "/charset": (_, response) => response.writeHead(200, { "content-type": "text/plain; charset=made-up" }).end("ok"),
  "/image": (_, response) => response.writeHead(200, { "content-type": "image/png" }).end("x"),
  "/json": (_, response) => response.writeHead(200, { "content-type": "application/ld+json" }).end('{"a":"<b>"}'),
  "/missing": (_, response) => response.writeHead(404, HTML).end("<p>not here</p>"),
  "/near": (_, response) => response.writeHead(302, { location: "/page" }).end(),
  "/far": (_, response) =>
    response.writeHead(302, { location: `${origin.replace("127.0.0.1", "localhost")}/page` }).end(),
  "/inside": (_, response) =>
    response.writeHead(302, { location: `${origin.replace("127.0.0.1", "127.0.0.2")}/page` }).end(),
  "/port": (_, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${new URL(origin).port === "1" ? 2 : 1}/page` }).end(),
  "/named": (_, response) => response.writeHead(302, { location: `${origin.replace("//", "//me:word@")}/page` }).end(),
  "/loop": (_, response) => response.writeHead(302, { location: "/loop" }).end(),
  "/file": (_, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end(),
  "/endless": (_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    const write = () => {
      while (!response.destroyed && response.write("x".repeat(65536)));
    };
    response.on("drain", write);
    write();
  },
  "/silent": () => undefined,
};

beforeEach(async () => {
  requests = [];
  worlds = [];
  server = createServer((request, response) => {
    requests.push(request.url ?? "");
    const route = routes[request.url ?? ""];
    if (route) route(request, response);
    else response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await Promise.all(worlds.map((world) => world.close()));
});

function world(options: FetchOptions = {}): SmallWorld {
  const made = smallWorld({ fetchPage: createFetchPage({ allowPrivate: true, ...options }) });
  worlds.push(made);
  return made;
}
const fetched = (path: string, more: object = {}, options: FetchOptions = {}) =>
  world(options).call(webFetch, { url: origin + path, ...more });

describe("a page", () => {
  test("comes as text, or as it was sent", async () => {
    expect((await fetched("/page")).text).toBe("# Hi\n\nSome text");
    expect((await fetched("/page", { raw: true })).text).toBe("<title>Hi</title><p>Some <b>text</b></p>");
  });

  test("comes without what is around its content, unless it is asked for as it was sent", async () => {
    const { text } = await fetched("/article");
    expect(text).toMatch(/^# Hi\n\nSome words, and more\. /);
    expect(text).not.toContain("Home");
    expect((await fetched("/article", { raw: true })).text).toContain("Home");
  });

  test("comes in parts that name the next one", async () => {
    expect((await fetched("/long", { max_length: 4, start_index: 8 })).text).toBe(
      "8901\n\n[88 more characters; go on with start_index 12]",
    );
    expect((await fetched("/long", { start_index: 98 })).text).toBe("89");
    expect((await fetched("/long", { start_index: 100 })).text).toContain("has 100 characters");
  });

  test("is unpacked and decoded", async () => {
    expect((await fetched("/gzip")).text).toBe("packed");
    expect((await fetched("/latin")).text).toBe("gü");
    expect((await fetched("/charset")).text).toBe("ok");
    expect((await fetched("/json")).text).toBe('{"a":"<b>"}');
  });

  test("that is no text is refused by its type", async () => {
    expect(await fetched("/image")).toMatchObject({
      resultType: "failure",
      text: expect.stringContaining("image/png"),
    });
  });

  test("with an error status is a failure that shows what the server said", async () => {
    expect(await fetched("/missing")).toMatchObject({
      resultType: "failure",
      error: "HTTP 404",
      text: expect.stringContaining("not here"),
    });
  });

  test("without an end is read up to the bound", async () => {
    const outcome = await fetched("/endless", { max_length: 10 }, { maxBytes: 100_000 });
    expect(outcome.text).toBe("xxxxxxxxxx\n\n[99990 more characters; go on with start_index 10]");
  });

  test("that never comes is given up", async () => {
    expect(await fetched("/silent", {}, { timeoutMs: 200 })).toMatchObject({
      resultType: "failure",
      text: expect.stringMatching(/time/i),
    });
  });
});

describe("redirects", () => {
  test("are followed on the same host", async () => {
    expect((await fetched("/near")).text).toBe("# Hi\n\nSome text");
  });

  test("to another host are told and not followed", async () => {
    const outcome = await fetched("/far");
    expect(outcome.text).toContain("redirects to http://localhost:");
    expect(requests).toEqual(["/far"]);
  });

  const verdicts: ["allow" | "ask", "allow" | "ask" | "deny", boolean][] = [
    ["allow", "allow", true],
    ["ask", "allow", true],
    ["ask", "ask", true],
    ["allow", "ask", false],
    ["allow", "deny", false],
    ["ask", "deny", false],
  ];
  test.each(verdicts)(
    "from an address for which the rules say %s to one where they say %s: followed %s",
    async (first, next, isFollowed) => {
      const here = world();
      here.rules.judge = (request) => (request.kind === "url" && request.url.endsWith("/near") ? first : next);
      const { text } = await here.call(webFetch, { url: `${origin}/near` });
      if (isFollowed) expect(text).toBe("# Hi\n\nSome text");
      else expect(text).toBe(`The page redirects to ${origin}/page. Fetch that address to follow it.`);
      expect(requests).toEqual(isFollowed ? ["/near", "/page"] : ["/near"]);
    },
  );

  test.each(["/port", "/named"])("to another port or with a user name are told and not followed: %s", async (path) => {
    expect((await fetched(path)).text).toContain("redirects to ");
    expect(requests).toEqual([path]);
  });

  test("without an end are given up, and other schemes are no redirects", async () => {
    expect((await fetched("/loop")).text).toContain("redirects more than");
    expect((await fetched("/file")).text).not.toContain("root:");
  });

  test("from an allowed address to another one of this machine are refused", async () => {
    const outcome = await fetched("/inside", {}, { allowPrivate: ["127.0.0.1"] });
    expect(outcome.text).toContain("resolves to blocked address 127.0.0.2.");
    expect(requests).toEqual(["/inside"]);
  });
});

describe("the guard", () => {
  test.each([
    "http://127.0.0.1:PORT/page",
    "http://localhost:PORT/page",
    "http://2130706433:PORT/page",
    "http://0x7f.1:PORT/page",
    "http://0177.0.0.1:PORT/page",
    "http://127.1:PORT/page",
    "http://[::127.0.0.1]:PORT/page",
    "http://[::ffff:0:127.0.0.1]:PORT/page",
    "http://[::ffff:127.0.0.1]:PORT/page",
    "http://[::1]:PORT/page",
    "http://0.0.0.0:PORT/page",
  ])("refuses %s without a request", async (address) => {
    const url = address.replace("PORT", String((server.address() as AddressInfo).port));
    const outcome = await world({ allowPrivate: false }).call(webFetch, { url });
    expect(outcome.resultType).toBe("failure");
    expect(outcome.text).toMatch(
      /^WebFetchBlockedUrlError: web_fetch URL ".*" resolves to blocked address .*\. URLs must not target loopback, private, or link-local addresses\.$/,
    );
    expect(requests).toEqual([]);
  });

  test("a name that does not exist is a failure", async () => {
    const outcome = await world({ allowPrivate: false }).call(webFetch, { url: "http://nonexistent.invalid/" });
    expect(outcome).toMatchObject({ resultType: "failure", text: expect.stringContaining("nonexistent.invalid") });
  });
});

test.each(["notaurl", "file:///etc/passwd", "ftp://x/y", "javascript:1", ""])(
  "%j is no address, and nobody is asked",
  async (url) => {
    await expect(world().permission(webFetch, { url })).rejects.toThrow("Invalid URL");
  },
);

test("an address with a user name is refused, and nobody is asked", async () => {
  await expect(world().permission(webFetch, { url: "https://example.com@evil.example/" })).rejects.toThrow(
    "Invalid URL",
  );
});

test.each([
  ["https:\\\\a.example\\x", "https://a.example/x"],
  ["ht\ttps://a.exam\nple/x", "https://a.example/x"],
  ["https://b\u00fccher.example", "https://xn--bcher-kva.example/"],
])("the permission names the address that is fetched, not how it was written: %j", async (url, expected) => {
  expect(await world().permission(webFetch, { url })).toMatchObject({ url: expected });
});

test("the permission names the address", async () => {
  expect(await world().permission(webFetch, { url: "https://a.example/x" })).toEqual({
    kind: "url",
    toolCallId: "call_1",
    intention: "Fetch a web page",
    url: "https://a.example/x",
  });
});
