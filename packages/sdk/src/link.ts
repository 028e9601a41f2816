/** What a client holds once its connection is open: the way to a runtime, and the process behind it if the client started one. */
import type { Transport } from "@retinue/protocol";

/** A runtime that this client started and must end. */
export interface RuntimeProcess {
  readonly pid: number | undefined;
  /** Settles when the process is gone. */
  readonly exited: Promise<void>;
  /** How it ended, with the end of what it wrote to stderr. */
  describeExit(): string | undefined;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

/** An open way to a runtime. */
export interface Link {
  readonly transport: Transport;
  readonly process?: RuntimeProcess;
  /** Where a runtime that we started listens. */
  readonly port?: number;
  /** What the runtime expects in `connect`. */
  readonly token?: string | undefined;
  /** Opens the way again after it was lost; absent where that cannot be. */
  readonly reopen?: () => Promise<Transport>;
}
