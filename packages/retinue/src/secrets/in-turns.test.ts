/** Long texts are read in turns of the loop, and nothing slips through where a turn ends. */
import { afterEach, describe, expect, test } from "vitest";
import { CREDENTIALS, exampleOf, readable } from "./corpus/test-corpus.ts";
import { addKnownValue, forgetKnownValues } from "./known-values.ts";
import { redact, redactInTurns } from "./redact.ts";

afterEach(forgetKnownValues);

/** As in redact.ts. */
const SLICE = 64 * 1024;
const EXAMPLES = CREDENTIALS.map((pattern) => exampleOf(pattern));
const ordinary = (length: number) => "some words of a file\n".repeat(Math.ceil(length / 21)).slice(0, length);

/** A text with one of these across the end of each slice, so that a part of it, from 0 to 1, stands before that end. */
function across(pieces: readonly string[], part: number): string {
  let text = "";
  for (const [at, piece] of pieces.entries()) {
    const from = (at + 1) * SLICE - Math.floor(piece.length * part);
    text += `${ordinary(from - text.length - 1)}\n${piece}\n`;
  }
  return `${text}${ordinary(SLICE)}`;
}

function groups<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}

describe("redaction in turns", () => {
  test.each([0.1, 0.35, 0.5, 0.65, 0.9])(
    "hides the same as at once when a turn ends in a secret, %d of it before the end",
    async (part) => {
      for (const examples of groups(EXAMPLES, 16)) {
        const text = across(
          examples.map((each) => each.text),
          part,
        );
        const [shown = ""] = await redactInTurns([text]);
        expect(shown === redact(text)).toBe(true);
        const slipped = examples.filter(
          (each) =>
            readable(each, redact(`${ordinary(42)}\n${each.text}\n`)).length === 0 && readable(each, shown).length > 0,
        );
        expect(slipped).toEqual([]);
      }
    },
  );

  test("ends a turn at every character of a key, and shows no part of the key", async () => {
    const key = `ghp_${"a1B2c3D4e5F6g7H8i9".repeat(2)}`;
    for (const places of groups(
      Array.from(key, (_, at) => at),
      12,
    )) {
      const text = places
        .map((place) => `${ordinary(SLICE - place - 1)} ${key} ${ordinary(SLICE - key.length - 1 + place)}`)
        .join("");
      const [shown = ""] = await redactInTurns([text]);
      expect(shown).not.toMatch(/ghp_|1B2c|D4e5|g7H8/);
    }
  });

  test("lets others work between the turns, in one long text as in many short ones", async () => {
    for (const texts of [[ordinary(20 * SLICE)], Array.from({ length: 200 }, () => ordinary(SLICE / 10))]) {
      let turns = 0;
      let isDone = false;
      const count = () => {
        turns++;
        if (!isDone) setImmediate(count);
      };
      setImmediate(count);
      await redactInTurns(texts);
      isDone = true;
      expect(turns).toBeGreaterThanOrEqual(15);
    }
  });

  test("hides a known value that the end of a turn divides", async () => {
    addKnownValue("not-a-real-value");
    const [shown = ""] = await redactInTurns([across(["not-a-real-value", "not-a-real-value"], 0.5)]);
    expect(shown.split("[redacted secret]")).toHaveLength(3);
  });
});
