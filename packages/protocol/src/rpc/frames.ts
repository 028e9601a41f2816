/**
 * Content-Length framing: bytes in, JSON texts out, and back.
 *
 * Owns splitting and joining of frames. What a text means is the peer's business. Work is proportional to the bytes that
 * come: a frame that is complete in one chunk is read in place, a larger one is copied once into a buffer of its size.
 *
 * Headers are exact, and bytes that are no frame end the reading: whoever looked for the next header behind them could be made
 * to find one in text that somebody else wrote, such as the body of a web page's request.
 */
const HEADER_END = "\r\n\r\n";
const MAX_HEADER_BYTES = 1024;
/** The headers of the protocol, of which each may come once. */
const NAMES = ["content-length:", "content-type:"];
const LENGTH = /^content-length: ?(0|[1-9]\d{0,9})$/i;
const TYPE = /^content-type: ?[\x20-\x7e]+$/i;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const NO_BYTES = new Uint8Array(0);

/** Larger frames are read past and reported, never held in memory. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

export function encodeFrame(text: string): string {
  return `Content-Length: ${byteLength(text)}${HEADER_END}${text}`;
}

/** UTF-8 length; Node counts without encoding. */
export function byteLength(text: string): number {
  if (typeof Buffer !== "undefined") return Buffer.byteLength(text);
  return encoder.encode(text).length;
}

export interface FrameSink {
  text(text: string): void;
  /** A frame over the limit, which is read past. */
  bad(reason: string): void;
  /** Bytes that are no frame. Nothing is read any more. */
  junk(reason: string): void;
}

export class FrameDecoder {
  readonly #sink: FrameSink;
  readonly #maxBytes: () => number | undefined;
  /** The start of a header whose end has not arrived. */
  #header = NO_BYTES;
  /** The frame that is being filled, and how far it is. */
  #body: Uint8Array | undefined;
  #filled = 0;
  /** Bytes of an oversized frame that are still to be read past. */
  #skip = 0;
  #hasEnded = false;

  /** `maxBytes` is asked for at every frame, and counts the header too; undefined means the ordinary limit. */
  constructor(sink: FrameSink, { maxBytes = () => undefined }: { maxBytes?: () => number | undefined } = {}) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && !this.#hasEnded) {
      if (this.#skip > 0) at = this.#skipOver(chunk, at);
      else if (this.#body) at = this.#fill(this.#body, chunk, at);
      else at = this.#readHeader(chunk, at);
    }
  }

  #skipOver(chunk: Uint8Array, at: number): number {
    const skipped = Math.min(this.#skip, chunk.length - at);
    this.#skip -= skipped;
    return at + skipped;
  }

  #fill(body: Uint8Array, chunk: Uint8Array, at: number): number {
    const end = Math.min(at + body.length - this.#filled, chunk.length);
    body.set(chunk.subarray(at, end), this.#filled);
    this.#filled += end - at;
    if (this.#filled === body.length) {
      this.#body = undefined;
      this.#sink.text(decodeText(body));
    }
    return end;
  }

  /** Reads one header and, when it is all there, the body behind it. */
  #readHeader(chunk: Uint8Array, at: number): number {
    const held = this.#header.length;
    const bytes = held > 0 ? joined(this.#header, chunk.subarray(at)) : chunk.subarray(at);
    const end = indexOfHeaderEnd(bytes);
    if (end < 0) {
      const wrong = wrongIn(bytes);
      if (wrong !== undefined) return this.#junk(wrong, chunk);
      this.#header = bytes.slice();
      return chunk.length;
    }
    this.#header = NO_BYTES;
    const bodyAt = at + end + HEADER_END.length - held;
    const length = end > MAX_HEADER_BYTES ? undefined : lengthIn(decodeText(bytes.subarray(0, end)));
    if (length === undefined) {
      const wrong = wrongIn(bytes.subarray(0, end)) ?? "a header without one exact Content-Length";
      return this.#junk(wrong, chunk);
    }
    const [size, most] = [end + HEADER_END.length + length, this.#maxBytes() ?? MAX_FRAME_BYTES];
    if (size > most) {
      this.#skip = length;
      this.#sink.bad(`frame of ${size} bytes is over the limit of ${most}`);
      return bodyAt;
    }
    return this.#readBody(chunk, bodyAt, length);
  }

  #readBody(chunk: Uint8Array, at: number, length: number): number {
    const end = at + length;
    if (end <= chunk.length) {
      this.#sink.text(decodeText(chunk.subarray(at, end)));
      return end;
    }
    this.#body = new Uint8Array(length);
    this.#filled = 0;
    return at;
  }

  #junk(reason: string, chunk: Uint8Array): number {
    this.#hasEnded = true;
    this.#header = NO_BYTES;
    this.#sink.junk(reason);
    return chunk.length;
  }
}

/** What is wrong with a header that has only begun: a stranger is turned away at its first bytes. */
function wrongIn(bytes: Uint8Array): string | undefined {
  const start = decodeText(bytes.subarray(0, 16)).toLowerCase();
  if (!NAMES.some((name) => name.startsWith(start) || start.startsWith(name))) return "bytes that begin no header";
  if (bytes.length > MAX_HEADER_BYTES) return "a header that is too long";
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1))
    if (bytes[at - 1] !== 13) return "a line that does not end with CR LF";
  return undefined;
}

function lengthIn(header: string): number | undefined {
  const only = LENGTH.exec(header)?.[1]; // The ordinary case.
  if (only !== undefined) return Number(only);
  const lines = header.split("\r\n");
  const lengths = lines.filter((line) => LENGTH.test(line));
  const types = lines.filter((line) => TYPE.test(line));
  const isExact = lengths.length === 1 && types.length <= 1 && lengths.length + types.length === lines.length;
  return isExact ? Number(LENGTH.exec(lengths[0] ?? "")?.[1]) : undefined;
}

function decodeText(bytes: Uint8Array): string {
  if (typeof Buffer === "undefined") return decoder.decode(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function indexOfHeaderEnd(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(13); at >= 0; at = bytes.indexOf(13, at + 1)) {
    if (bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) return at;
  }
  return -1;
}
