/**
 * Content-Length framing: bytes in, JSON texts out, and back.
 *
 * Owns splitting and joining of frames. What a text means is the peer's business. Work is proportional to the bytes that
 * come: a frame that is complete in one chunk is read in place, a larger one is copied once into a buffer of its size.
 */
const HEADER_END = "\r\n\r\n";
const MAX_HEADER_BYTES = 8 * 1024;
const LENGTH = /^content-length:[ \t]*(\d{1,15})[ \t]*$/im;
/** The same after junk: behind a broken frame, the next header may begin in the middle of a line. */
const LENGTH_AFTER_JUNK = /content-length:[ \t]*(\d{1,15})[ \t]*$/im;

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
  /** Bytes that are not a frame: a length over the limit, or no length at all. Reported once until the next good header. */
  bad(reason: string): void;
}

export class FrameDecoder {
  readonly #sink: FrameSink;
  readonly #maxBytes: number;
  /** The start of a header whose end has not arrived. */
  #header = NO_BYTES;
  /** The frame that is being filled, and how far it is. */
  #body: Uint8Array | undefined;
  #filled = 0;
  /** Bytes of an oversized frame that are still to be read past. */
  #skip = 0;
  #inJunk = false;

  constructor(sink: FrameSink, { maxBytes = MAX_FRAME_BYTES }: { maxBytes?: number } = {}) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
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
      this.#holdHeader(bytes);
      return chunk.length;
    }
    this.#header = NO_BYTES;
    const bodyAt = at + end + HEADER_END.length - held;
    const length = this.#lengthIn(decodeText(bytes.subarray(0, end)));
    if (length === undefined) return bodyAt;
    if (length > this.#maxBytes) {
      this.#skip = length;
      this.#sink.bad(`frame of ${length} bytes is over the limit of ${this.#maxBytes}`);
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

  #holdHeader(bytes: Uint8Array): void {
    if (bytes.length <= MAX_HEADER_BYTES) {
      this.#header = bytes.slice();
      return;
    }
    this.#header = NO_BYTES;
    this.#junk("header without end");
  }

  #lengthIn(header: string): number | undefined {
    const length = LENGTH.exec(header)?.[1];
    if (length === undefined) this.#junk("header without Content-Length");
    const found = length ?? LENGTH_AFTER_JUNK.exec(header)?.[1];
    if (found === undefined) return undefined;
    this.#inJunk = false;
    return Number(found);
  }

  #junk(reason: string): void {
    if (this.#inJunk) return;
    this.#inJunk = true;
    this.#sink.bad(reason);
  }
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
