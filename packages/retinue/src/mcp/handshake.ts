/** How a connection is opened: with the newer handshake first, and the older one for servers that exit on requests they do not know. */
import { Client, SdkHttpError, type Tool as ServerTool, UnauthorizedError } from "@modelcontextprotocol/client";
import { AppError, type McpServerConfig, messageOf } from "@retinue/protocol";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import { type Link, openLink } from "./link.ts";

/** An open connection. */
export interface Live {
  client: Client;
  link: Link;
  /** Nothing of the server is left when this returns. */
  close(): Promise<void>;
}

export interface Handshake {
  signal: AbortSignal;
  /** Called before the first message, to set handlers for what the server may ask. */
  prepare(client: Client): void;
  onToolsChanged(tools: readonly ServerTool[]): void;
  onLost(live: Live): void;
}

interface Server {
  config: McpServerConfig;
  workingDirectory: string;
  clientVersion: string;
  processes?: ProcessLedger;
  elicit?: unknown;
}

const START_LIMIT_MS = 30_000;
const PROBE_LIMIT_MS = 2000;

/** Throws the server's own error, or `authentication_required`; then nothing is left behind. */
export async function connect(server: Server, shake: Handshake): Promise<{ live: Live; tools: readonly ServerTool[] }> {
  const first = openLink(server.config, server);
  try {
    return await greet(server, first, { ...shake, mode: "auto" });
  } catch (error) {
    await first.close();
    if (shake.signal.aborted || !first.endedEarly()) throw reasonOf(error, first);
  }
  const second = openLink(server.config, server);
  try {
    return await greet(server, second, { ...shake, mode: "legacy" });
  } catch (error) {
    await second.close();
    throw reasonOf(error, second);
  }
}

async function greet(
  server: Server,
  link: Link,
  shake: Handshake & { mode: "auto" | "legacy" },
): Promise<{ live: Live; tools: readonly ServerTool[] }> {
  const client = new Client(
    { name: "retinue", version: server.clientVersion },
    {
      capabilities: server.elicit === undefined ? {} : { elicitation: { form: {}, url: {} } },
      versionNegotiation: { mode: shake.mode, probe: { timeoutMs: PROBE_LIMIT_MS } },
      listChanged: {
        tools: {
          // A failed refresh leaves the list as it was; the server notifies us of the next change.
          onChanged: (_error, tools) => tools && shake.onToolsChanged(tools),
        },
      },
    },
  );
  shake.prepare(client);
  const limits = { timeout: START_LIMIT_MS, signal: shake.signal };
  await client.connect(link.transport, limits);
  const live: Live = { client, link, close: () => link.close().then(() => client.close()) };
  client.onclose = () => shake.onLost(live);
  const { tools } = await client.listTools({}, limits);
  return { live, tools };
}

function reasonOf(error: unknown, link: Link): Error {
  const isClosedDoor = error instanceof UnauthorizedError || (error instanceof SdkHttpError && error.status === 401);
  return isClosedDoor
    ? new AppError("authentication_required", messageOf(error), { cause: error })
    : link.explain(error);
}
