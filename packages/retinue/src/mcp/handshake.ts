/** How a connection is opened: with the newer handshake first, and the older one for servers that exit on requests they do not know. */
import { Client, type ClientCapabilities, type Prompt, type Tool as ServerTool } from "@modelcontextprotocol/client";
import { AppError, lazy, type McpServerConfig, messageOf } from "@retinue/protocol";
import * as z from "zod";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import { type Link, openLink } from "./link.ts";
import { isSignInNeeded } from "./oauth/refusal.ts";
import type { ServerSignIn } from "./oauth/server-sign-in.ts";
import { isLocal } from "./server-config.ts";
import { NO_LIMIT_MS, TimeLimit } from "./time-limit.ts";

/** An open connection. */
export interface Live {
  client: Client;
  link: Link;
  /** Nothing of the server is left when this returns. */
  close(): Promise<void>;
}

export interface Handshake {
  signal: AbortSignal;
  /** For the whole start. */
  limitMs: number;
  /** Called before the first message, to set handlers for what the server may ask. */
  prepare(client: Client): void;
  onToolsChanged(tools: readonly ServerTool[]): void;
  onPromptsChanged(prompts: readonly Prompt[]): void;
  onResourcesChanged(): void;
  onLost(live: Live): void;
}

export interface Opened {
  live: Live;
  tools: readonly ServerTool[];
  prompts: readonly Prompt[];
}

interface Server {
  config: McpServerConfig;
  workingDirectory: string;
  clientVersion: string;
  processes?: ProcessLedger;
  elicit?: unknown;
  signIn?: ServerSignIn;
  sample?: unknown;
  roots?: unknown;
}

const PROBE_LIMIT_MS = 2000;
/** Nobody should wait longer for a server that works otherwise. */
const PROMPTS_LIMIT_MS = 5000;

/** Older programs say nothing to a question that they do not know. A server over HTTP always answers, and may be slow. */
const probeLimitMs = ({ config }: Server, { limitMs }: Handshake): number =>
  isLocal(config) ? PROBE_LIMIT_MS : Math.min(limitMs, NO_LIMIT_MS);

/** Throws the server's own error, or `authentication_required`; then nothing is left behind. */
export async function connect(server: Server, shake: Handshake): Promise<Opened> {
  const limit = new TimeLimit(shake.limitMs);
  const signal = AbortSignal.any([shake.signal, limit.signal]);
  try {
    return await connectEitherWay(server, { ...shake, signal });
  } finally {
    limit.clear();
  }
}

async function connectEitherWay(server: Server, shake: Handshake): Promise<Opened> {
  const first = openLink(server.config, server);
  try {
    return await greet(server, first, { ...shake, mode: "auto" });
  } catch (error) {
    await giveUp(first, shake);
    if (!first.endedEarly()) throw reasonOf(error, first);
  }
  const second = openLink(server.config, server);
  try {
    return await greet(server, second, { ...shake, mode: "legacy" });
  } catch (error) {
    await giveUp(second, shake);
    throw reasonOf(error, second);
  }
}

async function greet(server: Server, link: Link, shake: Handshake & { mode: "auto" | "legacy" }): Promise<Opened> {
  const client = new Client(
    { name: "retinue", version: server.clientVersion },
    {
      capabilities: capabilitiesOf(server),
      versionNegotiation: { mode: shake.mode, probe: { timeoutMs: probeLimitMs(server, shake) } },
      listChanged: {
        tools: {
          // A failed refresh leaves the list as it was; the server notifies us of the next change.
          onChanged: (_error, tools) => tools && shake.onToolsChanged(tools),
        },
        prompts: { onChanged: (_error, prompts) => prompts && shake.onPromptsChanged(prompts) },
        resources: { autoRefresh: false, onChanged: () => shake.onResourcesChanged() },
      },
    },
  );
  shake.prepare(client);
  const limits = { timeout: NO_LIMIT_MS, signal: shake.signal };
  await client.connect(link.transport, limits);
  const live: Live = { client, link, close: () => link.close().then(() => client.close()) };
  client.onclose = () => shake.onLost(live);
  // The library would print a line to our output when it is asked for what a server does not have.
  const can = client.getServerCapabilities() ?? {};
  const [{ tools }, { prompts }] = await Promise.all([
    can.tools ? client.listTools({}, limits) : { tools: [] },
    can.prompts ? client.listPrompts({}, { ...limits, timeout: PROMPTS_LIMIT_MS }).catch(noPrompts) : noPrompts(),
  ]);
  return { live, tools, prompts };
}

/** A server that cannot list its prompts has tools all the same. */
const noPrompts = (): { prompts: Prompt[] } => ({ prompts: [] });

/** What the server may ask of us. */
function capabilitiesOf({ elicit, sample, roots }: Server): ClientCapabilities {
  return {
    ...(elicit === undefined ? {} : { elicitation: { form: {}, url: {} } }),
    ...(sample === undefined ? {} : { sampling: {} }),
    ...(roots === undefined ? {} : { roots: { listChanged: true } }),
    extensions: { "io.modelcontextprotocol/tasks": {} },
  };
}

/** Throws when the time is up; why the server ended is of no interest then. */
async function giveUp(link: Link, { signal, limitMs }: Handshake): Promise<void> {
  const late = signal.aborted ? link.explain(new Error(`it did not start within ${limitMs} ms`)) : undefined;
  await link.close();
  if (late) throw late;
}

function reasonOf(error: unknown, link: Link): Error {
  return isSignInNeeded(error)
    ? new AppError("authentication_required", messageOf(error), { cause: error })
    : link.explain(readable(error));
}

const Issues = lazy(() =>
  z.array(z.looseObject({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })).min(1),
);

/** The library says with all of its findings, as JSON, that an answer is not what the protocol has. */
function readable(error: unknown): unknown {
  const [, method, findings = ""] = /^Invalid result for (\S+): (\[[\s\S]*)$/.exec(messageOf(error)) ?? [];
  if (method === undefined) return error;
  const [first] = Issues().safeParse(parsed(findings)).data ?? [];
  const where = first && `: ${first.path.join(".")}: ${first.message}`;
  return new Error(`its answer to ${method} is not valid${where ?? ""}`, { cause: error });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // Then there is nothing to add.
  }
}
