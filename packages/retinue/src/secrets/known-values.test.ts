import { afterEach, describe, expect, test } from "vitest";
import { addKnownValue, addOwnKey, forgetKnownValues, hideKnownValues, withoutKnownValues } from "./known-values.ts";
import { redact } from "./redact.ts";

afterEach(forgetKnownValues);

const VALUE = 'plain words/with "marks"';

describe("a value that is known to be secret", () => {
  test.each([0, 1, 2, 3, 4])("is hidden in base64 after %d other bytes", (count) => {
    addKnownValue(VALUE);
    const encoded = Buffer.from(`${"u".repeat(count)}${VALUE}:rest`).toString("base64");
    const shown = Buffer.from(hideKnownValues(encoded).split("[redacted secret]").join(""), "base64").toString();
    expect(shown).not.toContain("words");
    expect(hideKnownValues(encoded)).toContain("[redacted secret]");
  });

  test("is hidden as it is, in an address, in JSON and in JSON within JSON", () => {
    addKnownValue(VALUE);
    const nested = JSON.stringify({ inner: JSON.stringify({ value: VALUE }) });
    for (const text of [VALUE, encodeURIComponent(VALUE), JSON.stringify(VALUE), nested])
      expect(redact(`before ${text} after`)).toMatch(/before .*\[redacted secret\].* after/);
  });

  test("is hidden as a whole when it contains another", () => {
    addKnownValue("abcd");
    addKnownValue("abcdefgh");
    expect(hideKnownValues("x abcdefgh y abcd z")).toBe("x [redacted secret] y [redacted secret] z");
  });

  test("is hidden in every string of a value, names included", () => {
    addKnownValue("hunter22");
    expect(withoutKnownValues({ a: ["hunter22", 1, null], hunter22: { b: "x hunter22" } })).toEqual({
      a: ["[redacted secret]", 1, null],
      "[redacted secret]": { b: "x [redacted secret]" },
    });
  });

  test("is not made of a word that a local endpoint is given in place of a key", () => {
    for (const word of ["not-needed", "lm-studio", "ollama-local-server", "key"]) addOwnKey(word);
    expect(hideKnownValues("not-needed lm-studio ollama-local-server key")).not.toContain("[redacted");
    addOwnKey("k3y0f7h1s9run");
    expect(hideKnownValues("k3y0f7h1s9run")).toBe("[redacted secret]");
  });
});
