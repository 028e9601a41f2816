/** The TCP server with real sockets and a runtime that records who was let in to it. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { listenAddress } from "./listen-address.ts";
import type { Runtime } from "./runtime.ts";
import { listenTcp } from "./tcp.ts";
import { TokenCheck } from "./token-check.ts";
import { Visitors } from "./visitors.ts";

const TOKEN = "open sesame";
const frame = (body: string) => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const request = (id: number, method: string, params: object = {}) =>
  frame(JSON.stringify({ jsonrpc: "2.0", id, method, params }));

interface Caller {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  received(): string;
  /** Resolves when the text has come; rejects when the connection closes without it. */
  says(text: string): Promise<void>;
}

function follow(socket: Socket): Caller {
  let text = "";
  const looks = new Set<() => void>();
  socket.on("error", () => undefined); // Being cut off is what these tests are about.
  socket.on("data", (chunk) => {
    text += chunk;
    for (const look of [...looks]) look();
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  return {
    socket,
    closed,
    received: () => text,
    says: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (text.includes(wanted)) resolve();
        };
        looks.add(look);
        look();
        void closed.then(() => reject(new Error(`closed without ${wanted}: ${text}`)));
      }),
  };
}

/** A server whose runtime is only a record of what reached it. */
async function inServer(
  { token = TOKEN }: { token?: string | null },
  run: (world: { open(): Promise<Caller>; told: string[] }) => Promise<void>,
): Promise<void> {
  const told: string[] = [];
  const runtime = {
    enter: () => told.push("enter"),
    leave: async () => void told.push("leave"),
    call: async (method: string) => void told.push(method),
  } as unknown as Runtime;
  const at = await listenAddress("127.0.0.1");
  const server = await listenTcp({
    at,
    port: 0,
    token: token === null ? undefined : new TokenCheck(token, { firstWaitMs: 1 }),
    version: "1",
    load: async () => runtime,
  });
  const sockets: Socket[] = [];
  const open = async () => {
    const socket = connect(server.port, "127.0.0.1");
    sockets.push(socket);
    await once(socket, "connect");
    return follow(socket);
  };
  try {
    await run({ open, told });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.stop();
    server.disconnect();
    await server.closed;
  }
}

