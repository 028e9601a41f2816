/**
 * The secret of a client that was registered beforehand, in `mcp-oauth/` of the home folder, for its owner alone.
 *
 * An MCP server says itself who gives tokens for it. So that it cannot have the secret sent to somebody else one day, the secret belongs to
 * the authorization server that got it first; for another one it has to be given again.
 */
import { rmSync } from "node:fs";
import { AppError, visible } from "@retinue/protocol";
import * as z from "zod";
import { addKnownValue } from "../../secrets/known-values.ts";
import type { RemoteServer } from "../server-config.ts";
import { keptDocument, keptPath, writeKept } from "./kept-sign-in.ts";

const Kept = z.object({
  version: z.literal(1),
  server: z.string(),
  clientId: z.string(),
  secret: z.string(),
  authorizationServer: z.string().optional(),
});

export interface ClientSecret {
  /** Whether there is one. */
  readonly isKept: boolean;
  keep(secret: string): void;
  forget(): void;
  /** Undefined: there is none. Throws when it is for another authorization server. */
  for(authorizationServer: string): string | undefined;
}

export function secretInHome(home: string, server: { name: string; config: RemoteServer }): ClientSecret {
  const path = `${keptPath(home, server)}.client.json`;
  const { url, oauthClientId: clientId } = server.config;
  const read = () => {
    const found = keptDocument(path, Kept);
    if (found?.server !== url || found.clientId !== clientId) return undefined;
    addKnownValue(found.secret);
    return found;
  };
  return {
    get isKept() {
      return read() !== undefined;
    },
    keep: (secret) => {
      if (clientId === undefined) throw new AppError("invalid_params", "the server has no oauthClientId");
      addKnownValue(secret);
      writeKept(path, { version: 1, server: url, clientId, secret });
    },
    forget: () => rmSync(path, { force: true }),
    for: (authorizationServer) => {
      const found = read();
      if (!found) return undefined;
      if (found.authorizationServer === undefined) writeKept(path, { ...found, authorizationServer });
      else if (found.authorizationServer !== authorizationServer) throw movedOn(authorizationServer, clientId);
      return found.secret;
    },
  };
}

function movedOn(authorizationServer: string, clientId = ""): AppError {
  const words = `the secret of the client ${visible(clientId)} is kept for another authorization server than ${visible(authorizationServer)}`;
  return new AppError("authentication_failed", `${words}; give it again if that is right`);
}
