/** What `npm run test:exe` runs on the single executable; `npm test` does not build that. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: { include: ["test/executable/*.exe.ts"], testTimeout: 60_000, pool: "forks" },
});
