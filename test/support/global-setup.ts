/** Bundles the executable once before the tests, and only when a source is newer than the bundle. */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bundle = path.join(root, "packages/retinue/dist/main.cjs");

export function setup(): void {
  if (process.env.RETINUE_COMPAT_RUNTIME !== undefined || isFresh()) return;
  const built = spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`the bundle could not be built:\n${built.stderr}`);
}

function isFresh(): boolean {
  const built = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs ?? 0;
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
