/** A small MCP server over stdio for tests: `add` (read-only), `shout` (asks for permission), `fail` and `meta`. */
import { createInterface } from "node:readline";

const text = { type: "object", properties: { text: { type: "string" } } };
const numbers = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };
const tools = [
  { name: "add", description: "Adds.", inputSchema: numbers, annotations: { readOnlyHint: true } },
  { name: "shout", description: "Shouts.", inputSchema: text },
  { name: "meta", description: "Repeats the metadata.", inputSchema: text, annotations: { readOnlyHint: true } },
  { name: "fail", description: "Fails.", inputSchema: text, annotations: { readOnlyHint: true } },
];

const said = (value, isError = false) => ({ content: [{ type: "text", text: value }], isError });

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "small", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name, arguments: args = {}, _meta }) => {
    if (name === "add") return said(String(args.a + args.b));
    if (name === "shout") return said(`${args.text}!`.toUpperCase());
    if (name === "meta") return said(JSON.stringify(_meta ?? null));
    return said("it does not work", true);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: `no method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
}
