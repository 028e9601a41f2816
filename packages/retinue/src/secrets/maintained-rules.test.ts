/** Our table of formats against a rule set that others keep up to date: what secretlint finds, we must hide. */
import { lintSource } from "@secretlint/core";
import { creator } from "@secretlint/secretlint-rule-preset-recommend";
import { expect, test } from "vitest";
import { CREDENTIALS, exampleOf } from "./corpus/test-corpus.ts";
import { redact } from "./redact.ts";

const PRESET = "@secretlint/secretlint-rule-preset-recommend";

/** The parts of the text that secretlint takes for secrets. */
async function found(content: string): Promise<string[]> {
  const { messages } = await lintSource({
    source: { content, filePath: "conversation.txt", contentType: "text", ext: ".txt" },
    options: { config: { rules: [{ id: PRESET, rule: creator, options: {} }] } },
  });
  return messages.map(({ range: [from, to] }) => content.slice(from, to));
}

test.each([1, 2, 3, 4, 5])(
  "whatever secretlint finds in the corpus of credentials is hidden (values %i)",
  async (seed) => {
    const text = CREDENTIALS.map((pattern) => exampleOf(pattern, seed).text).join("\n\n");
    const secrets = await found(text);
    expect(secrets.length).toBeGreaterThan(20);
    const clean = redact(text);
    expect(secrets.filter((secret) => clean.includes(secret))).toEqual([]);
  },
);

test("secretlint finds nothing in what is left of them", async () => {
  const text = CREDENTIALS.map((pattern) => exampleOf(pattern).text).join("\n\n");
  expect(await found(redact(text))).toEqual([]);
});
