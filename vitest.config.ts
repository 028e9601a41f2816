import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vitest/config";
import { PATIENCE_MS, TEST_MS } from "./test/support/patience.ts";
import { SlowFirst } from "./test/support/slow-first.ts";

/** The same rule as in scripts/build.mjs: a Markdown import is its text. */
const markdownAsText: Plugin = {
  name: "markdown-as-text",
  enforce: "pre",
  load(id) {
    if (id.endsWith(".md")) return `export default ${JSON.stringify(readFileSync(id, "utf8"))}`;
    return undefined;
  },
};

export default defineConfig({
  plugins: [markdownAsText],
  test: {
    include: ["packages/*/src/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS * 2, // Some prepare every case of their file.
    expect: { poll: { timeout: PATIENCE_MS, interval: 20 } },
    sequence: { sequencer: SlowFirst },
    pool: "forks",
    maxWorkers: 3, // One more than the cores of a small machine: a good part of a test is waiting for processes.
  },
});
