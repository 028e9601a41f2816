import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERRORS } from "./errors.ts";
import { protocolPage } from "./page.ts";

const docs = new URL("../../../docs/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, docs), "utf8");

test("docs/protocol.md is what the tables say; `npm run docs` writes it", () => {
  expect(read("protocol.md")).toBe(protocolPage());
});

test("every error code has its own heading in docs/errors.md, and no heading is stale", () => {
  const headings = [...read("errors.md").matchAll(/^## (\w+)$/gm)].map(([, code]) => code);
  expect(headings).toEqual(Object.keys(ERRORS));
});
