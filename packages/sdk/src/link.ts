/**
 * The kinds of connection to a runtime, and an open link to one.
 *
 * How a link is opened is in connection.ts; the part that needs Node is in spawn.ts.
 */
import type { Transport } from "@retinue/protocol";

export interface ProcessOptions {
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
  /** Makes a fresh transport; called again after a lost connection. */
  readonly open: () => Transport | Promise<Transport>;
  readonly connectionToken?: string;
}

/** A runtime that this client started and must end. */
export interface RuntimeProcess {
  readonly pid: number | undefined;
  /** Settles when the process is gone. */
  readonly exited: Promise<void>;
  /** How it ended, with the end of what it wrote to stderr. */
  describeExit(): string | undefined;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** An open link to a runtime. */
export interface Link {
  readonly transport: Transport;
  readonly process?: RuntimeProcess;
  /** Where a runtime that we started listens. */
  readonly port?: number;
  /** What the runtime expects in `connect`. */
  readonly token?: string | undefined;
  /** Opens the transport again after it was lost; absent where that is impossible. */
  readonly reopen?: () => Promise<Transport>;
}
