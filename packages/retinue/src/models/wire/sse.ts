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

/** The parser scans an unfinished line again with every chunk; holding chunks back until a line ends keeps the work linear. */
async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    held.push(text);
    if (!/[\r\n]/.test(text)) continue;
    yield held.join("");
    held = [];
  }
  yield held.join("") + decoder.decode();
}
