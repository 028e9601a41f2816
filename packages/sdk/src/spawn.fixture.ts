/** A small runtime for spawn.test.ts: reports how it was started, and dies on request. */
import { createServer } from "node:net";
import { Peer, streamTransport } from "@retinue/protocol";

const answers: Record<string, () => unknown> = {
  connect: () => ({ ok: true, protocolVersion: 3, version: "fixture" }),
  "session.create": () => ({ sessionId: "s" }),
  "session.resume": () => ({ sessionId: "s" }),
  "session.send": () => ({ messageId: "m" }),
  "session.detach": () => ({ success: true }),
  "session.eventLog.read": () => ({ events: [], cursor: "", hasMore: false, cursorStatus: "ok" }),
  "session.getLastId": () => ({
    sessionId: JSON.stringify({ pid: process.pid, argv: process.argv.slice(2), env: process.env, cwd: process.cwd() }),
  }),
  "runtime.shutdown": () => null,
  "models.list": () => {
    process.stderr.write("out of memory\n");
    process.exit(7);
  },
};
const dispatch = { request: (method: string) => answers[method] && Promise.resolve().then(answers[method]) };

if (process.argv.includes("--dies")) {
  process.stderr.write("bad configuration\n");
  process.exit(4);
} else if (process.argv.includes("--stdio")) {
  if (process.argv.includes("--talks")) process.stdout.write("a new version is available\n");
  new Peer(streamTransport(process.stdin, process.stdout), dispatch);
} else {
  const at = process.argv.indexOf("--port");
  const server = createServer((socket) => new Peer(streamTransport(socket, socket), dispatch));
  server.listen(at < 0 ? 0 : Number(process.argv[at + 1]), "127.0.0.1", () => {
    const address = server.address();
    if (address && typeof address === "object") process.stdout.write(`CLI server listening on port ${address.port}\n`);
  });
}
