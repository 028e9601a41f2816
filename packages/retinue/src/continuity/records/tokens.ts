/** Tokens: the owner's in a file that only the owner can read, scoped ones in the store, as hashes. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { AppError } from "@retinue/protocol";
import { PRIVATE_FILE } from "../../store/private-files.ts";
import type { TranscriptStore } from "../../store/transcripts.ts";
import { tidyPath } from "./paths.ts";
import { type Caller, OWNER } from "./scope.ts";
import { tokenFile } from "./token-file.ts";

const newToken = () => `rtn_${randomBytes(24).toString("base64url")}`;
const hash = (token: string) => createHash("sha256").update(token).digest("hex");

/** The owner's token; made when there is none. */
export function ownerToken(home: string): string {
  try {
    writeFileSync(tokenFile(home), newToken(), { mode: PRIVATE_FILE, flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readFileSync(tokenFile(home), "utf8").trim();
}

/** The caller that a token belongs to; undefined when there is none. */
export async function callerOf(
  { tokens }: TranscriptStore,
  { owner, token }: { owner: string; token: string },
): Promise<Caller | undefined> {
  const digest = hash(token);
  if (timingSafeEqual(Buffer.from(digest), Buffer.from(hash(owner)))) return OWNER;
  const found = await tokens.find(digest);
  return found && { agentId: found.agentId, project: found.project && tidyPath(found.project) };
}

export interface NewToken extends Caller {
  name: string;
  at: number;
}

export async function createToken({ tokens }: TranscriptStore, wanted: NewToken): Promise<string> {
  if (wanted.agentId === undefined && wanted.project === undefined)
    throw new AppError("invalid_params", "A scoped token needs an agent, a project, or both");
  const token = newToken();
  const project = wanted.project && tidyPath(wanted.project);
  if (!(await tokens.add({ ...wanted, project, hash: hash(token) })))
    throw new AppError("invalid_params", `There is a token ${wanted.name} already`);
  return token;
}
