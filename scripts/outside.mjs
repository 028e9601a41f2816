/** Packages that stay outside the bundle: binaries cannot be bundled, and what most runs never need would make it slower to load. */
export const OUTSIDE = [
  "@photostructure/sqlite",
  "@vscode/ripgrep",
  "undici",
  "ipaddr.js",
  "htmlparser2",
  "linkedom",
  "@mozilla/readability",
  "pino",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/server",
  "web-tree-sitter",
  "hono",
  "@hono/node-server",
];

export const outsideImports = OUTSIDE.flatMap((name) => [name, `${name}/*`]);
