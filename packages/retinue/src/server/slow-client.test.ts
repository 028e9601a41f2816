/** A client on a real socket that does not read what it is sent: it costs a bounded amount of memory, and the others notice nothing. */
import { once } from "node:events";
import { connect } from "node:net";
import { type linkedTransports, Peer, streamTransport } from "@retinue/protocol";
import { expect, test } from "vitest";
import { MAX_KEPT_BYTES, MAX_QUEUED_BYTES } from "../tree/backlog.ts";
import type { Client } from "../tree/client.ts";
import { inSmallWorld, type ReceivedEvent, type SmallWorld } from "./handlers/small-world.ts";
import { listenAddress } from "./listen-address.ts";
import { listenTcp } from "./tcp.ts";

const PIECE = "x".repeat(256 * 1024);

interface Slow {
  /** As the runtime sees it. */
  seen: Client;
  events: ReceivedEvent[];
  errors: string[];
  /** Settles when the connection has ended. */
  ended: Promise<void>;
  call(method: string, params: object): Promise<unknown>;
  read(): void;
}

/** A client on a socket joins the session, and then stops reading. */
async function withSlowClient(
  { runtime, create, client }: SmallWorld,
  test: (slow: Slow, session: { sessionId: string; say(ephemeral: boolean): Promise<void> }) => Promise<void>,
): Promise<void> {
  const server = await listenTcp({
    at: await listenAddress("127.0.0.1"),
    port: 0,
    version: "test",
    load: async () => runtime,
  });
  const sessionId = await create();
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "connect");
  const events: ReceivedEvent[] = [];
  const errors: string[] = [];
  let onEnd: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  const peer = new Peer(watched(streamTransport(socket, socket), errors), {
    request: () => undefined,
    notification: (method, params) => {
      if (method === "session.event") events.push((params as { event: ReceivedEvent }).event);
    },
    closed: () => onEnd(),
  });
  try {
    await peer.request("connect", {});
    await peer.request("session.resume", { sessionId });
    const { participants } = runtime.sessions.get(sessionId).tree;
    const seen = participants.all.at(-1)?.client;
    if (!seen) throw new Error("the slow client did not join");
    socket.pause();
    const say = async (ephemeral: boolean) =>
      void (await client.call("session.log", { sessionId, message: PIECE, ephemeral }));
    const call = (method: string, params: object) => peer.request(method, params);
    await test({ seen, events, errors, ended, call, read: () => socket.resume() }, { sessionId, say });
  } finally {
    peer.close();
    socket.destroy();
    server.stop();
    server.disconnect();
  }
}

/** Notes errors that answer no request: the last words of a connection. */
function watched(transport: ReturnType<typeof linkedTransports>[0], errors: string[]): typeof transport {
  return {
    send: (text) => transport.send(text),
    close: () => transport.close(),
    start: (receiver) =>
      transport.start({
        ...receiver,
        text: (text) => {
          if (text.startsWith('{"jsonrpc":"2.0","id":null')) errors.push(text);
          receiver.text(text);
        },
      }),
  };
}

test("a client that does not read loses events that are not kept beyond 16 MB, is told so once, and can read back by cursor", async () => {
  await inSmallWorld([], async (world) => {
    await withSlowClient(world, async ({ seen, events, call, read }, { sessionId, say }) => {
      const { cursor } = (await world.client.call("session.eventLog.tail", { sessionId })) as { cursor: string };
      let most = 0;
      for (let n = 0; n < 160; n++) {
        await say(true);
        most = Math.max(most, seen.queuedBytes);
      }
      expect(most).toBeGreaterThan(MAX_QUEUED_BYTES);
      expect(most).toBeLessThan(MAX_QUEUED_BYTES + 2 * PIECE.length);
      await world.client.call("session.log", { sessionId, message: "kept" });
      expect(world.client.of("session.info").filter(({ message }) => message === PIECE)).toHaveLength(160);
      read();
      await expect.poll(() => events.some(({ data }) => data.message === "kept")).toBe(true);
      const told = events.filter(({ type, data }) => type === "session.warning" && data.warningType === "events_lost");
      expect(told.map(({ data }) => data.message)).toEqual([expect.stringContaining("session.eventLog.read")]);
      expect(events.filter(({ data }) => data.message === PIECE).length).toBeLessThan(160);
      await expect.poll(() => seen.queuedBytes).toBe(0);
      await say(true); // It has caught up, and gets what is not kept again.
      const page = (await call("session.eventLog.read", { sessionId, cursor })) as { events: ReceivedEvent[] };
      expect(page.events.map(({ data }) => data.message)).toContain("kept");
      expect(events.at(-1)?.data.message).toBe(PIECE);
    });
  });
});

test("a client that leaves even kept events unread is closed with words, and the others notice nothing", async () => {
  await inSmallWorld([], async (world) => {
    await withSlowClient(world, async ({ seen, errors, ended, read }, { sessionId, say }) => {
      let most = 0;
      for (let n = 0; n < 200 && !seen.isGone; n++) {
        await say(false);
        most = Math.max(most, seen.queuedBytes);
      }
      expect(seen.isGone).toBe(true);
      expect(most).toBeLessThan(MAX_KEPT_BYTES + 2 * PIECE.length);
      await world.client.call("session.log", { sessionId, message: "and on" });
      expect(world.runtime.sessions.get(sessionId).tree.participants.all).toHaveLength(1);
      read();
      await ended;
      expect(errors.join()).toMatch(/nobody read.*resume.*cursor/);
    });
  });
});

test("a client that asks for answers and reads none of them is closed too", async () => {
  await inSmallWorld([], async (world) => {
    await withSlowClient(world, async ({ seen, call }, { sessionId, say }) => {
      for (let n = 0; n < 8; n++) await say(false);
      for (let n = 0; n < 100 && !seen.isGone; n++) {
        call("session.getMessages", { sessionId }).catch(() => undefined);
        await world.client.call("session.eventLog.tail", { sessionId });
      }
      await expect.poll(() => seen.isGone).toBe(true);
      expect(await world.client.call("session.eventLog.tail", { sessionId })).toBeDefined();
    });
  });
});
