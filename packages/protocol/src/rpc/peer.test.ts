import { PassThrough } from "node:stream";
import { setImmediate as nextTick } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import {
  CancellationTokenSource,
  createMessageConnection,
  type MessageConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node";
import { AppError } from "../errors.ts";
import { linkedTransports } from "./memory-transport.ts";
import { type Dispatch, Peer, type Receiver, type Transport } from "./peer.ts";
import { streamTransport } from "./stream-transport.ts";

const NOTHING: Dispatch = { request: () => undefined };

const connections: { dispose(): void }[] = [];
afterEach(() => {
  for (const connection of connections.splice(0)) connection.dispose();
});

/** Our peer on one side, vscode-jsonrpc on the other, byte streams between them. */
function withOther(dispatch: Dispatch): { peer: Peer; other: MessageConnection } {
  const toPeer = new PassThrough();
  const fromPeer = new PassThrough();
  const other = createMessageConnection(new StreamMessageReader(fromPeer), new StreamMessageWriter(toPeer));
  const peer = new Peer(streamTransport(toPeer, fromPeer), dispatch);
  connections.push(other, { dispose: () => peer.close() });
  return { peer, other };
}

function linked(a: Dispatch, b: Dispatch = NOTHING): [Peer, Peer] {
  const [left, right] = linkedTransports();
  const peers: [Peer, Peer] = [new Peer(left, a), new Peer(right, b)];
  connections.push({ dispose: () => peers[0].close() });
  return peers;
}

/** A peer whose other side is a list of raw texts. */
function raw(dispatch: Dispatch = NOTHING) {
  const sent: unknown[] = [];
  let receiver: Receiver | undefined;
  const transport: Transport = {
    send: (text) => sent.push(JSON.parse(text)),
    start: (given) => {
      receiver = given;
    },
    close: () => receiver?.closed(),
  };
  const peer = new Peer(transport, dispatch);
  return {
    peer,
    sent,
    receive: (message: unknown) => receiver?.text(JSON.stringify(message)),
    receiver: () => receiver,
  };
}

describe("against vscode-jsonrpc", () => {
  test("its request gets our result", async () => {
    const { other } = withOther({ request: async (method, params) => ({ method, params }) });
    other.listen();
    expect(await other.sendRequest("echo", { text: "grüße" })).toEqual({ method: "echo", params: { text: "grüße" } });
  });

  test("our request gets its result", async () => {
    const { peer, other } = withOther(NOTHING);
    other.onRequest("add", ({ a, b }: { a: number; b: number }) => a + b);
    other.listen();
    expect(await peer.request("add", { a: 2, b: 3 })).toBe(5);
  });

  test("a thousand requests in both directions at once are all answered", async () => {
    const { peer, other } = withOther({ request: async (_, params) => params });
    other.onRequest("back", (params: { n: number }) => params.n);
    other.listen();
    const numbers = Array.from({ length: 1000 }, (_, n) => n);
    const theirs = Promise.all(numbers.map((n) => other.sendRequest("there", { n })));
    const ours = Promise.all(numbers.map((n) => peer.request("back", { n })));
    expect(await theirs).toEqual(numbers.map((n) => ({ n })));
    expect(await ours).toEqual(numbers);
  });

  test("our errors arrive with number, text and data", async () => {
    const { other } = withOther({
      request: async (method) => {
        if (method === "plain") throw new Error("it broke");
        throw new AppError("task_conflict", "TASK_CONFLICT", { data: { reason: "terminal" } });
      },
    });
    other.listen();
    await expect(other.sendRequest("plain")).rejects.toMatchObject({
      code: -32603,
      message: "Request plain failed with message: it broke",
    });
    await expect(other.sendRequest("conflict")).rejects.toMatchObject({
      code: -32012,
      message: "TASK_CONFLICT",
      data: { reason: "terminal" },
    });
  });

  test("its errors arrive with number, text and data", async () => {
    const { peer, other } = withOther(NOTHING);
    other.onRequest("fail", () => new ResponseError(-32012, "no", { why: 1 }));
    other.listen();
    await expect(peer.request("fail", {})).rejects.toMatchObject({
      code: "task_conflict",
      rpcCode: -32012,
      message: "no",
      data: { why: 1 },
    });
    await expect(peer.request("nothing", {})).rejects.toMatchObject({ code: "method_not_found" });
  });

  test("an unknown method is named", async () => {
    const { other } = withOther(NOTHING);
    other.listen();
    await expect(other.sendRequest("no.such", {})).rejects.toMatchObject({
      code: -32601,
      message: "Unhandled method no.such",
    });
  });

  test("notifications pass both ways in order", async () => {
    const here: unknown[] = [];
    const there: unknown[] = [];
    const { peer, other } = withOther({
      request: async () => null,
      notification: (_, params) => here.push(params),
    });
    other.onNotification("note", (params) => {
      there.push(params);
    });
    other.onRequest("flush", () => null);
    other.listen();
    for (let n = 0; n < 10; n++) {
      peer.notify("note", { n });
      void other.sendNotification("note", { n });
    }
    await Promise.all([peer.request("flush", {}), other.sendRequest("flush", {})]);
    const numbers = Array.from({ length: 10 }, (_, n) => ({ n }));
    expect(here).toEqual(numbers);
    expect(there).toEqual(numbers);
  });

  test("it can cancel our work, and we can cancel its", async () => {
    const { peer, other } = withOther({
      request: (_, __, { signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(new AppError("cancelled", "stopped"))),
        ),
    });
    const seen = new Promise<boolean>((resolve) => {
      other.onRequest("slow", (_, token) => token.onCancellationRequested(() => resolve(true)));
    });
    other.listen();
    const source = new CancellationTokenSource();
    const theirs = other.sendRequest("slow", {}, source.token);
    source.cancel();
    await expect(theirs).rejects.toMatchObject({ code: -32800 });

    const controller = new AbortController();
    const ours = peer.request("slow", {}, { signal: controller.signal });
    await nextTick();
    controller.abort();
    await expect(ours).rejects.toMatchObject({ code: "cancelled" });
    expect(await seen).toBe(true);
  });
});

describe("bad input", () => {
  test("bad JSON, batches and messages without jsonrpc get an error without id, and the peer lives on", async () => {
    const { sent, receive, receiver } = raw({ request: async () => "pong" });
    receiver()?.text("{nope");
    receive([{ jsonrpc: "2.0", id: 1, method: "ping" }]);
    receive({ id: 2, method: "ping" });
    receive({ jsonrpc: "2.0", id: 3 });
    receive({ jsonrpc: "2.0", id: { odd: true }, method: "ping" });
    receive("text");
    receive(null);
    expect(sent).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
    ]);
    receive({ jsonrpc: "2.0", id: 9, method: "ping" });
    await nextTick();
    expect(sent.at(-1)).toEqual({ jsonrpc: "2.0", id: 9, result: "pong" });
  });

  test("an answer is never answered, whatever is wrong with it", () => {
    const { sent, receive } = raw();
    receive({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "what?" } });
    receive({ jsonrpc: "2.0", id: 99, result: 1 });
    receive({ error: "odd" });
    receive({ jsonrpc: "2.0", id: {}, result: 1 });
    expect(sent).toEqual([]);
  });

  test("missing, null and [null] params are an empty object, and a string id comes back", async () => {
    const { sent, receive } = raw({ request: async (_, params) => params });
    receive({ jsonrpc: "2.0", id: "abc", method: "m" });
    receive({ jsonrpc: "2.0", id: 2, method: "m", params: [null] });
    receive({ jsonrpc: "2.0", id: 3, method: "m", params: null });
    receive({ jsonrpc: "2.0", id: 4, method: "m", params: [{ a: 1 }] });
    await nextTick();
    expect(sent).toEqual([
      { jsonrpc: "2.0", id: "abc", result: {} },
      { jsonrpc: "2.0", id: 2, result: {} },
      { jsonrpc: "2.0", id: 3, result: {} },
      { jsonrpc: "2.0", id: 4, result: { a: 1 } },
    ]);
  });

  test("ids of the two directions do not meet", async () => {
    const [a, b] = linked({ request: async () => "from a" }, { request: async () => "from b" });
    expect(await Promise.all([a.request("m", {}), b.request("m", {})])).toEqual(["from b", "from a"]);
  });

  test("a result that cannot be written is an error, and nothing is left unhandled", async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const [, b] = linked({ request: async () => circular });
    await expect(b.request("m", {})).rejects.toMatchObject({ rpcCode: -32603 });
    await expect(b.request("m", circular)).rejects.toThrow(/circular/i);
  });

  test("unknown notifications, cancellations of nothing and handlers that throw do no harm", async () => {
    const failures: unknown[] = [];
    const { sent, receive } = raw({
      request: async () => "pong",
      notification: (method) => {
        if (method === "boom") throw new Error("boom");
      },
      failed: (error, method) => failures.push([method, (error as Error).message]),
    });
    receive({ jsonrpc: "2.0", method: "nope.nope", params: {} });
    receive({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 99 } });
    receive({ jsonrpc: "2.0", method: "boom" });
    receive({ jsonrpc: "2.0", id: 1, method: "ping" });
    await nextTick();
    expect(sent).toEqual([{ jsonrpc: "2.0", id: 1, result: "pong" }]);
    expect(failures).toEqual([["boom", "boom"]]);
  });

  test("a handler that throws before it returns a promise is an error answer, in its own words only", async () => {
    const [, b] = linked({
      request: () => {
        throw new AppError("session_not_found", "Session not found: x");
      },
    });
    await expect(b.request("m", {})).rejects.toMatchObject({
      message: "Session not found: x",
    });
  });

  test("an error keeps its word where its number is that of many, beside its data", async () => {
    const thrown = [
      new AppError("session_not_found", "x"),
      new AppError("model_failed", "y", { data: { status: 500 } }),
      new AppError("session_invalid", "z", { data: "why" }),
      new Error("plain"),
    ];
    const [, b] = linked({ request: async (_, params) => Promise.reject(thrown[(params as { n: number }).n]) });
    const caught = await Promise.all(thrown.map((_, n) => b.request("m", { n }).catch((error: unknown) => error)));
    expect(caught).toMatchObject([
      { code: "session_not_found", rpcCode: -32603 },
      { code: "model_failed", data: { status: 500 } },
      { code: "internal", data: "why" },
      { code: "internal" },
    ]);
  });

  test("a word that is no code of ours is not taken for one", async () => {
    for (const errorCode of ["toString", "nonsense", 7]) {
      const { peer, other } = withOther(NOTHING);
      other.onRequest("fail", () => new ResponseError(-32603, "no", { errorCode }));
      other.listen();
      await expect(peer.request("fail", {})).rejects.toMatchObject({ code: "internal" });
    }
  });
});

