import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, connect as openSocket, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { encodeFrame } from "./frames.ts";
import { Peer } from "./peer.ts";
import { streamTransport } from "./stream-transport.ts";

async function socketPair(): Promise<{ left: Socket; right: Socket; close(): void }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const left = openSocket(address.port, "127.0.0.1");
  const [right] = (await once(server, "connection")) as [Socket];
  const close = () => {
    left.destroy();
    right.destroy();
    server.close();
  };
  return { left, right, close };
}

describe("streamTransport", () => {
  test("frames of one tick go out in one write", async () => {
    const target = new PassThrough();
    const writes: string[] = [];
    target.on("data", (chunk) => writes.push(String(chunk)));
    const transport = streamTransport(new PassThrough(), target);
    for (let n = 0; n < 100; n++) transport.send(`{"n":${n}}`);
    await Promise.resolve().then(() => transport.send("{}"));
    await nextTick();
    await nextTick();
    expect(writes).toHaveLength(1);
    expect(writes[0]?.match(/Content-Length/g)).toHaveLength(101);
  });

  test("what was sent just before the close still arrives", async () => {
    const { left, right, close } = await socketPair();
    const texts: string[] = [];
    const ended = new Promise<void>((resolve) => {
      streamTransport(right, right).start({ text: (text) => texts.push(text), bad: () => {}, closed: () => resolve() });
    });
    const transport = streamTransport(left, left);
    const big = JSON.stringify("x".repeat(3_000_000));
    transport.send(big);
    transport.send("2");
    transport.close();
    await ended;
    expect(texts.map((text) => text.length)).toEqual([big.length, 1]);
    close();
  });

  test("a connection that is reset is closed, not an error", async () => {
    const { left, right, close } = await socketPair();
    const peer = await new Promise<Peer>((resolve) => {
      const made: Peer = new Peer(streamTransport(left, left), {
        request: () => undefined,
        closed: () => resolve(made),
      });
      right.resetAndDestroy();
    });
    expect(peer.closed).toBe(true);
    peer.notify("into", { the: "void" });
    await expect(peer.request("m", {})).rejects.toMatchObject({ code: "connection_closed" });
    close();
  });

  test("a process that is gone is closed, not an error", async () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.destroy(); setTimeout(() => {}, 20)"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const peer = new Peer(streamTransport(child.stdout, child.stdin), { request: () => undefined });
    const failures = Array.from({ length: 50 }, (_, n) => peer.request("m", { n, pad: "x".repeat(100_000) }));
    const settled = await Promise.allSettled(failures);
    expect(settled.every((one) => one.status === "rejected" && one.reason.code === "connection_closed")).toBe(true);
    if (child.exitCode === null) await once(child, "exit");
  });

  test("a stream that closed before the start is reported at the start", () => {
    const target = new PassThrough();
    const transport = streamTransport(new PassThrough(), target);
    target.emit("close");
    let closed = 0;
    transport.start({ text: () => {}, bad: () => {}, closed: () => closed++ });
    expect(closed).toBe(1);
  });

  /** What a peer on one end answers to bytes on the other, until it closes. */
  async function answerTo(...writes: string[]): Promise<string> {
    const { left, right, close } = await socketPair();
    const peer = new Peer(streamTransport(right, right), { request: async () => "answer" });
    let answer = "";
    left.on("data", (chunk) => (answer += chunk));
    left.on("error", () => undefined); // The other side does not read the rest of what we write.
    for (const text of writes) left.write(text);
    await once(left, "close");
    expect(peer.closed).toBe(true);
    close();
    return answer;
  }

  test("bytes that are no frame close a new connection, and nothing is answered", async () => {
    expect(await answerTo("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")).toBe("");
    expect(await answerTo("G")).toBe("");
  });

  test("bytes that are no frame close a connection behind a good frame, with what was wrong", async () => {
    const call = encodeFrame('{"jsonrpc":"2.0","id":1,"method":"m"}');
    const answer = await answerTo(`${call}junk${call}`);
    expect(answer.match(/Content-Length/g)?.length).toBeLessThanOrEqual(2);
    expect(answer).toContain("not a frame: bytes that begin no header");
  });
});