describe("before the token is shown", () => {
  test("the runtime is told of nobody, whatever is called", async () => {
    await inServer({}, async ({ open, told }) => {
      const caller = await open();
      caller.socket.write(request(1, "ping") + request(2, "session.list") + request(3, "no.such.method"));
      await caller.says('"id":3');
      expect(caller.received().match(/AUTHENTICATION_REQUIRED/g)).toHaveLength(3);
      caller.socket.destroy();
      await caller.closed;
      const client = await open();
      client.socket.write(request(1, "connect", { token: TOKEN }) + request(2, "session.list"));
      await client.says('"id":2');
      expect(told).toEqual(["enter", "session.list"]);
    });
  });

  test.each([
    ["one frame", (bytes: number) => request(1, "x".repeat(bytes))],
    [
      "many frames",
      (bytes: number) => Array.from({ length: 20 }, (_, id) => request(id, "x".repeat(bytes / 20))).join(""),
    ],
  ])("a connection that sends more than 64 KB in %s is cut off, and one that sends less is not", async (_, text) => {
    await inServer({}, async ({ open }) => {
      const [large, small] = [await open(), await open()];
      large.socket.write(text(70_000));
      small.socket.write(text(60_000));
      await large.closed;
      await small.says("AUTHENTICATION_REQUIRED");
    });
  });

  test("a connection that only announces more than 64 KB is cut off", async () => {
    for (const token of [TOKEN, null])
      await inServer({ token }, async ({ open }) => {
        const caller = await open();
        caller.socket.write("Content-Length: 65536\r\n\r\n");
        await caller.closed;
      });
  });

  test("a connection that sends many small messages is cut off", async () => {
    await inServer({}, async ({ open }) => {
      const caller = await open();
      for (let id = 0; id < 40; id++) caller.socket.write(request(id, "ping"));
      await caller.closed;
      expect(caller.received().match(/AUTHENTICATION_REQUIRED/g)?.length ?? 0).toBeLessThanOrEqual(32);
    });
  });

  test("large frames are read as soon as the token was shown, in the same packet too", async () => {
    await inServer({}, async ({ open, told }) => {
      const caller = await open();
      caller.socket.write(
        request(1, "connect", { token: TOKEN }) + request(2, "session.send", { prompt: "x".repeat(300_000) }),
      );
      await caller.says('"id":2');
      expect(told).toEqual(["enter", "session.send"]);
    });
  });

  test.each(["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "\u0016\u0003\u0001\u0002", "P", "\n"])(
    "%j is cut off without a word",
    async (text) => {
      for (const token of [TOKEN, null])
        await inServer({ token }, async ({ open, told }) => {
          const caller = await open();
          caller.socket.write(text);
          await caller.closed;
          expect([caller.received(), told]).toEqual(["", []]);
        });
    },
  );
});

describe("wrong tokens", () => {
  test("end a connection with the fifth, and a right one that was sent along with them is not looked at", async () => {
    await inServer({}, async ({ open, told }) => {
      const caller = await open();
      for (let id = 1; id <= 5; id++) caller.socket.write(request(id, "connect", { token: `guess ${id}` }));
      caller.socket.write(request(6, "connect", { token: TOKEN }));
      await caller.closed;
      expect(caller.received().match(/AUTHENTICATION_FAILED/g)?.length).toBeGreaterThanOrEqual(5);
      expect(caller.received()).not.toContain("protocolVersion");
      expect(told).toEqual([]);
    });
  });

  test("on many connections do not keep out a client that knows the token", async () => {
    await inServer({}, async ({ open }) => {
      const guessers = await Promise.all(Array.from({ length: 30 }, () => open()));
      for (const { socket } of guessers) socket.write(request(1, "connect", { token: "guess" }));
      await Promise.all(guessers.map((each) => each.says("AUTHENTICATION_FAILED")));
      const client = await open();
      client.socket.write(request(1, "connect", { token: TOKEN }));
      await client.says("protocolVersion");
    });
  });

  test("keep even the right one waiting that comes with them", async () => {
    await inServer({}, async ({ open, told }) => {
      const caller = await open();
      const tokens = ["guess", TOKEN].map((token, at) => request(at + 1, "connect", { token }));
      caller.socket.write(`${tokens.join("")}${request(3, "session.list")}`);
      await caller.says("AUTHENTICATION_REQUIRED");
      await caller.says("protocolVersion");
      expect(told).toEqual(["enter"]);
    });
  });

  test("a client whose token was wrong once may show the right one", async () => {
    await inServer({}, async ({ open }) => {
      const client = await open();
      client.socket.write(request(1, "connect", { token: "typo" }) + request(2, "connect", { token: TOKEN }));
      await client.says("protocolVersion");
      expect(client.received().indexOf("AUTHENTICATION_FAILED")).toBeLessThan(
        client.received().indexOf("protocolVersion"),
      );
    });
  });
});

describe("Visitors", () => {
  test("when there are too many, the one that came first goes, but nobody who was let in", async () => {
    await inServer({ token: null }, async ({ open }) => {
      const visitors = new Visitors({ silent: 2 });
      const [admitted, first, second, third] = [await open(), await open(), await open(), await open()];
      visitors.receive(admitted.socket).admit();
      for (const { socket } of [first, second, third]) visitors.receive(socket);
      await first.closed;
      expect([admitted, second, third].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
      expect(visitors.count).toBe(2);
    });
  });

  test("those who have said something keep their place when many come who say nothing", async () => {
    await inServer({}, async ({ open }) => {
      const caller = await open();
      caller.socket.write(request(1, "connect", { token: "typo" }));
      await caller.says("AUTHENTICATION_FAILED");
      const silent = await Promise.all(Array.from({ length: 140 }, () => open()));
      await Promise.all(silent.slice(0, 1).map(({ closed }) => closed));
      caller.socket.write(request(2, "connect", { token: TOKEN }));
      await caller.says("protocolVersion");
    });
  });

  test("one that does nothing is sent away in the end, and one that was let in is not", async () => {
    await inServer({ token: null }, async ({ open }) => {
      const visitors = new Visitors({ stayMs: 1 });
      const [idle, admitted] = [await open(), await open()];
      visitors.receive(admitted.socket).admit();
      visitors.receive(idle.socket);
      await idle.closed;
      expect(admitted.socket.destroyed).toBe(false);
      expect(visitors.count).toBe(0);
    });
  });
});

describe("where it listens", () => {
  test.each([
    ["127.0.0.1", true],
    ["127.1", true],
    ["127.9.9.9", true],
    ["localhost", true],
    ["::1", true],
    ["[::1]", true],
    ["::ffff:127.0.0.1", true],
    ["0.0.0.0", false],
    ["0", false],
    ["::", false],
    ["::ffff:0.0.0.0", false],
    ["192.0.2.1", false],
    ["128.0.0.1", false],
  ])("%s is loopback: %s", async (host, isLoopback) => {
    expect(await listenAddress(host)).toMatchObject({ isLoopback });
  });

  test("a host that is empty or has no address is refused", async () => {
    for (const host of ["", " ", "[]"]) await expect(listenAddress(host)).rejects.toThrow("must not be empty");
    await expect(listenAddress("no such host.invalid")).rejects.toThrow("There is no address to listen on for");
  });

  test("beyond loopback nothing listens without a token", async () => {
    const load = () => Promise.reject(new Error("not needed"));
    for (const host of ["0.0.0.0", "::"])
      await expect(listenTcp({ at: await listenAddress(host), port: 0, version: "1", load })).rejects.toThrow(
        "needs a token of your own",
      );
  });

  test("a port that is taken is named, with what to do", async () => {
    const load = () => Promise.reject(new Error("not needed"));
    const at = await listenAddress("127.0.0.1");
    const first = await listenTcp({ at, port: 0, version: "1", load });
    try {
      await expect(listenTcp({ at, port: first.port, version: "1", load })).rejects.toThrow(
        `Cannot listen on 127.0.0.1:${first.port}: another program uses this port. Give another --port`,
      );
    } finally {
      first.stop();
      await first.closed;
    }
  });
});
