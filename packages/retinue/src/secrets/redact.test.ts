import { describe, expect, test } from "vitest";
import { CREDENTIALS, exampleOf, ORDINARY, readable } from "./corpus/test-corpus.ts";

import { redact } from "./redact.ts";

describe("redaction", () => {
  test("hides at least 95 of 100 credentials of everyday formats, whatever their values", () => {
    expect(CREDENTIALS.length).toBeGreaterThanOrEqual(200);
    for (const seed of [1, 2, 3]) {
      const shown = CREDENTIALS.map((pattern) => exampleOf(pattern, seed)).filter(
        (example) => readable(example, redact(example.text)).length > 0,
      );
      expect(shown.length / CREDENTIALS.length, JSON.stringify(shown)).toBeLessThanOrEqual(0.05);
    }
  });

  test("hides them in the middle of a conversation, and in the text of a JSON document", () => {
    const examples = CREDENTIALS.map((pattern) => exampleOf(pattern));
    const said = examples.filter(
      (each) => readable(each, redact(`I ran this:\n${each.text}\nand it worked.`)).length > 0,
    );
    const quoted = examples.filter((each) => readable(each, redact(JSON.stringify({ command: each.text }))).length > 0);
    expect(said.length / examples.length, JSON.stringify(said)).toBeLessThanOrEqual(0.05);
    expect(quoted.length / examples.length, JSON.stringify(quoted)).toBeLessThanOrEqual(0.05);
  });

  test("changes at most 1 of 100 ordinary lines", () => {
    expect(ORDINARY.length).toBeGreaterThanOrEqual(300);
    const changed = ORDINARY.filter((line) => redact(line) !== line);
    expect(changed.length / ORDINARY.length, JSON.stringify(changed.map(redact))).toBeLessThanOrEqual(0.01);
  });

  test.each([
    ["export DB_PASSWORD='correct-horse'", "export DB_PASSWORD='[redacted password]'"],
    ["Authorization: Bearer abcdefghijklmnop1", "Authorization: Bearer [redacted token]"],
    ["postgres://app:s3cretpw@db.example/x", "postgres://app:[redacted password]@db.example/x"],
    ["-----BEGIN PRIVATE KEY-----\nMIIEcut off", "[redacted private key]"],
    ["curl -u ada:s3cretpw https://x.dev", "curl -u ada:[redacted password] https://x.dev"],
  ])("leaves readable what stands around the secret in %j", (text, shown) => {
    expect(redact(text)).toBe(shown);
  });

  test("changes nothing that it has already changed", () => {
    for (const pattern of CREDENTIALS) {
      const once = redact(exampleOf(pattern).text);
      expect(redact(once)).toBe(once);
    }
  });

  test("hides a text that is full of telling names in pieces, and shows no value in it", () => {
    const clean = redact(`ordinary words first. ${"token='xK9fQ2mP7' ".repeat(20_000)}the end`);
    const has = (text: string) => clean.includes(text);
    expect(has("ordinary words first.")).toBe(true);
    expect(has("[redacted text full of secrets]")).toBe(true);
    expect(has("xK9fQ2mP7")).toBe(false);
  });

  test("leaves a certificate and a public key as they are, and hides what follows them", () => {
    const certificate = `-----BEGIN CERTIFICATE-----\n${"MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n".repeat(8)}-----END CERTIFICATE-----`;
    expect(redact(`${certificate}\nDB_PASS=hunter2horse`)).toBe(`${certificate}\nDB_PASS=[redacted password]`);
    expect(redact("-----BEGIN CERTIFICATE-----\nDB_PASS=hunter2horse")).not.toContain("hunter2horse");
  });
});
