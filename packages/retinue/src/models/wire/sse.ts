/** Server-sent events out of the chunks of a body. */
import { createParser } from "eventsource-parser";

/**
 * The parser scans an unfinished line again with every chunk; holding chunks back until a line ends keeps the work linear. It also makes an
 * error of every line that is no field, so these are taken out of what is long.
 */
export class EventDecoder {
  readonly #decoder = new TextDecoder();
  readonly #parser: ReturnType<typeof createParser>;
  #held: string[] = [];

  /** `onData` gets the data of each event. */
  constructor(onData: (data: string) => void) {
    this.#parser = createParser({ onEvent: ({ data }) => onData(data) });
  }

  push(chunk: Uint8Array): void {
    const text = this.#decoder.decode(chunk, { stream: true });
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    if (end === 0) {
      this.#held.push(text);
      return;
    }
    this.#held.push(text.slice(0, end));
    const lines = this.#held.join("");
    this.#held = end < text.length ? [text.slice(end)] : [];
    this.#parser.feed(fieldsOf(lines));
  }

  end(): void {
    this.#parser.feed(this.#held.join("") + this.#decoder.decode());
    this.#parser.feed("\n\n"); // Some endpoints leave out the blank line after the last event.
  }
}

const LONG = 2048;

/** Not by the flag `m`, for which a line also ends where Unicode says so. */
const fieldsOf = (lines: string): string =>
  lines.length < LONG ? lines : lines.replaceAll(/(?<![^\r\n])(?!data|event|id|retry|[:\r\n])[^\r\n]+/g, ":");
