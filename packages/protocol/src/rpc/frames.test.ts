import { describe, expect, test } from "vitest";
import { encodeFrame, FrameDecoder } from "./frames.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function collect(options?: { maxBytes?: number }) {
  const texts: string[] = [];
  const bad: string[] = [];
  const decoder = new FrameDecoder({ text: (text) => texts.push(text), bad: (reason) => bad.push(reason) }, options);
  return { decoder, texts, bad };
}

describe("FrameDecoder", () => {
  test("a pair of frames is the same wherever the bytes are split", () => {
    const wire = bytes(encodeFrame('{"a":"ä€𝄞"}') + encodeFrame('{"b":2}'));
    for (let split = 0; split <= wire.length; split++) {
      const { decoder, texts } = collect();
      decoder.push(wire.subarray(0, split));
      decoder.push(wire.subarray(split));
      expect(texts).toEqual(['{"a":"ä€𝄞"}', '{"b":2}']);
    }
  });

  test("frames that come byte by byte are read", () => {
    const { decoder, texts, bad } = collect();
    for (const byte of bytes(encodeFrame("{}") + encodeFrame("[1]"))) decoder.push(Uint8Array.of(byte));
    expect(texts).toEqual(["{}", "[1]"]);
    expect(bad).toEqual([]);
  });

  test("ten thousand frames in one chunk come out in order", () => {
    const { decoder, texts } = collect();
    decoder.push(bytes(Array.from({ length: 10_000 }, (_, n) => encodeFrame(String(n))).join("")));
    expect(texts).toEqual(Array.from({ length: 10_000 }, (_, n) => String(n)));
  });

  test("the time for a frame that comes in pieces grows with its size, not with its square", () => {
    const time = (size: number) => {
      const { decoder, texts } = collect();
      const wire = bytes(encodeFrame("x".repeat(size)));
      const start = performance.now();
      for (let at = 0; at < wire.length; at += 1024) decoder.push(wire.subarray(at, at + 1024));
      const elapsed = performance.now() - start;
      expect(texts[0]?.length).toBe(size);
      return elapsed;
    };
    const best = (size: number) => Math.min(time(size), time(size), time(size));
    best(1_000_000);
    expect(best(16_000_000)).toBeLessThan(Math.max(best(1_000_000), 1) * 16 * 8);
  });

  test("lower-case and further headers are accepted", () => {
    const { decoder, texts, bad } = collect();
    decoder.push(bytes("content-length: 2\r\n\r\n{}"));
    decoder.push(bytes("Content-Type: application/json; charset=utf-8\r\nContent-Length: 3\r\n\r\n[1]"));
    decoder.push(bytes("Content-Length:2\r\nX-Other: 1\r\n\r\n[]"));
    expect(texts).toEqual(["{}", "[1]", "[]"]);
    expect(bad).toEqual([]);
  });

  test("an empty frame is an empty text", () => {
    const { decoder, texts } = collect();
    decoder.push(bytes(encodeFrame("") + encodeFrame("1")));
    expect(texts).toEqual(["", "1"]);
  });

  test("a frame over the limit is read past, reported, and does not hurt the next one", () => {
    const wire = bytes(encodeFrame("x".repeat(100)) + encodeFrame("{}"));
    for (const size of [1, 7, 1000]) {
      const { decoder, texts, bad } = collect({ maxBytes: 50 });
      for (let at = 0; at < wire.length; at += size) decoder.push(wire.subarray(at, at + size));
      expect(texts).toEqual(["{}"]);
      expect(bad).toEqual(["frame of 100 bytes is over the limit of 50"]);
    }
  });

  test("after junk the next frame is found again", () => {
    const { decoder, texts, bad } = collect();
    decoder.push(bytes(`junk\r\n\r\n${encodeFrame("1")}`));
    decoder.push(bytes(`{"not":"framed"}${encodeFrame("2")}`));
    expect(texts).toEqual(["1", "2"]);
    expect(bad).toEqual(["header without Content-Length", "header without Content-Length"]);
  });

  test("endless junk is reported once and never held", () => {
    const { decoder, texts, bad } = collect();
    for (let n = 0; n < 100; n++) decoder.push(bytes("y".repeat(1000)));
    expect(bad).toEqual(["header without end"]);
    decoder.push(bytes(`\r\n\r\n${encodeFrame("ok")}`));
    expect(texts).toEqual(["ok"]);
  });

  test("newline-delimited JSON is not taken for a frame", () => {
    const { decoder, texts } = collect();
    decoder.push(bytes('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'));
    expect(texts).toEqual([]);
  });
});
