import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { ModelError } from "../provider.ts";
import { readText, send } from "./http.ts";
import { brokenSse, json, type Loopback, loopback, sse } from "./loopback.ts";

const never = new AbortController().signal;
const call = (server: Loopback, signal = never) => send({ url: `${server.url}/v1/x`, headers: {}, body: "{}", signal });

async function failure(work: Promise<unknown>): Promise<ModelError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

describe("send", () => {
  test("gives status, headers and the body", async () => {
    await using server = await loopback(json({ fine: true }, { headers: { "x-request-id": "r1" } }));
    const answer = await call(server);
    expect(answer).toMatchObject({ status: 200, headers: { "x-request-id": "r1" } });
    expect(await readText(answer)).toBe('{"fine":true}');
  });

  test("uses one connection for several calls", async () => {
    await using server = await loopback(sse({ a: 1 }, "[DONE]"));
    for (let i = 0; i < 5; i++) await readText(await call(server));
    expect(server.connections).toBe(1);
  });

  test("a reader that stops early at the end mark leaves the connection usable", async () => {
    await using server = await loopback(sse({ a: 1 }, "[DONE]"));
    for (let i = 0; i < 3; i++) await (await call(server)).read((chunk) => chunk.length > 0);
    expect(server.received).toHaveLength(3);
    expect(server.connections).toBe(1);
  });

  test("closes the connection of an endpoint that goes on after its reader has stopped", async () => {
    await using server = await loopback((response) => void response.writeHead(200).write("first"));
    await (await call(server)).read(() => true);
    await server.received[0]?.closed;
  });

  test("a call that breaks on a kept connection is a failure that shows, and the next one takes a new connection", async () => {
    await using server = await loopback(json({}), (response) => void response.socket?.destroy(), json({ again: true }));
    await readText(await call(server));
    expect(await failure(call(server))).toMatchObject({ kind: "transport", providerCode: "ECONNRESET" });
    expect(await readText(await call(server))).toBe('{"again":true}');
    expect(server.connections).toBe(2);
  });

  test("does not send a call again that broke on a connection of its own", async () => {
    await using server = await loopback((response) => void response.socket?.destroy(), json({}));
    expect(await failure(call(server))).toMatchObject({ kind: "transport", providerCode: "ECONNRESET" });
    expect(server.received).toHaveLength(1);
  });

  test("says when a call has left, on a new connection and on a kept one, and never when there was none", async () => {
    const sent: string[] = [];
    const told = (url: string, name: string) =>
      send({ url, headers: {}, body: "{}", signal: never, onSent: () => sent.push(name) });
    await using server = await loopback(json({}), (response) => void response.socket?.destroy());
    await readText(await told(`${server.url}/v1/x`, "new"));
    await failure(told(`${server.url}/v1/x`, "kept"));
    expect(sent).toEqual(["new", "kept"]);
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const address = closed.address();
    await new Promise((resolve) => closed.close(resolve));
    const port = typeof address === "object" ? address?.port : undefined;
    expect(await failure(told(`http://127.0.0.1:${port}/v1/x`, "refused"))).toMatchObject({
      providerCode: "ECONNREFUSED",
    });
    expect(sent).toEqual(["new", "kept"]);
  });

  test("an abort before the answer closes the connection and throws the reason", async () => {
    const stop = new AbortController();
    await using server = await loopback(() => stop.abort(new Error("enough")));
    await expect(call(server, stop.signal)).rejects.toThrow("enough");
    await server.received[0]?.closed;
  });

  test("an abort in the middle of the body closes the connection and throws the reason", async () => {
    await using server = await loopback((response) => void response.writeHead(200).write("first"));
    const stop = new AbortController();
    const { read } = await call(server, stop.signal);
    const reading = read(() => {
      stop.abort(new Error("enough"));
      return false;
    });
    await expect(reading).rejects.toThrow("enough");
    await server.received[0]?.closed;
  });

  test("an error of the reader is thrown as it is, and the connection is kept for the next call", async () => {
    await using server = await loopback(sse({ a: 1 }, "[DONE]"));
    const broken = () => {
      throw new TypeError("a bug");
    };
    await expect((await call(server)).read(broken)).rejects.toThrow(TypeError);
    await readText(await call(server));
    expect(server.received).toHaveLength(2);
  });

  test("a signal that is aborted already sends nothing", async () => {
    await using server = await loopback(json({}));
    await expect(call(server, AbortSignal.abort(new Error("never mind")))).rejects.toThrow("never mind");
    expect(server.connections).toBe(0);
  });

  test("a refused connection is a transport error with its code", async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
    const address = probe.address();
    const port = typeof address === "object" ? address?.port : 0;
    await new Promise((resolve) => probe.close(resolve));
    const error = await failure(send({ url: `http://127.0.0.1:${port}/`, headers: {}, body: "", signal: never }));
    expect(error).toMatchObject({ kind: "transport", providerCode: "ECONNREFUSED" });
  });

  test("a body that breaks off is a transport error", async () => {
    await using server = await loopback(brokenSse({ a: 1 }));
    expect(await failure(readText(await call(server)))).toMatchObject({ kind: "transport" });
  });

  test("silence longer than allowed is a transport error", async () => {
    await using server = await loopback(() => {});
    const error = await failure(send({ url: server.url, headers: {}, body: "", signal: never, idleTimeoutMs: 20 }));
    expect(error).toMatchObject({ kind: "transport", message: expect.stringContaining("20 ms") });
  });

  test("an address that is not http is a transport error", async () => {
    expect(await failure(send({ url: "ftp://x/", headers: {}, signal: never }))).toMatchObject({ kind: "transport" });
  });
});

