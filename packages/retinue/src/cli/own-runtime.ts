/**
 * The runtime in this process, driven through the SDK as any other program would drive it.
 *
 * Opens and closes it, in the order that leaves every session resumable.
 */
import { isKnownEvent, linkedTransports, messageOf, parseEvent, type SessionEvent } from "@retinue/protocol";
import { RetinueClient, RuntimeConnection } from "@retinue/sdk";
import { runtimeConfig } from "../host/config.ts";
import type { Catalog } from "../models/catalog.ts";
import { serveConnection } from "../server/connection.ts";
import { Runtime } from "../server/runtime.ts";

export interface OwnRuntimeOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Where state is kept, in place of what the environment says. */
  home?: string;
  /** A provider's name or address. */
  provider?: string;
  /** In place of the models that environment and config file name. */
  catalog?: Catalog;
  /** How to run this program again, for work that outlives it. */
  program?: readonly string[];
  /** Prints a line about something that went wrong on the side (default: to standard error). */
  report?: (line: string) => void;
}

export interface OwnRuntime extends AsyncDisposable {
  readonly client: RetinueClient;
  readonly runtime: Runtime;
  /** The stored events of a session and of its sub-agents, each as JSON, without opening it. */
  log(sessionId: string): Promise<string[]>;
}

export function openOwnRuntime({
  env,
  home,
  provider,
  catalog,
  program,
  report = toStandardError,
}: OwnRuntimeOptions): OwnRuntime {
  const config = runtimeConfig(env, { home });
  const clientToken = env.COPILOT_SDK_AUTH_TOKEN;
  const runtime = new Runtime({ config, provider, clientToken, catalog, program });
  const [near, far] = linkedTransports();
  const served = serveConnection(far, { version: config.version, load: async () => runtime });
  const client = new RetinueClient({
    connection: RuntimeConnection.forTransport(() => near),
    clientInfo: { applicationName: "retinue", applicationVersion: config.version },
    reconnect: false,
    onError: (error) => report(`retinue: ${messageOf(error)}`),
  });
  return {
    client,
    runtime,
    log: async (sessionId) => (await runtime.sessions.store.events.read(sessionId)).map(({ json }) => json),
    async [Symbol.asyncDispose]() {
      await client.stop();
      near.close();
      await served;
      await runtime.close();
    },
  };
}

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Events of types that we do not know, from another version, are left out. */
export function readLog(log: readonly string[]): SessionEvent[] {
  return log.map((json) => parseEvent(JSON.parse(json))).filter(isKnownEvent);
}
