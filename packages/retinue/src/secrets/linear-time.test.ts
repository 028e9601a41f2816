import { describe, expect, test } from "vitest";
import { redact } from "./redact.ts";

/** What a text is made of when somebody wants redaction to be slow: beginnings of secrets without their ends. */
const UNITS = [
  "a",
  "aB3x/+Zq9K",
  "a=",
  "token: ",
  "token='",
  'token="\\',
  "password=x&",
  '{"token":"abc","key":"value"},',
  "-----BEGIN CERTIFICATE-----",
  "-----BEGIN RSA PRIVATE KEY----",
  "://a:",
  "://a@",
  "http://a:b/",
  "-p ",
  "--token ",
  "curl -u a:",
  "sk-",
  "eyJ.",
  "hooks.slack.com/",
  "prod-a/",
  "Authorization: x ",
  "Authorization: Bearer ",
  "cookie: a",
  "Bearer ",
  "password is ",
  "login a ",
  "<password>",
  "name: token value: ",
  "\\",
  '"',
  "é",
];

const SMALL = 8 * 1024;
const TIMES = 8;

/** Processor time of the best of three, so that other work on the machine does not count. */
function cost(text: string): number {
  const taken = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    redact(text);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...taken);
}

describe("the time of redaction", () => {
  test.each(UNITS)("grows with the length of a line of %j, and not faster", (unit) => {
    const of = (length: number) => unit.repeat(Math.ceil(length / unit.length));
    redact(of(SMALL));
    const small = Math.max(cost(of(SMALL)), 300); // Below that the clock says nothing.
    // Eight times the text would take 64 times as long if every character looked at all the others.
    expect(cost(of(SMALL * TIMES)) / small).toBeLessThan(TIMES * 5);
  });
});
