/** Frames and error answers, byte by byte. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ours } from "../support/runtime.ts";
import { frame, type Message, spawnTcp, type Wire } from "../support/wire.ts";

let runtime: Awaited<ReturnType<typeof spawnTcp>>;
beforeAll(async () => {
  runtime = await spawnTcp();
});
afterAll(() => runtime[Symbol.asyncDispose]());

async function connected(): Promise<Wire> {
  const wire = await runtime.open();
  await wire.request("connect", {});
  return wire;
}

const ping = (id: number | string) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping", params: {} });
const answerTo = (wire: Wire, id: number | string) =>
  wire.until((message) => message.id === id && message.result !== undefined);
const nullError = (wire: Wire): Promise<Message> => wire.until((message) => message.id === null);

test("a frame may come in pieces of one byte", async () => {
  const wire = await connected();
  for (const byte of Buffer.from(frame(ping(77)))) wire.bytes(Buffer.of(byte));
  expect((await answerTo(wire, 77)).result.message).toBe("pong");
});

test("several frames may come in one packet, and each is answered", async () => {
  const wire = await connected();
  wire.bytes(frame(ping(10)) + frame(ping(11)) + frame(ping(12)));
  await Promise.all([answerTo(wire, 10), answerTo(wire, 11), answerTo(wire, 12)]);
});

test("header names are read in any case and other headers are passed over", async () => {
  const wire = await connected();
  const [one, two] = [ping(20), ping(21)];
  wire.bytes(`content-length: ${one.length}\r\n\r\n${one}`);
  wire.bytes(`Content-Length: ${two.length}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n${two}`);
  await Promise.all([answerTo(wire, 20), answerTo(wire, 21)]);
});

test("the length of a frame is counted in bytes, not in characters", async () => {
  const wire = await connected();
  const text = "żółć 🦊 漢字";
  expect(await wire.request("ping", { message: text })).toMatchObject({ message: `pong: ${text}` });
});

test("an id may be a string", async () => {
  const wire = await connected();
  wire.bytes(frame(ping("abc")));
  expect(await answerTo(wire, "abc")).toMatchObject({ result: { message: "pong" } });
});

test("params may be left out or be a list that holds null", async () => {
  const wire = await connected();
  expect(await wire.request("ping")).toMatchObject({ message: "pong" });
  expect(await wire.request("ping", [null])).toMatchObject({ message: "pong" });
});

test("text that is not JSON is answered with -32700 and the connection lives on", async () => {
  const wire = await connected();
  wire.bytes(frame("{nope"));
  expect(await nullError(wire)).toMatchObject({ jsonrpc: "2.0", error: { code: -32700 } });
  expect(await wire.request("ping", {})).toMatchObject({ message: "pong" });
});

test.each([
  ["a batch", `[${ping(1)}]`],
  ["a message without jsonrpc", '{"id":2,"method":"ping","params":{}}'],
  ["a message that is neither request nor answer", '{"jsonrpc":"2.0","id":3}'],
])("%s is answered with -32600 and the connection lives on", async (_, body) => {
  const wire = await connected();
  wire.bytes(frame(body));
  expect(await nullError(wire)).toMatchObject({ error: { code: -32600 } });
  expect(await wire.request("ping", {})).toMatchObject({ message: "pong" });
});

test("unknown notifications and cancellations of unknown requests are passed over in silence", async () => {
  const wire = await connected();
  wire.send({ method: "nope.nope", params: {} });
  wire.send({ method: "$/cancelRequest", params: { id: 4711 } });
  await wire.request("ping", {});
  expect(wire.messages.filter((message) => message.error)).toEqual([]);
});

test("an answer to a request that was never made is passed over", async () => {
  const wire = await connected();
  wire.send({ id: 4711, result: {} });
  expect(await wire.request("ping", {})).toMatchObject({ message: "pong" });
});

test("an unknown method is answered with -32601 that names it", async () => {
  const wire = await connected();
  expect((await wire.answer("no.such.method", {})).error).toMatchObject({
    code: -32601,
    message: "Unhandled method no.such.method",
  });
});

test.each([
  ["session.send", { sessionId: "nope", prompt: "x" }, /Session not found for sessionId: nope/],
  ["session.abort", { sessionId: "nope" }, /Session not found for sessionId: nope/],
  ["session.mode.get", { sessionId: "nope" }, /Session not found for sessionId: nope/],
  ["session.getMessages", { sessionId: "nope" }, /Session not found: nope/],
  ["session.resume", { sessionId: "nope" }, /Failed to load session events: Session not found: nope/],
  ["session.resume", {}, /Missing sessionId parameter/],
])("%s on an unknown session says what was not found", async (method, params, text) => {
  const wire = await connected();
  const { error } = await wire.answer(method, params);
  expect(error?.code).toBe(-32603);
  expect(error?.message).toMatch(new RegExp(`^Request ${method} failed with message: `));
  expect(error?.message).toMatch(text);
});

test.each(["a/b", "..", "../x"])("session.create refuses the id %s", async (sessionId) => {
  const wire = await connected();
  const { error } = await wire.answer("session.create", { sessionId });
  expect(error?.code).toBe(-32603);
  expect(error?.message).toContain(`Rejected session.create request with invalid sessionId: ${sessionId}`);
});

test("calls on things that are not there answer success:false instead of an error", async () => {
  const wire = await connected();
  expect(await wire.request("session.delete", { sessionId: "nope" })).toEqual({
    success: false,
    error: "Session file not found for nope",
  });
  expect(await wire.request("session.destroy", { sessionId: "nope" })).toMatchObject({ success: false });
  expect(await wire.request("session.detach", { sessionId: "nope" })).toMatchObject({ success: true });
  expect(await wire.request("session.setForeground", { sessionId: "nope" })).toMatchObject({ success: false });
  expect(await wire.request("session.getForeground", {})).toEqual({});
  expect(await wire.request("session.getMetadata", { sessionId: "nope" })).toEqual({});
});

// The other runtime answers the header, and then nothing more on that connection.
test.runIf(ours)("a header without a usable length is answered, and ends the connection", async () => {
  const wire = await connected();
  wire.bytes(`Content-Length: many\r\n\r\n${frame(ping(9))}`);
  expect(await nullError(wire)).toMatchObject({
    error: { code: -32700, message: expect.stringContaining("not a frame") },
  });
  await wire.closed;
  expect(wire.messages.filter(({ id }) => id === 9)).toEqual([]);
});

test.runIf(ours).each([
  ["a browser", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
  ["a page that posts a frame", `POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n${frame(ping(9))}`],
  ["a TLS client", "\u0016\u0003\u0001\u0002\u0000\u0001"],
  ["a line of JSON", `${ping(9)}\n`],
  ["a single wrong byte", "x"],
])("%s is cut off, and nothing is answered", async (_, text) => {
  const wire = await runtime.open();
  wire.bytes(text);
  await wire.closed;
  expect(wire.messages).toEqual([]);
});

test("a client that leaves in the middle of a frame disturbs nobody", async () => {
  const [rude, polite] = [await connected(), await connected()];
  rude.bytes("Content-Length: 5000\r\n\r\n{");
  rude.end();
  await rude.closed;
  expect(await polite.request("ping", {})).toMatchObject({ message: "pong" });
});
