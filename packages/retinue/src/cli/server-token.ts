/**
 * Which token the clients of a TCP server must show.
 *
 * Never an argument of the command line, which every user of the machine can read: a file, the environment, or one that is made here.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "@retinue/protocol/errors";
import type { ListenAddress } from "../server/listen-address.ts";
import type { ProcessContext } from "./cli-context.ts";
import { UsageError } from "./usage-error.ts";

export interface TokenOptions {
  /** False: none is wanted. */
  token?: boolean;
  tokenFile?: string;
  /** Started as official clients do, which connect as their environment says. */
  headless?: boolean;
}

export interface ServerToken {
  value?: string;
  origin: "given" | "made" | "none";
}

/** What serve takes its token from; both spellings of the command know it. */
const VARIABLE = "COPILOT_CONNECTION_TOKEN";

export function serverToken(
  { token: isWanted = true, tokenFile, headless: isHeadless = false }: TokenOptions,
  { env, at }: { env: ProcessContext["env"]; at: ListenAddress },
): ServerToken {
  const given = tokenFile === undefined ? env[VARIABLE] || undefined : tokenIn(tokenFile);
  if (given !== undefined) {
    if (!isWanted)
      throw new UsageError(`--no-token is not for a server that is given a token. Leave it out, or unset ${VARIABLE}`);
    return { value: given, origin: "given" };
  }
  if (!at.isLoopback)
    throw new UsageError(
      `--host ${at.address} may be reached by other machines, which needs a token of your own: set ${VARIABLE}, or give --token-file`,
    );
  if (isHeadless || !isWanted) return { origin: "none" };
  return { value: randomBytes(24).toString("hex"), origin: "made" };
}

function tokenIn(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new UsageError(`--token-file cannot be read: ${messageOf(error)}`);
  }
  if (text.trim() === "" || /[\r\n]/.test(text))
    throw new UsageError(`--token-file must hold the token on one line, and ${file} does not`);
  const isOpenToOthers = process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0;
  if (isOpenToOthers) process.stderr.write(`retinue: other users may read ${file}: chmod 600 keeps the token yours\n`);
  return text;
}
