/**
 * A transport over a pair of byte streams: stdio, a socket, anything that looks like Node's streams.
 *
 * Written against the few methods it needs, so that the package has no Node import. Frames of one tick go out in one write.
 * A pipe that breaks is a closed connection, not an error: the other side may end at any moment. Bytes that are no frame close it too:
 * with an answer behind good frames, and in silence when nothing else came, because then it is no client of ours.
 */
import { encodeFrame, FrameDecoder } from "./frames.ts";
import type { Receiver, Transport } from "./peer.ts";

/** What we read from: Node's Readable, as far as we use it. */
export interface ByteSource {
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "end" | "close" | "error", listener: () => void): unknown;
  destroy?(): unknown;
}

/** What we write to: Node's Writable, as far as we use it. */
export interface ByteTarget {
  write(text: string): unknown;
  /** Bytes that are written and not taken yet. */
  readonly writableLength?: number;
  /** Calls back when everything is written, or cannot be. */
  end?(done: () => void): unknown;
  on(event: "close" | "error", listener: () => void): unknown;
}

export function streamTransport(
  source: ByteSource,
  target: ByteTarget,
  { maxFrameBytes }: { maxFrameBytes?: () => number | undefined } = {},
): Transport {
  return new StreamTransport(source, target, maxFrameBytes);
}

/** After the events that are being handled now, so that all their frames share one write. */
const soon: (run: () => void) => unknown = typeof setImmediate === "undefined" ? queueMicrotask : setImmediate;

class StreamTransport implements Transport {
  readonly #source: ByteSource;
  readonly #target: ByteTarget;
  readonly #maxFrameBytes: (() => number | undefined) | undefined;
  #receiver: Receiver | undefined;
  #waiting: string[] = [];
  #waitingChars = 0;
  #closed = false;
  #reason: string | undefined;

  constructor(source: ByteSource, target: ByteTarget, maxFrameBytes: (() => number | undefined) | undefined) {
    this.#source = source;
    this.#target = target;
    this.#maxFrameBytes = maxFrameBytes;
    target.on("error", () => this.#end());
    target.on("close", () => this.#end());
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    let isClient = false;
    const sink = {
      text: (text: string) => {
        isClient = true;
        if (!this.#closed) receiver.text(text);
      },
      bad: (reason: string) => receiver.bad(reason),
      junk: (reason: string) => {
        if (isClient) receiver.bad(`not a frame: ${reason}; the connection is closed`);
        this.#reason = `not a frame: ${reason}`;
        this.close();
      },
    };
    const decoder = new FrameDecoder(sink, { maxBytes: this.#maxFrameBytes });
    this.#source.on("data", (chunk) => {
      if (!this.#closed) decoder.push(chunk);
    });
    this.#source.on("end", () => this.#end());
    this.#source.on("close", () => this.#end());
    this.#source.on("error", () => this.#end());
    if (this.#closed) receiver.closed();
  }

  /** What waits for the next write is counted in characters, which is near enough for a limit. */
  get queuedBytes(): number {
    return this.#waitingChars + (this.#target.writableLength ?? 0);
  }

  send(text: string): void {
    if (this.#closed) return;
    this.#waiting.push(encodeFrame(text));
    this.#waitingChars += text.length;
    if (this.#waiting.length === 1) soon(() => this.#flush());
  }

  close(): void {
    if (this.#closed) return;
    this.#flush();
    this.#end();
    // Source and target of a socket are the same object: destroying it earlier would lose what is still to be written.
    this.#target.end?.(() => this.#source.destroy?.());
  }

  #flush(): void {
    if (this.#closed || this.#waiting.length === 0) return;
    const frames = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#target.write(frames.length === 1 ? (frames[0] ?? "") : frames.join(""));
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#receiver?.closed(this.#reason);
  }
}
