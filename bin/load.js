/**
 * Loads the bundle with the code that was compiled ahead for it, when that fits this Node.
 * CommonJS, because it starts faster than a module would.
 */
const { readFileSync } = require("node:fs");
const { createRequire, wrap } = require("node:module");
const path = require("node:path");
const vm = require("node:vm");

const ID = /^\/\*([0-9a-f]{32})\*\//;

function compile(file) {
  const source = readFileSync(file, "utf8");
  const id = ID.exec(source)?.[1] ?? "";
  const script = new vm.Script(wrap(source), { filename: file, cachedData: cachedCode(file, id) });
  const run = () => {
    const bundle = { exports: {} };
    script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, path.dirname(file));
    return bundle.exports;
  };
  return { script, run, id };
}

function cachedCode(file, id) {
  try {
    const cache = readFileSync(file.replace(/\.cjs$/, ".cache"));
    return cache.subarray(0, id.length).toString() === id ? cache.subarray(id.length) : undefined;
  } catch {
    return undefined; // Not compiled ahead: it starts a little slower.
  }
}

module.exports = { compile };
