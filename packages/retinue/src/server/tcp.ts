/**
 * A TCP server: listening, its connections, and the end of both.
 *
 * Owns sockets. Who is let in is decided in admission.ts, what strangers may do before that in visitors.ts.
 */
import { createServer, type Server, type Socket } from "node:net";
import { AppError, messageOf } from "@retinue/protocol/errors";
import { streamTransport } from "@retinue/protocol/stream";
import { type ConnectionOptions, serveConnection } from "./connection.ts";
import type { ListenAddress } from "./listen-address.ts";
import { TokenCheck } from "./token-check.ts";
import { Visitors } from "./visitors.ts";

export interface TcpOptions extends Omit<ConnectionOptions, "token" | "onAdmitted"> {
  at: ListenAddress;
  port: number;
  /** Absent: whoever reaches the port may come in, which is refused beyond loopback. */
  token?: string | TokenCheck;
}

export interface TcpServer {
  readonly port: number;
  readonly closed: Promise<void>;
  /** Takes no more connections. */
  stop(): void;
  /** Ends the connections that are left. */
  disconnect(): void;
}

/** What a client that does not read is given to take its last answers. */
const LAST_WORDS_MS = 2_000;

export async function listenTcp({ at, port, token, ...connection }: TcpOptions): Promise<TcpServer> {
  if (token === undefined && !at.isLoopback) throw beyondLoopback(at.address);
  const check = typeof token === "string" ? new TokenCheck(token) : token;
  const visitors = new Visitors();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    const visitor = visitors.receive(socket);
    const transport = streamTransport(socket, socket, { maxFrameBytes: () => visitor.maxFrameBytes });
    const onAdmitted = () => visitor.admit();
    void serveConnection(visitor.watch(transport), { ...connection, token: check, onAdmitted }).then(() => {
      const late = setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
      socket.once("close", () => clearTimeout(late));
    });
  });
  await listening(server, { port, host: at.address });
  const address = server.address();
  return {
    port: address && typeof address === "object" ? address.port : port,
    closed: new Promise((resolve) => server.once("close", resolve)),
    stop: () => server.close(),
    disconnect() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

export function beyondLoopback(address: string): AppError {
  return new AppError(
    "not_configured",
    `Listening on ${address}, which other machines may reach, needs a token of your own: set COPILOT_CONNECTION_TOKEN or give ` +
      "--token-file. Without one, listen on 127.0.0.1.",
  );
}

function listening(server: Server, { port, host }: { port: number; host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(notListening(error, { port, host })));
    server.listen(port, host, resolve);
  });
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses this port. Give another --port, or none for any free one.",
  EACCES: "this user may not use it. Give a --port from 1024 up.",
  EADDRNOTAVAIL: "this machine does not have the address. Give another --host.",
};

function notListening(error: Error, { port, host }: { port: number; host: string }): AppError {
  const code = "code" in error ? String(error.code) : "";
  const where = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return new AppError("not_configured", `Cannot listen on ${where}: ${REASONS[code] ?? messageOf(error)}`, {
    cause: error,
  });
}
