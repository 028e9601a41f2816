import { describe, expect, test } from "vitest";
import { redact } from "./redact.ts";

describe("redaction", () => {
  test.each([
    ["sk-ant-api03-abcdefghijklmnopqrstuvwxyz", "abcdefghij"],
    ["sk-proj-abcdefghijklmnop1234", "abcdefghij"],
    ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghij"],
    ["AKIAIOSFODNN7EXAMPLE", "IOSFODNN"],
    ["xoxb-123456789012-abcdefghijkl", "abcdefghijkl"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk", "eyJzdWIi"],
    ["Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"],
    ["postgres://app:s3cretpw@db.example/x", "s3cretpw"],
    ["export DB_PASSWORD='correct-horse'", "correct-horse"],
    ['{"client_secret": "abcdef123456"}', "abcdef123456"],
    ["AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----", "MIIEabc"],
    ["-----BEGIN PRIVATE KEY-----\nMIIEcut off", "MIIEcut"],
  ])("hides the secret in %j", (text, secret) => {
    expect(redact(text)).not.toContain(secret);
    expect(redact(text)).toContain("[redacted");
  });

  test.each([
    "the tokenizer splits words at spaces",
    "press any key: then wait",
    "https://example.com/path?x=1",
    "a password is required",
    "task-runner and disk-usage",
    "const token = next();",
  ])("leaves %j as it is", (text) => {
    expect(redact(text)).toBe(text);
  });

  test("changes nothing that it has already changed", () => {
    const once = redact("token=abcdefghijkl and sk-abcdefghijklmnopqrstu");
    expect(redact(once)).toBe(once);
  });
});
