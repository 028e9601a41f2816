/**
 * The runtime as a server: on stdio for one client, or on a loopback TCP port for several.
 *
 * Owns listening and the end of the process. The runtime is loaded while the client is still connecting.
 */
import { createServer, type Server, type Socket } from "node:net";
import { streamTransport } from "@retinue/protocol/stream";
import { runtimeConfig } from "../host/config.ts";
import { logLevel } from "../host/diagnostics.ts";
import { serveConnection } from "./connection.ts";
import type { Runtime } from "./runtime.ts";

export interface ServeOptions {
  transport: "stdio" | { port: number; host?: string };
  env: Readonly<Record<string, string | undefined>>;
  /** The home folder, instead of the one from the environment. */
  home?: string;
  provider?: string;
  /** The variable that holds the client's token. */
  authTokenEnv?: string;
  logLevel?: string;
  sessionIdleTimeout?: number;
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
    return new Runtime({ config, provider: options.provider, clientToken, credentialVariables });
  });
  const connection = { version: config.version, load: load.get };
  setImmediate(() => void load.get().catch(() => undefined)); // The calls that need it get the error.
  if (options.transport === "stdio") {
    const ended = serveConnection(streamTransport(process.stdin, process.stdout), connection);
    return { ended, close: load.close };
  }
  return await serveTcp(
    options,
    { ...connection, token: options.env.COPILOT_CONNECTION_TOKEN || undefined },
    load.close,
  );
}

async function serveTcp(
  { transport, onListening }: ServeOptions,
  connection: Parameters<typeof serveConnection>[1],
  closeRuntime: () => Promise<void>,
): Promise<Serving> {
  const { port = 0, host = "127.0.0.1" } = transport === "stdio" ? { port: 0 } : transport;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    void serveConnection(streamTransport(socket, socket), connection);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  if (address && typeof address === "object") onListening?.(address.port);
  const ended = new Promise<void>((resolve) => server.once("close", resolve));
  return {
    ended,
    async close() {
      server.close();
      await closeRuntime();
      for (const socket of sockets) socket.destroy();
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
