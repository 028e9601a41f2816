import { expect, test } from "vitest";
import { TokenCheck } from "./token-check.ts";

function checkAt(start = 1_000_000) {
  const clock = { now: start };
  return { clock, check: new TokenCheck("open sesame", { now: () => clock.now }) };
}

test("only the token itself is right", () => {
  const { check } = checkAt();
  expect(check.isRight("open sesame")).toBe(true);
  for (const shown of ["", "open", "open sesame ", "OPEN SESAME", undefined, null, 7, ["open sesame"], {}])
    expect(check.isRight(shown)).toBe(false);
});

test("an empty token is refused, because everybody could show it", () => {
  expect(() => new TokenCheck("")).toThrow("must not be empty");
});

test("a connection waits longer with every wrong token, up to four seconds", () => {
  const { check } = checkAt();
  expect([0, 1, 2, 3, 4, 5, 6, 99].map((wrong) => check.waitMs(wrong))).toEqual([
    0, 250, 500, 1_000, 2_000, 4_000, 4_000, 4_000,
  ]);
});

test("a few wrong tokens slow down no other connection, many do, and none for more than a second, or after a minute", () => {
  const { check, clock } = checkAt();
  for (let guess = 0; guess < 10; guess++) check.isRight("guess");
  expect(check.waitMs(0)).toBe(0);
  for (let guess = 0; guess < 4; guess++) check.isRight("guess");
  expect(check.waitMs(0)).toBe(200);
  for (let guess = 0; guess < 1_000; guess++) check.isRight("guess");
  expect(check.waitMs(0)).toBe(1_000);
  clock.now += 60_000;
  expect(check.waitMs(0)).toBe(0);
});

test("wrong tokens are forgotten, one in a second, also when the clock was set back meanwhile", () => {
  const { check, clock } = checkAt();
  for (let guess = 0; guess < 20; guess++) check.isRight("guess");
  expect(check.waitMs(0)).toBe(500);
  clock.now += 5_000;
  expect(check.waitMs(0)).toBe(250);
  clock.now -= 60_000;
  expect(check.waitMs(0)).toBe(250);
  clock.now += 10_000;
  expect(check.waitMs(0)).toBe(0);
});
