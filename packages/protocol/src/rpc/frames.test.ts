import { describe, expect, test } from "vitest";
import { encodeFrame, FrameDecoder } from "./frames.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function collect(options?: { maxBytes?: () => number }) {
  const texts: string[] = [];
  const bad: string[] = [];
  const junk: string[] = [];
  const sink = {
    text: (text: string) => texts.push(text),
    bad: (reason: string) => bad.push(reason),
    junk: (reason: string) => junk.push(reason),
  };
  return { decoder: new FrameDecoder(sink, options), texts, bad, junk };
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
    const { decoder, texts, junk } = collect();
    for (const byte of bytes(encodeFrame("{}") + encodeFrame("[1]"))) decoder.push(Uint8Array.of(byte));
    expect(texts).toEqual(["{}", "[1]"]);
    expect(junk).toEqual([]);
  });

  test("ten thousand frames in one chunk come out in order", () => {
    const { decoder, texts } = collect();
    decoder.push(bytes(Array.from({ length: 10_000 }, (_, n) => encodeFrame(String(n))).join("")));
    expect(texts).toEqual(Array.from({ length: 10_000 }, (_, n) => String(n)));
  });

  test("the bytes of a frame that comes in pieces are copied once", () => {
    const size = 1_000_000;
    const wire = bytes(encodeFrame("x".repeat(size)));
    const { decoder, texts } = collect();
    const { set } = Uint8Array.prototype;
    let count = 0;
    Uint8Array.prototype.set = function (source, at) {
      count += source.length;
      set.call(this, source, at);
    };
    try {
      for (let at = 0; at < wire.length; at += 1024) decoder.push(wire.subarray(at, at + 1024));
    } finally {
      Uint8Array.prototype.set = set;
    }
    expect(texts[0]?.length).toBe(size);
    expect(count).toBeLessThanOrEqual(wire.length);
    expect(count).toBeGreaterThan(size / 2); // Or the copies are made in a way that is not counted here.
  });

  test("a name in any case, no space behind the colon, and a Content-Type are accepted", () => {
    const { decoder, texts, junk } = collect();
    decoder.push(bytes("content-length: 2\r\n\r\n{}"));
    decoder.push(bytes("Content-Type: application/json; charset=utf-8\r\nContent-Length: 3\r\n\r\n[1]"));
    decoder.push(bytes("CONTENT-LENGTH:2\r\ncontent-type: x\r\n\r\n[]"));
    expect(texts).toEqual(["{}", "[1]", "[]"]);
    expect(junk).toEqual([]);
  });

  const HEADERS: Record<string, string> = {
    "a plus sign": "Content-Length: +2\r\n\r\n",
    "a minus sign": "Content-Length: -2\r\n\r\n",
    "two spaces": "Content-Length:  2\r\n\r\n",
    "a tab": "Content-Length:\t2\r\n\r\n",
    "a space behind the number": "Content-Length: 2 \r\n\r\n",
    "a space before the colon": "Content-Length : 2\r\n\r\n",
    "a space before the name": " Content-Length: 2\r\n\r\n",
    "a hexadecimal number": "Content-Length: 0x2\r\n\r\n",
    "a fraction": "Content-Length: 2.0\r\n\r\n",
    "an exponent": "Content-Length: 2e0\r\n\r\n",
    "a leading zero": "Content-Length: 02\r\n\r\n",
    "digits of another script": "Content-Length: ٢\r\n\r\n",
    "no number": "Content-Length: \r\n\r\n",
    "a number without end": `Content-Length: ${"9".repeat(40)}\r\n\r\n`,
    "two lengths that agree": "Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
    "two lengths that differ": "Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
    "a folded line": "Content-Length: 2\r\n 2\r\n\r\n",
    "an unknown header": "Content-Length: 2\r\nX-Other: 1\r\n\r\n",
    "an unknown header first": "X-Other: 1\r\nContent-Length: 2\r\n\r\n",
    "only a Content-Type": "Content-Type: x\r\n\r\n",
    "two Content-Types": "Content-Length: 2\r\nContent-Type: x\r\nContent-Type: y\r\n\r\n",
    "a control character": "Content-Length: 2\r\nContent-Type: \u0000\r\n\r\n",
    "line feeds alone": "Content-Length: 2\n\n",
    "one line feed alone": "Content-Length: 2\nContent-Type: x\r\n\r\n",
    "a carriage return alone": "Content-Length: 2\rContent-Type: x\r\n\r\n",
    "no header at all": "\r\n\r\n",
    "too long a header": `Content-Length: 2\r\nContent-Type: ${"x".repeat(2000)}\r\n\r\n`,
    "the request of a browser": "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a frame in the body of a web request": "POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n",
    "a TLS handshake": "\u0016\u0003\u0001",
    "a line of JSON": '{"jsonrpc":"2.0"}\n',
  };
  test.each(Object.keys(HEADERS))("%s is junk, and nothing behind it is read", (name) => {
    const wire = bytes(`${HEADERS[name]}{}${encodeFrame("2")}`);
    for (const size of [1, wire.length]) {
      const { decoder, texts, junk } = collect();
      decoder.push(bytes(encodeFrame("1")));
      for (let at = 0; at < wire.length; at += size) decoder.push(wire.subarray(at, at + size));
      decoder.push(bytes(encodeFrame("3")));
      expect(texts).toEqual(["1"]);
      expect(junk).toHaveLength(1);
    }
  });

  test("text among the frames is called that, in whatever pieces it comes with the frame behind it", () => {
    const wire = bytes(`a new version is available\n${encodeFrame("1")}`);
    for (let split = 0; split <= wire.length; split++) {
      const { decoder, junk } = collect();
      decoder.push(wire.subarray(0, split));
      decoder.push(wire.subarray(split));
      expect(junk, String(split)).toEqual(["bytes that begin no header"]);
    }
  });

  test.each(["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PRI", "\u0016", "{", "\n", " ", "\u0000"])(
    "the first byte of %j is enough to be turned away",
    (word) => {
      const { decoder, junk } = collect();
      decoder.push(bytes(word).subarray(0, 1));
      expect(junk).toEqual(["bytes that begin no header"]);
    },
  );

  test("CONNECT is turned away where it leaves the word Content", () => {
    const { decoder, junk } = collect();
    decoder.push(bytes("CON"));
    expect(junk).toEqual([]);
    decoder.push(bytes("N"));
    expect(junk).toHaveLength(1);
  });

  test("an empty frame is an empty text", () => {
    const { decoder, texts } = collect();
    decoder.push(bytes(encodeFrame("") + encodeFrame("1")));
    expect(texts).toEqual(["", "1"]);
  });

  test("a frame over the limit is read past, reported, and does not hurt the next one", () => {
    const wire = bytes(encodeFrame("x".repeat(100)) + encodeFrame("{}"));
    for (const size of [1, 7, 1000]) {
      const { decoder, texts, bad } = collect({ maxBytes: () => 50 });
      for (let at = 0; at < wire.length; at += size) decoder.push(wire.subarray(at, at + size));
      expect(texts).toEqual(["{}"]);
      expect(bad).toEqual(["frame of 123 bytes is over the limit of 50"]);
    }
  });

  test("the limit counts the header too, and is asked for at every frame", () => {
    let most = 26;
    const { decoder, texts, bad } = collect({ maxBytes: () => most });
    decoder.push(bytes(encodeFrame("12345") + encodeFrame("123456")));
    expect(texts).toEqual(["12345"]);
    expect(bad).toEqual(["frame of 27 bytes is over the limit of 26"]);
    most = 27;
    decoder.push(bytes(encodeFrame("123456")));
    expect(texts).toEqual(["12345", "123456"]);
  });
});
