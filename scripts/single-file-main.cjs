/**
 * What the single executable runs first: it unpacks what it carries, and loads the bundle from there.
 *
 * With `--as-node --eval <code> …` it does what Node would do: the runtime starts itself in this way where it would start Node.
 */
const { createRequire } = require("node:module");
const { homedir } = require("node:os");
const path = require("node:path");
const { getRawAsset } = require("node:sea");
const vm = require("node:vm");
const { compile } = require("../bin/load.js");
const { unpack } = require("./unpack.cjs");

const [, , first, second, code, ...rest] = process.argv;
try {
  if (first === "--as-node" && second === "--eval") evaluate(code, rest);
  else compile(path.join(unpack(Buffer.from(getRawAsset("files")), cacheFolder()), "dist/main.cjs")).run();
} catch (error) {
  process.stderr.write(`retinue: ${error.message}\n`);
  process.exitCode = 1;
}

function evaluate(text, args) {
  process.argv = [process.execPath, ...args];
  globalThis.require = createRequire(process.execPath);
  vm.runInThisContext(text, { filename: "[eval]" });
}

function cacheFolder() {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const ofSystem = {
    darwin: path.join(homedir(), "Library/Caches"),
    win32: LOCALAPPDATA || path.join(homedir(), "AppData/Local"),
  };
  return path.join(XDG_CACHE_HOME || (ofSystem[process.platform] ?? path.join(homedir(), ".cache")), "retinue");
}