describe("closing", () => {
  test("pending requests fail on both sides, and running work is aborted", async () => {
    let aborted = false;
    let told = 0;
    const [a, b] = linked(
      {
        request: (_, __, { signal }) =>
          new Promise(() => {
            signal.addEventListener("abort", () => {
              aborted = true;
            });
          }),
        closed: () => told++,
      },
      { request: () => undefined, closed: () => told++ },
    );
    const pending = b.request("slow", {});
    await nextTick();
    b.close();
    await expect(pending).rejects.toMatchObject({ code: "connection_closed" });
    await nextTick();
    expect(aborted).toBe(true);
    expect(a.closed).toBe(true);
    expect(told).toBe(2);
    await expect(a.request("m", {})).rejects.toMatchObject({ code: "connection_closed" });
  });

  test("a signal that is aborted before the call sends nothing", async () => {
    const { peer, sent } = raw();
    await expect(peer.request("m", {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
    expect(sent).toEqual([]);
  });

  test("an answered request no longer listens to its signal", async () => {
    const { peer, sent, receive } = raw();
    const controller = new AbortController();
    const answer = peer.request("m", {}, { signal: controller.signal });
    receive({ jsonrpc: "2.0", id: 0, result: "ok" });
    expect(await answer).toBe("ok");
    controller.abort();
    expect(sent).toHaveLength(1);
  });
});
