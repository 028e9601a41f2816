/**
 * Where a runtime is and how to reach it.
 *
 * Owns the kinds of connection. A connection is opened in link-opener.ts.
 */
import type { Transport } from "@retinue/protocol";

interface ProcessOptions {
  /** The executable; a `.js` file is run with the Node of this process. Default: RETINUE_PATH, else COPILOT_CLI_PATH. */
  readonly path?: string;
  /** Arguments that come before our own. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}
export interface StdioRuntimeConnection extends ProcessOptions {
  readonly kind: "stdio";
}
export interface TcpRuntimeConnection extends ProcessOptions {
  readonly kind: "tcp";
  readonly port?: number;
  readonly connectionToken?: string;
}
export interface UriRuntimeConnection {
  readonly kind: "uri";
  readonly url: string;
  readonly connectionToken?: string;
}
export interface TransportRuntimeConnection {
  readonly kind: "transport";
  /** Makes a fresh transport; called again when a lost connection is opened anew. */
  readonly open: () => Transport | Promise<Transport>;
  readonly connectionToken?: string;
}

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
