/**
 * Where a runtime is and how to reach it.
 *
 * Owns the kinds of connection. What needs Node (processes, sockets) is in spawn.ts and loaded only when it is used,
 * so that this file runs in a browser.
 */
import type { Transport } from "@retinue/protocol";
import type { LaunchOptions } from "./launch.ts";
import type {
  Link,
  ProcessOptions,
  StdioRuntimeConnection,
  TcpRuntimeConnection,
  TransportRuntimeConnection,
  UriRuntimeConnection,
} from "./link.ts";

export type RuntimeConnection =
  | StdioRuntimeConnection
  | TcpRuntimeConnection
  | UriRuntimeConnection
  | TransportRuntimeConnection;

export const RuntimeConnection = {
  /** Starts a runtime and talks to it over its standard streams. */
  forStdio: (options: ProcessOptions = {}): StdioRuntimeConnection => ({ kind: "stdio", ...options }),
  /** Starts a runtime that listens on a loopback port, and connects to it. */
  forTcp: (options: ProcessOptions & { port?: number; connectionToken?: string } = {}): TcpRuntimeConnection => ({
    kind: "tcp",
    ...options,
  }),
  /** Connects to a runtime that runs already: `port`, `host:port` or `http://host:port`. */
  forUri: (url: string, options: { connectionToken?: string } = {}): UriRuntimeConnection => ({
    kind: "uri",
    url,
    ...options,
  }),
  /** Talks over a transport of the host's own: in memory, a web socket, a worker. */
  forTransport: (
    open: () => Transport | Promise<Transport>,
    options: { connectionToken?: string } = {},
  ): TransportRuntimeConnection => ({ kind: "transport", open, ...options }),
};

export async function openLink(connection: RuntimeConnection, options: LaunchOptions): Promise<Link> {
  if (connection.kind === "transport") {
    const open = async () => connection.open();
    return { transport: await open(), token: connection.connectionToken, reopen: open };
  }
  const { launchStdio, launchTcp, connectUri } = await import("./spawn.ts");
  if (connection.kind === "stdio") return launchStdio(connection, options);
  return connection.kind === "tcp" ? launchTcp(connection, options) : connectUri(connection);
}
