/**
 * The runtime as a server: on stdio for one client, or on a TCP port for several.
 *
 * Owns the runtime behind the connections, which is loaded while the first client is still connecting, and the end of all.
 */
import { streamTransport } from "@retinue/protocol/stream";
import { runtimeConfig } from "../host/config.ts";
import { logLevel } from "../host/diagnostics.ts";
import { serveConnection } from "./connection.ts";
import type { ListenAddress } from "./listen-address.ts";
import type { Runtime } from "./runtime.ts";

export interface TcpTransport {
  at: ListenAddress;
  port: number;
  /** What clients must show; absent: nothing. */
  token?: string;
}

export interface ServeOptions {
  transport: "stdio" | TcpTransport;
  env: Readonly<Record<string, string | undefined>>;
  /** The home folder, instead of the one from the environment. */
  home?: string;
  provider?: string;
  /** The variable that holds the client's token. */
  authTokenEnv?: string;
  logLevel?: string;
  sessionIdleTimeout?: number;
  /** How to run this program again, for work that outlives it. */
  program?: readonly string[];
  /** Called when a TCP server listens. */
  onListening?: (port: number) => void;
}

export interface Serving {
  /** Resolves when the stdio client has disconnected, or after `close`. */
  ended: Promise<void>;
  close(): Promise<void>;
}

export async function serve(options: ServeOptions): Promise<Serving> {
  const given = runtimeConfig(options.env, { home: options.home });
  const config = {
    ...given,
    idleTimeoutSeconds: options.sessionIdleTimeout ?? given.idleTimeoutSeconds,
    logLevel: options.logLevel === undefined ? given.logLevel : logLevel(options.logLevel),
  };
  const load = loader(async () => {
    const { Runtime } = await import("./runtime.ts");
    const clientToken = options.authTokenEnv ? options.env[options.authTokenEnv] : undefined;
    const credentialVariables = options.authTokenEnv ? [options.authTokenEnv] : [];
    return new Runtime({
      config,
      provider: options.provider,
      clientToken,
      credentialVariables,
      program: options.program,
    });
  });
  const connection = { version: config.version, load: load.get };
  const loadAhead = () => setImmediate(() => void load.get().catch(() => undefined)); // The calls that need it get the error.
  if (options.transport === "stdio") {
    loadAhead();
    const ended = serveConnection(streamTransport(process.stdin, process.stdout), connection);
    return { ended, close: load.close };
  }
  const { transport, onListening } = options;
  const [{ listenTcp }, { announceServer }] = await Promise.all([import("./tcp.ts"), import("./running-servers.ts")]);
  const server = await listenTcp({ ...connection, ...transport });
  const withdraw = announceServer(config.home, {
    host: transport.at.address,
    port: server.port,
    needsToken: transport.token !== undefined,
  });
  loadAhead();
  onListening?.(server.port);
  return {
    ended: server.closed,
    async close() {
      server.stop();
      withdraw();
      await load.close();
      server.disconnect();
    },
  };
}

/** Loads once; after a failure the next call tries again. */
function loader(open: () => Promise<Runtime>) {
  let loading: Promise<Runtime> | undefined;
  return {
    get: (): Promise<Runtime> => {
      loading ??= open().catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      return loading;
    },
    close: async (): Promise<void> => {
      const runtime = await loading?.catch(() => undefined);
      await runtime?.close();
    },
  };
}
