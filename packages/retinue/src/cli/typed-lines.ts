/**
 * The lines that somebody types, one for each question. What was typed ahead stays for the next one.
 *
 * The terminal edits the line and sends Ctrl-C as a signal; nothing here touches its mode.
 */
import { StringDecoder } from "node:string_decoder";

export class TypedLines {
  readonly #stdin: NodeJS.ReadStream;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #hasEnded = false;

  constructor(stdin: NodeJS.ReadStream) {
    // A terminal that is gone fails; so may an input that nobody reads at present.
    this.#stdin = stdin.on("error", () => {
      this.#hasEnded = true;
    });
  }

  /** The next line; undefined when the input is over, or was before, and when the signal says so. */
  next(signal?: AbortSignal): Promise<string | undefined> {
    return new Promise((resolve) => {
      const stdin = this.#stdin;
      const finish = (line: string | undefined) => {
        signal?.removeEventListener("abort", onAbort);
        stdin.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onEnd).pause();
        resolve(line);
      };
      const onAbort = () => finish(undefined);
      const onData = (piece: Buffer | string) => {
        this.#rest += typeof piece === "string" ? piece : this.#decoder.write(piece);
        const line = this.#takeLine();
        if (line !== undefined) finish(line);
      };
      const onEnd = () => {
        this.#hasEnded = true;
        finish(this.#takeLast());
      };
      if (signal?.aborted) return finish(undefined);
      const typedAhead = this.#takeLine();
      if (typedAhead !== undefined) return finish(typedAhead);
      // A stream that ended before tells nobody again: waiting for it would be waiting for ever.
      if (this.#hasEnded || stdin.readableEnded || stdin.destroyed) return onEnd();
      signal?.addEventListener("abort", onAbort, { once: true });
      stdin.on("data", onData).once("end", onEnd).once("close", onEnd).once("error", onEnd).resume();
    });
  }

  #takeLine(): string | undefined {
    const end = this.#rest.indexOf("\n");
    if (end < 0) return undefined;
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }

  #takeLast(): string | undefined {
    const last = this.#rest;
    this.#rest = "";
    return last === "" ? undefined : last;
  }
}
