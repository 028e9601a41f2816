/**
 * What is kept of a sign-in: for whom the tokens are, who gave them, and the client that they were given to.
 *
 * One file for each server in `mcp-oauth/` of the home folder, for its owner alone, or only the memory of a session. Whoever changes one
 * holds its lock, because a refresh token can often be used only once.
 */
import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { addKnownValue } from "../../secrets/known-values.ts";
import { withFileLock } from "../../store/locked-file.ts";
import { makePrivateFolder, writePrivateFile } from "../../store/private-files.ts";
import type { RemoteServer } from "../server-config.ts";

const Tokens = z.object({
  access_token: z.string(),
  refresh_token: z.string().optional(),
  scope: z.string().optional(),
  /** Milliseconds since 1970. */
  expiresAt: z.number().optional(),
});
export type Tokens = z.output<typeof Tokens>;

const SignIn = z.object({
  version: z.literal(1),
  /** The address that the tokens are sent to, and no other. */
  server: z.string(),
  authorizationServer: z.string(),
  resource: z.string(),
  client: z.object({
    client_id: z.string(),
    client_secret: z.string().optional(),
    token_endpoint_auth_method: z.string().optional(),
  }),
  /** Where the browser was sent back to. Absent: a client that was registered beforehand. */
  redirectUrl: z.string().optional(),
  /** Absent: signed out, or the tokens are worth nothing any more. */
  tokens: Tokens.optional(),
});
export type SignIn = z.output<typeof SignIn>;

/** Where the sign-ins of one server are. */
export interface SignInPlace {
  /** The same for everybody who would read the same sign-in. */
  readonly id: string;
  read(): SignIn | undefined;
  write(signIn: SignIn | undefined): void;
  /** One at a time, also among processes. */
  locked<T>(work: () => Promise<T>): Promise<T>;
}

export function placeInMemory(): SignInPlace {
  let kept: SignIn | undefined;
  return {
    id: crypto.randomUUID(),
    read: () => kept,
    write: (signIn) => {
      hide(signIn);
      kept = signIn;
    },
    locked: oneAtATime(),
  };
}

const inThisProcess = new Map<string, SignInPlace["locked"]>();

/** What is kept for a server begins with this; the rest of the name says what it is. */
export function keptPath(home: string, { name, config }: { name: string; config: RemoteServer }): string {
  const about = JSON.stringify([name, config.url, config.oauthClientId ?? null]);
  return join(home, "mcp-oauth", createHash("sha256").update(about).digest("hex").slice(0, 32));
}

export function placeInHome(home: string, server: { name: string; config: RemoteServer }): SignInPlace {
  const { url } = server.config;
  const path = keptPath(home, server);
  const inTurn = inThisProcess.get(path) ?? oneAtATime();
  inThisProcess.set(path, inTurn);
  return {
    id: path,
    read: () => {
      const found = keptDocument(`${path}.json`, SignIn);
      if (found?.server !== url) return undefined;
      hide(found);
      return found;
    },
    write: (signIn) => {
      hide(signIn);
      if (signIn) writeKept(`${path}.json`, signIn);
      else rmSync(`${path}.json`, { force: true });
    },
    locked: (work) =>
      inTurn(() => withFileLock({ path: `${path}.lock`, what: "the sign-in to this MCP server" }, work)),
  };
}

export function writeKept(path: string, document: object): void {
  makePrivateFolder(dirname(path));
  // Nobody reads half a file, and a full disk leaves the old one.
  const fresh = `${path}.${process.pid}.new`;
  writePrivateFile(fresh, `${JSON.stringify(document, null, 2)}\n`);
  renameSync(fresh, path);
}

function oneAtATime(): SignInPlace["locked"] {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** A file that cannot be read as what it is to be is as good as none: signing in again writes a new one. */
export function keptDocument<T>(path: string, schema: z.ZodType<T>): T | undefined {
  const text = textOf(path);
  if (text === undefined) return undefined;
  try {
    const found = schema.safeParse(JSON.parse(text));
    return found.success ? found.data : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A server may repeat what it was sent, in an error or in a result. */
function hide(signIn: SignIn | undefined): void {
  const { access_token, refresh_token } = signIn?.tokens ?? {};
  for (const secret of [access_token, refresh_token, signIn?.client.client_secret]) if (secret) addKnownValue(secret);
}
