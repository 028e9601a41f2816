import { describe, expect, test } from "vitest";
import { askForAll, decide, parseRule } from "./policy.ts";

const fetching = (url: string) => ({ kind: "url" as const, url, intention: "" });
const withAllow = (rule: string, url: string) =>
  decide(fetching(url), { ...askForAll, approved: [parseRule(`url(${rule})`)] }).type;
const withDomain = (domain: string, url: string) =>
  decide(fetching(url), { ...askForAll, allowedDomains: [domain] }).type;
const withDeny = (rule: string, url: string) =>
  decide(fetching(url), { ...askForAll, approveAll: true, denied: [parseRule(`url(${rule})`)] }).type;

/** Addresses that lead to another host than the one that a quick look finds in them. */
const IMPOSTORS = [
  "https://example.com.evil.net/",
  "https://example.com@evil.net/",
  "https://example.com:443@evil.net/docs/",
  "https://example.com%40evil.net@evil.net/",
  "https://evil.net/example.com",
  "https://evil.net/?https://example.com/docs/",
  "https://evil.net#example.com",
  "https://evil.net\\@example.com/",
  "https:\\\\evil.net\\example.com",
  "https://notexample.com/",
  "https://evilexample.com/docs/",
  "https://example.com-evil.net/",
  "https://example.comm/docs/",
  "https://exаmple.com/", // The third letter is Cyrillic.
  "https://example。com.evil.net/",
];

describe("an allow rule for a host", () => {
  test.each(IMPOSTORS)("does not cover %s, and neither does an allowed domain or a rule with a scheme", (url) => {
    expect(withAllow("example.com", url)).toBe("ask");
    expect(withAllow("https://example.com", url)).toBe("ask");
    expect(withAllow("https://example.com/docs/", url)).toBe("ask");
    expect(withDomain("example.com", url)).toBe("ask");
  });

  test.each([
    "https://example.com",
    "http://example.com:8080/x",
    "HTTPS://EXAMPLE.com/",
    "https://example.com./docs",
    "https://user:word@example.com/",
    "ht\ttps://exam\nple.com/",
    "https:\\\\example.com\\x",
    "https://ｅｘａｍｐｌｅ.com/",
  ])("covers %j, as a browser reads it", (url) => {
    expect(withAllow("example.com", url)).toBe("allow");
    expect(withAllow("Example.COM.", url)).toBe("allow");
  });

  test("covers hosts below it only when it begins with a star; an allowed domain always does", () => {
    expect(withAllow("example.com", "https://docs.example.com/")).toBe("ask");
    expect(withAllow("*.example.com", "https://docs.example.com/")).toBe("allow");
    expect(withAllow("*.example.com", "https://evil-example.com/")).toBe("ask");
    expect(withDomain("example.com", "https://a.b.example.com./")).toBe("allow");
    expect(withDomain("https://example.com/docs", "https://example.com/docs/a")).toBe("allow");
    expect(withDomain("https://example.com/docs", "https://example.com/other")).toBe("ask");
  });

  test("compares names in other scripts by what they are in the name system", () => {
    expect(withAllow("bücher.example", "https://xn--bcher-kva.example/")).toBe("allow");
    expect(withAllow("xn--bcher-kva.example", "https://BÜCHER.example/")).toBe("allow");
  });

  test("keeps to a port and a scheme that it names", () => {
    expect(withAllow("example.com:8080", "http://example.com:8080/")).toBe("allow");
    expect(withAllow("example.com:8080", "http://example.com/")).toBe("ask");
    expect(withAllow("example.com:80", "http://example.com/")).toBe("allow");
    expect(withAllow("https://example.com", "http://example.com/")).toBe("ask");
    expect(withAllow("https://example.com", "https://example.com:8443/")).toBe("ask");
    expect(withAllow("[::1]:80", "http://[::1]/")).toBe("allow");
  });

  test("that names a path covers what is below it, by whole names", () => {
    const rule = "https://example.com/docs/";
    expect(withAllow(rule, "https://example.com/docs")).toBe("allow");
    expect(withAllow(rule, "https://example.com/docs/a/b?c#d")).toBe("allow");
    expect(withAllow("example.com/docs", "https://example.com/docs-private")).toBe("ask");
    expect(withAllow(rule, "https://example.com/docs/../private")).toBe("ask");
    expect(withAllow(rule, "https://example.com/docs/%2e%2e/private")).toBe("ask");
    expect(withAllow(rule, "https://example.com/docs/..%2fprivate")).toBe("ask");
    expect(withAllow(rule, "https://example.com/docs/..%5cprivate")).toBe("ask");
    expect(withAllow(rule, "https://example.com/docs/%252e%252e%252fprivate")).toBe("ask");
    expect(withAllow(rule, "https://example.com/Docs/")).toBe("ask");
  });

  test.each([
    "",
    "nonsense",
    "//example.com",
    "ftp://example.com/",
    "file:///example.com",
    "https://",
    "javascript:example.com",
  ])("does not cover %j, which is no web address", (url) => {
    expect(withAllow("example.com", url)).toBe("ask");
    expect(withDomain("example.com", url)).toBe("ask");
  });

  test.each(["user@example.com", "exa mple.com", "*", "*.", "https://", "ftp://example.com", "example.com@evil.net"])(
    "written as %j allows nothing",
    (rule) => {
      expect(withAllow(rule, "https://example.com/")).toBe("ask");
      expect(withAllow(rule, "https://evil.net/")).toBe("ask");
    },
  );
});

describe("a deny rule", () => {
  test.each([
    "https://evil.net",
    "https://evil.net.",
    "https://EVIL.net:8443/x",
    "https://example.com@evil.net/",
    "https://www.evil.net/",
    "http://evil.net\\@example.com/",
    "https://еvil.net@evil.net",
  ])("for evil.net covers %s", (url) => {
    expect(withDeny("evil.net", url)).toBe("deny");
  });

  test("does not cover a host that only looks like it", () => {
    expect(withDeny("evil.net", "https://evil.net.example.com/")).toBe("allow");
    expect(withDeny("evil.net", "https://notevil.net/")).toBe("allow");
    expect(withDeny("evil.net", "https://evil.net@example.com/")).toBe("allow");
  });

  test.each([
    "/private",
    "/%70rivate/a",
    "//private",
    "/docs/..%2fprivate",
    "/PRIVATE",
    "/a/../private",
    "/.//private/x",
  ])("for a path covers every spelling that a server may take for it: %s", (path) => {
    expect(withDeny("https://example.com/private", `https://example.com${path}`)).toBe("deny");
    expect(withDeny("https://example.com/private", "https://example.com/public")).toBe("allow");
  });

  test("covers an address that cannot be read, and one that cannot be read covers every address", () => {
    expect(withDeny("evil.net", "not an address")).toBe("deny");
    expect(withDeny("ev il.net", "https://example.com/")).toBe("deny");
  });
});
