/** Server-sent events out of body chunks. */
import { createParser } from "eventsource-parser";

export interface ServerEvent {
  event: string | undefined;
  data: string;
}

export async function* serverEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const ready: ServerEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => ready.push({ event, data }) });
  for await (const text of wholeLines(chunks)) {
    parser.feed(text);
    yield* ready.splice(0);
  }
  parser.feed("\n\n"); // Some endpoints leave out the blank line after the last event.
  yield* ready;
}

/**
 * The parser scans an unfinished line again with every chunk; holding chunks back until a line ends keeps the work linear. It also makes an
 * error of every line that is no field, so these are taken out of what is long.
 */
async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    if (end === 0) {
      held.push(text);
      continue;
    }
    held.push(text.slice(0, end));
    yield fieldsOf(held.join(""));
    held = [text.slice(end)];
  }
  yield held.join("") + decoder.decode();
}

const LONG = 2048;

/** Not by the flag `m`, for which a line also ends where Unicode says so. */
const fieldsOf = (lines: string): string =>
  lines.length < LONG ? lines : lines.replaceAll(/(?<![^\r\n])(?!data|event|id|retry|[:\r\n])[^\r\n]+/g, ":");