describe("an error status", () => {
  test.each([
    ["an error object", { error: { message: "bad thing", type: "invalid_request_error", code: "bad" } }, "bad thing"],
    ["an error text", { error: "model not loaded" }, "model not loaded"],
    ["a message", { message: "unknown route" }, "unknown route"],
    ["a detail", { detail: "not allowed" }, "not allowed"],
    ["a list with an error", [{ error: { message: "in a list", code: 400 } }], "in a list"],
    ["plain text", "upstream is away\nmore", "upstream is away"],
    ["a list of details", { detail: [{ loc: ["body"], msg: "field required" }] }, "field required"],
    ["a list of errors", { errors: [{ message: "first" }, { message: "second" }] }, "first"],
    ["an error within the message", { error: { message: '{"error": {"message": "inner"}}' } }, "inner"],
    ["an error behind words", { error: { message: 'upstream said {"error": "inner"}' } }, "upstream said inner"],
    ["JSON that says nothing", { code: 17, items: [] }, "Bad Request"],
    [
      "HTML",
      "<html><style>p{}</style><body><h1>Hi</h1></body></html>",
      "the address answered with a web page; is it the right URL?",
    ],
    ["nothing", "", "Bad Request"],
  ])("with %s gives the provider's message", async (_, body, message) => {
    await using server = await loopback(json(body, { status: 400 }));
    expect(await failure(call(server))).toMatchObject({ kind: "api", status: 400, message: `400 ${message}` });
  });

  test("in a web page of a gateway gives its first line, and is not taken for a wrong address", async () => {
    const page = "<html><style>p{}</style><body><h1>Bad gateway</h1></body></html>";
    for (const status of [502, 401, 429]) {
      await using server = await loopback(json(page, { status, headers: { "content-type": "text/html" } }));
      const error = await failure(call(server));
      expect(error).toMatchObject({ message: `${status} Bad gateway`, said: "Bad gateway", isElsewhere: false });
    }
  });

  test("in a web page with a title gives the title, without the status in it", async () => {
    const page =
      "<html><head><title>503 Service\n Unavailable</title></head><body><h1>503 x</h1><hr>nginx</body></html>";
    await using server = await loopback(json(page, { status: 503, headers: { "content-type": "text/html" } }));
    expect(await failure(call(server))).toMatchObject({ message: "503 Service Unavailable" });
  });

  test("keeps the provider's code, class and error object", async () => {
    const error = { message: "bad thing", type: "invalid_request_error", code: "bad" };
    await using server = await loopback(json({ error }, { status: 400 }));
    expect(await failure(call(server))).toMatchObject({
      providerCode: "bad",
      providerType: "invalid_request_error",
      detail: JSON.stringify(error),
    });
  });

  test.each([
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "40", "retry-after": "2" }, 40],
    [{ "retry-after": new Date(0).toUTCString() }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("with %j asks to wait %s ms", async (headers, retryAfterMs) => {
    await using server = await loopback(json({ error: { message: "slow down" } }, { status: 429, headers }));
    expect(await failure(call(server))).toMatchObject({ status: 429, retryAfterMs });
  });

  test("with a date in the future asks to wait until then", async () => {
    const headers = { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() };
    await using server = await loopback(json({}, { status: 503, headers }));
    const { retryAfterMs = 0 } = await failure(call(server));
    expect(retryAfterMs).toBeGreaterThan(1_800_000);
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  test("with an endless body is read only so far", async () => {
    await using server = await loopback(async (response) => {
      response.writeHead(500);
      response.on("drain", more);
      more();
      function more() {
        while (!response.destroyed && response.write("x".repeat(16_384)));
      }
    });
    expect(await failure(call(server))).toMatchObject({ status: 500 });
    await server.received[0]?.closed;
  });
});
