#!/usr/bin/env node
const { existsSync } = require("node:fs");
const path = require("node:path");
const { compile } = require("./load.js");

const bundle = path.join(__dirname, "../packages/retinue/dist/main.cjs");
if (existsSync(bundle)) {
  compile(bundle).run();
} else {
  process.stderr.write("retinue: not built yet. Run `npm run build` in this folder first.\n");
  process.exit(1);
}
