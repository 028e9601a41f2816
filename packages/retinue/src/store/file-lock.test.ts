import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockFile } from "./file-lock.ts";

test("a lock can be taken once, and again after it was released", () => {
  const folder = mkdtempSync(join(tmpdir(), "retinue-lock-"));
  const path = join(folder, "lock");
  const lock = lockFile(path);
  expect(() => lockFile(path)).toThrow(/locked/);
  lock.release();
  lockFile(path).release();
  rmSync(folder, { recursive: true });
});
