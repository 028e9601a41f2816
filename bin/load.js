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
  const { code, values } = ahead(file, id);
  const script = new vm.Script(wrap(source), { filename: file, cachedData: code });
  const run = () => {
    globalThis.retinuePrepared = values;
    const bundle = { exports: {} };
    script.runInThisContext()(bundle.exports, createRequire(file), bundle, file, path.dirname(file));
    return bundle.exports;
  };
  return { script, run, id };
}

/** What scripts/compile-ahead.cjs wrote for this very bundle: its id, the length of the prepared values, the values, the code. */
function ahead(file, id) {
  try {
    const bytes = readFileSync(file.replace(/\.cjs$/, ".cache"));
    if (bytes.toString("latin1", 0, 32) !== id) return {};
    const end = 40 + Number.parseInt(bytes.toString("latin1", 32, 40), 16);
    return { values: JSON.parse(bytes.toString("utf8", 40, end)), code: bytes.subarray(end) };
  } catch {
    return {}; // Not compiled ahead: it starts a little slower.
  }
}

module.exports = { compile };
