/** What clients ask about servers that they name. Loads nothing. */
import { AppError } from "@retinue/protocol";
import type { McpHost } from "./host.ts";
import type { ServerSignIn } from "./oauth/server-sign-in.ts";

export const isRunning = (host: McpHost, name: string): boolean =>
  host.reached(name).some(({ connection }) => connection.status === "connected");

export async function signInOf(host: McpHost, name: string): Promise<ServerSignIn> {
  const [server] = host.reached(name);
  if (!server) throw new AppError("not_configured", `MCP server '${name}' is not configured`);
  const signIn = await server.signIn();
  if (signIn) return signIn;
  throw new AppError("not_configured", `MCP server '${name}' is not one that anybody signs in to`);
}

/** This server, or all that somebody is signed in to, get a token that no other session has. */
export async function takeOwnTokens(host: McpHost, name?: string): Promise<void> {
  if (name !== undefined) return await (await signInOf(host, name)).useOwnToken();
  const signIns = await Promise.all(host.reached().map((server) => server.signIn()));
  await Promise.all(signIns.map((signIn) => signIn?.useOwnToken()));
}

/** Tries servers again that want a sign-in: this one, or all. They are `pending` when this returns; the promise waits for how it went. */
export async function retrySignIns(host: McpHost, name?: string): Promise<void> {
  const refused = host.reached(name).filter(({ connection }) => connection.status === "needs-auth");
  await Promise.allSettled(refused.map(({ connection }) => connection.start()));
}
