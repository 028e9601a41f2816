import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vitest/config";

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
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
