/**
 * Before the tests: bundles the executable, only when a source is newer than the bundle. After them: nothing that a test started may still
 * run, whether the test passed or failed.
 */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { MARK, startedWith } from "./left-processes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const executable = path.join(root, "packages/retinue/dist/main.cjs");

/** What ends by itself has this long to do so. */
const LAST_MS = 10_000;

export function setup(): () => Promise<void> {
  const mark = randomUUID();
  process.env[MARK] = mark; // Workers and what they start inherit it.
  bundle();
  return async () => {
    for (let waited = 0; waited < LAST_MS && startedWith(mark).length > 0; waited += 100) await delay(100);
    const left = startedWith(mark);
    for (const { pid } of left) process.kill(pid, "SIGKILL");
    if (left.length === 0) return;
    process.exitCode = 1;
    throw new Error(`tests left processes running:\n${left.map(({ pid, command }) => `${pid} ${command}`).join("\n")}`);
  };
}

function bundle(): void {
  if (process.env.RETINUE_COMPAT_RUNTIME !== undefined || isFresh()) return;
  const built = spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`the bundle could not be built:\n${built.stderr}`);
}

function isFresh(): boolean {
  const built = statSync(executable, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return sources().every((file) => statSync(file).mtimeMs <= built);
}

function sources(): string[] {
  const packages = readdirSync(path.join(root, "packages")).map((name) => path.join(root, "packages", name, "src"));
  return packages.flatMap((folder) => (statSync(folder, { throwIfNoEntry: false }) ? filesBelow(folder) : []));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
