/**
 * Makes a clone ready to run: installs what package-lock.json names and bundles the executable, each only when needed.
 * Every command of the README starts here, so one command is enough on a fresh machine.
 */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";

process.chdir(new URL("..", import.meta.url).pathname);

const installed = "node_modules/.package-lock.json";
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync("package-lock.json").mtimeMs) {
  console.error("retinue: installing dependencies (npm ci) …");
  run("npm", ["ci", "--no-audit", "--no-fund"]);
}
console.error("retinue: building the executable …");
run(process.execPath, ["scripts/build.mjs"]);

function run(command, args) {
  // npm's own progress goes to stderr, so that what a command prints is only its own.
  const { status } = spawnSync(command, args, { stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}
