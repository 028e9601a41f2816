/** The one list of operations, and the table of routes that the docs show of it. */
import * as z from "zod";
import { entityOperations } from "./entity-operations.ts";
import { hookOperations } from "./hook-operations.ts";
import { type Operation, operation, word } from "./operation.ts";
import { sessionOperations } from "./session-operations.ts";
import { createToken, listTokens, removeToken } from "./tokens.ts";
import { sql } from "./transaction.ts";

const adminOperations = [
  operation({
    name: "health",
    method: "GET",
    path: "/health",
    summary: "Whether the daemon serves.",
    access: "public",
    input: z.object({}),
    run: ({ db }) => {
      sql(db, "SELECT 1").get();
      return { status: "ok", pid: process.pid, uptimeSeconds: Math.round(process.uptime()) };
    },
  }),
  operation({
    name: "agent_set",
    method: "PUT",
    path: "/api/agents/{agentId}",
    summary: "Whether an agent also reads what is global, and whether its own sessions are.",
    access: "owner",
    input: z.object({
      agentId: word(),
      reads: z.enum(["isolated", "shared"]).default("isolated"),
      visibility: z.enum(["private", "global"]).default("private"),
    }),
    run({ db }, _caller, { agentId, reads, visibility }) {
      sql(db, "INSERT OR REPLACE INTO continuity_agents VALUES (?, ?, ?)").run(agentId, reads, visibility);
      return { agentId, reads, visibility };
    },
  }),
  operation({
    name: "token_add",
    method: "POST",
    path: "/api/tokens",
    summary: "Makes a token that is bound to an agent, a project, or both. It is shown once.",
    access: "owner",
    input: z.object({ name: word(), agentId: word().optional(), project: word().optional() }),
    run: ({ db, world }, _caller, input) => ({ token: createToken(db, { ...input, at: world.now() }) }),
  }),
  operation({
    name: "token_list",
    method: "GET",
    path: "/api/tokens",
    summary: "The scoped tokens, without their secrets.",
    access: "owner",
    input: z.object({}),
    run: ({ db }) => ({ tokens: listTokens(db) }),
  }),
  operation({
    name: "token_remove",
    method: "DELETE",
    path: "/api/tokens/{name}",
    summary: "Takes a scoped token back.",
    access: "owner",
    input: z.object({ name: word() }),
    run: ({ db }, _caller, { name }) => ({ removed: removeToken(db, name) }),
  }),
];

export const operations: readonly Operation[] = [
  ...hookOperations,
  ...sessionOperations,
  ...entityOperations,
  ...adminOperations,
];

export function operationNamed(name: string): Operation {
  const found = operations.find((each) => each.name === name);
  if (!found) throw new Error(`no operation ${name}`);
  return found;
}

/** The table in docs/continuity.md. */
export function routeTable(): string {
  const rows = operations.map(({ method, path, access, tool, summary, input }) => {
    const fields = Object.keys(input instanceof z.ZodObject ? input.shape : {}).map((name) => `\`${name}\``);
    return `| \`${method} ${path}\` | ${access} | ${summary}${tool ? " Also an MCP tool." : ""} | ${fields.join(", ") || "—"} |`;
  });
  return ["| route | token | what it does | fields |", "|---|---|---|---|", ...rows].join("\n");
}
