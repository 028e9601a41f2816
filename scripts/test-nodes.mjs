/**
 * Runs the tests with other versions of Node than the one that is installed. They come from npm's `node` package, into a folder that is removed
 * afterwards. Arguments go to vitest: `npm run test:nodes -- test/compat`. `--node 24` (repeatable) names a version.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const VERSIONS = ["22", "24"];
const root = fileURLToPath(new URL("..", import.meta.url));
const { wanted, args } = readArguments(process.argv.slice(2));
const folder = mkdtempSync(path.join(tmpdir(), "retinue-nodes-"));
const failed = [];
try {
  for (const version of wanted) {
    const node = install(version);
    console.log(`\nThe tests on Node ${spawnSync(node, ["--version"], { stdio: "pipe" }).stdout.toString().trim()}`);
    // What tests start by name must be the same Node.
    const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}` };
    const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
    const { status } = spawnSync(node, [vitest, "run", ...args], { cwd: root, env, stdio: "inherit" });
    if (status !== 0) failed.push(version);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  failed.length > 0 ? `\nFailed on Node ${failed.join(" and ")}` : `\nPassed on Node ${wanted.join(" and ")}`,
);
process.exitCode = failed.length > 0 ? 1 : 0;

function readArguments(given) {
  const { tokens } = parseArgs({
    args: given,
    options: { node: { type: "string", multiple: true } },
    strict: false,
    tokens: true,
  });
  const ours = tokens.filter((token) => token.kind === "option" && token.name === "node");
  const taken = new Set(ours.flatMap(({ index, inlineValue }) => (inlineValue ? [index] : [index, index + 1])));
  const versions = ours.map(({ value }) => value ?? "");
  return { wanted: versions.length > 0 ? versions : VERSIONS, args: given.filter((_, index) => !taken.has(index)) };
}

function install(version) {
  const at = path.join(folder, version);
  mkdirSync(at);
  writeFileSync(path.join(at, "package.json"), '{"private":true}\n');
  const { status } = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", `node@${version}`], {
    cwd: at,
    stdio: ["ignore", 2, 2],
  });
  const node = path.join(at, "node_modules/node/bin", process.platform === "win32" ? "node.exe" : "node");
  if (status !== 0 || !existsSync(node)) throw new Error(`npm could not install node@${version}`);
  return node;
}
