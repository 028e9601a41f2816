/**
 * One client connection: the handshake, the token check, and passing every other call to the runtime.
 *
 * Kept small on purpose: the handshake does not need the runtime, and works even when the runtime cannot be loaded.
 */

import { AppError } from "@retinue/protocol/errors";
import { Peer, type Transport } from "@retinue/protocol/peer";
import { MAX_KEPT_BYTES } from "../tree/backlog.ts";
import { Client, type TaskKind } from "../tree/client.ts";
import { Admission } from "./admission.ts";
import type { Runtime } from "./runtime.ts";
import type { TokenCheck } from "./token-check.ts";

export interface ConnectionOptions {
  version: string;
  /** The token that clients must send, which all connections of a server should share. Absent: none is needed. */
  token?: string | TokenCheck;
  /** Called when the client has shown the token; where none is needed, with its first call. */
  onAdmitted?(): void;
  /** Loads the runtime; calls wait for it. */
  load(): Promise<Runtime>;
}

const PROTOCOL_VERSION = 3;
const TASK_KINDS: readonly TaskKind[] = ["agent", "shell", "client"];
let nextClient = 1;

/** Resolves when the client has disconnected and its sessions are closed. */
export function serveConnection(transport: Transport, options: ConnectionOptions): Promise<void> {
  const client = new Client(`client-${nextClient++}`);
  let isFirst = true;
  const admission = new Admission({
    token: options.token,
    onAdmitted() {
      enter();
      options.onAdmitted?.();
    },
    onRefused: () => setImmediate(() => peer.close()), // After the answer.
  });

  let left: () => void;
  const ended = new Promise<void>((resolve) => {
    left = resolve;
  });
  const peer = new Peer(
    transport,
    {
      request(method, params, { signal }) {
        const opensWithPing = isFirst && method === "ping";
        isFirst = false;
        if (method === "connect") return connect(params, signal);
        if (!admission.needsToken) admission.admit();
        if (!admission.isAdmitted)
          return Promise.reject(new AppError("authentication_required", "AUTHENTICATION_REQUIRED"));
        if (opensWithPing) client.style = 2; // Clients of protocol 2 do not send `connect`: their first call is `ping`.
        if (method === "ping") return ping(params);
        if (method === "status.get")
          return Promise.resolve({ version: options.version, protocolVersion: PROTOCOL_VERSION });
        return options.load().then((runtime) => runtime.call(method, params, { client, signal }));
      },
      closed() {
        if (!admission.isAdmitted) return left(); // The runtime knows nothing of it.
        void options
          .load()
          .then((runtime) => runtime.leave(client))
          .then(left, left);
      },
    },
    { firstId: 1, maxQueuedBytes: MAX_KEPT_BYTES },
  );
  client.use(peer);
  return ended;

  function enter(): void {
    void options.load().then(
      (runtime) => runtime.enter(client),
      () => undefined, // Every later call tries to load again and gets the error.
    );
  }

  async function connect(params: unknown, signal: AbortSignal): Promise<object> {
    const { token, supportedTaskKinds } = (typeof params === "object" && params !== null ? params : {}) as Record<
      string,
      unknown
    >;
    if (admission.needsToken || typeof token === "string") await admission.show(token, { signal });
    else admission.admit();
    client.style = 3;
    client.taskKinds = Array.isArray(supportedTaskKinds)
      ? TASK_KINDS.filter((kind) => supportedTaskKinds.includes(kind))
      : ["agent", "shell"];
    return { ok: true, protocolVersion: PROTOCOL_VERSION, version: options.version, taskKinds: client.taskKinds };
  }

  async function ping(params: unknown): Promise<object> {
    const message = typeof params === "object" && params !== null && "message" in params ? params.message : undefined;
    return {
      message: typeof message === "string" ? `pong: ${message}` : "pong",
      timestamp: new Date().toISOString(),
      protocolVersion: client.style,
    };
  }
}
