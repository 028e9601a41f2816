/** Random and mutated bytes, so many of them: the server stays up and answers ping. FUZZ_SEED and FUZZ_FRAMES repeat or prolong a run. */
import { expect, test } from "vitest";
import { frame, spawnTcp, type Wire } from "../support/wire.ts";
import { Random } from "./random.ts";

const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);
const FRAMES = Number(process.env.FUZZ_FRAMES ?? 6_000);

const METHODS = [
  "ping",
  "connect",
  "session.create",
  "session.send",
  "session.abort",
  "session.getMessages",
  "session.resume",
  "session.tasks.list",
  "session.list",
  "session.delete",
  "status.get",
  "no.such.method",
  "$/cancelRequest",
];

function message(random: Random): string {
  const params = random.pick<unknown>([
    undefined,
    null,
    [],
    [null],
    {},
    { sessionId: "s" },
    { sessionId: "../s" },
    { sessionId: 7 },
    { sessionId: "s", prompt: "hi" },
    "text",
    5,
    { token: "x" },
  ]);
  const id = random.pick<unknown>([1, "a", null, undefined, 1.5, {}, -1, 2 ** 60]);
  return JSON.stringify({
    jsonrpc: random.pick<unknown>(["2.0", "2.0", "2.0", "1.0", undefined]),
    id,
    method: random.pick<unknown>([...METHODS, undefined, 3]),
    params,
  });
}

/** One of the ways in which bytes on a wire can be wrong; sometimes they are right. */
function bytes(random: Random): Buffer {
  const body = message(random);
  const good = Buffer.from(frame(body));
  switch (random.below(10)) {
    case 0:
      return good;
    case 1: {
      for (let flips = 1 + random.below(4); flips > 0; flips--) good[random.below(good.length)] = random.below(256);
      return good;
    }
    case 2:
      return good.subarray(0, random.below(good.length));
    case 3:
      return Buffer.from(
        `Content-Length: ${random.pick([-1, 0, 3, 10 ** 12, body.length + 50, "abc", "1e9", ""])}\r\n\r\n${body}`,
      );
    case 4:
      return random.bytes(random.below(200));
    case 5:
      return Buffer.from(frame(`[${body},${body}]`));
    case 6:
      return Buffer.from(frame(`${"[".repeat(5000)}${"]".repeat(random.below(5000))}`));
    case 7:
      return Buffer.from(frame(JSON.stringify({ jsonrpc: "2.0", id: random.below(100), result: { any: body } })));
    case 8:
      return Buffer.from(`X-Other: 1\r\nContent-Length:${Buffer.byteLength(body)}\r\nContent-Type: x\r\n\r\n${body}`);
    default:
      return Buffer.concat([good, good, good.subarray(0, 5)]);
  }
}

test(`the server stays up under random frames (seed ${SEED})`, async () => {
  await using runtime = await spawnTcp();
  const random = new Random(SEED);
  let sent = 0;
  let closed = 0;
  let wire: Wire = await runtime.open();
  let isOpen = true;
  while (sent < FRAMES) {
    if (!isOpen || random.below(40) === 0) {
      wire.end(); // Sometimes in the middle of a frame.
      wire = await runtime.open();
      isOpen = true;
      void wire.closed.then(() => {
        isOpen = false;
        closed++;
      });
    }
    wire.bytes(bytes(random));
    sent++;
    if (sent % 25 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (sent % 500 === 0)
      expect((await (await runtime.open()).request("ping", { message: String(sent) })).message).toBe(`pong: ${sent}`);
  }
  const last = await runtime.open();
  expect((await last.request("ping", { message: "last" })).message).toBe("pong: last");
  await last.request("connect", {});
  expect((await last.request("session.create", { workingDirectory: runtime.folders.folder })).sessionId).toBeTypeOf(
    "string",
  );
  expect(runtime.process.exitCode).toBeNull();
  console.log(`${sent} frames, ${closed} connections ended`);
});
