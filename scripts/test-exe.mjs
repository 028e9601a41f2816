/**
 * Builds the single executable for this platform and uses it: its commands, then the official SDK as its client. Arguments name other tests of
 * test/compat than the few that are run by default.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const SMOKE = ["handshake", "turns", "sessions", "permissions", "host-tools", "builtin-tools"];
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-test-exe-")));
const given = process.argv.slice(2);
try {
  run(process.execPath, ["scripts/release.mjs", "--exe", "--out", path.join(folder, "release")]);
  const name = readdirSync(path.join(folder, "release")).find((file) =>
    file.startsWith(`retinue-${process.platform}-${process.arch}`),
  );
  const executable = path.join(folder, "release", name ?? "");
  vitest(["--config", "test/executable/vitest.config.ts"], { RETINUE_EXECUTABLE: executable });
  const tests = given.length > 0 ? given : SMOKE.map((test) => `test/compat/${test}.test.ts`);
  vitest(tests, { RETINUE_COMPAT_RUNTIME: executable, XDG_CACHE_HOME: path.join(folder, "cache") });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function vitest(args, env) {
  run(process.execPath, [path.join(root, "node_modules/vitest/vitest.mjs"), "run", ...args], env);
}

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, { cwd: root, env: { ...process.env, ...env }, stdio: "inherit" });
  if (status !== 0) throw new Error(`failed: ${args.slice(0, 3).join(" ")}`);
}
