/** Requests to a remote server whose answers have an end: a message may be as large as one of a process, and no larger. */
import { type FetchLike, STDIO_DEFAULT_MAX_BUFFER_SIZE } from "@modelcontextprotocol/client";

const MAX_BYTES = STDIO_DEFAULT_MAX_BUFFER_SIZE;
/** Longer than any explanation. */
const MAX_REFUSAL = 64 * 1024;
const [LF, CR] = [10, 13];

export function boundedFetch(send: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await send(url, init);
    const { ok, body, status, statusText, headers } = response;
    if (!body) return response;
    if (!ok) return new Response(body.pipeThrough(cutAfter(MAX_REFUSAL)), { status, statusText, headers });
    const isStream = (headers.get("content-type") ?? "").startsWith("text/event-stream");
    return new Response(body.pipeThrough(bounded({ isStream })), { status, statusText, headers });
  };
}

/** A stream of events may go on for ever, one event of it may not: an empty line ends it. */
function bounded({ isStream }: { isStream: boolean }): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let isLineEmpty = false;
  return new TransformStream({
    transform(chunk, controller) {
      if (!isStream) size += chunk.length;
      else
        for (const byte of chunk) {
          size = byte === LF && isLineEmpty ? 0 : size + 1;
          if (byte !== CR) isLineEmpty = byte === LF;
        }
      if (size > MAX_BYTES) controller.error(new Error(`the server sent a message of more than ${MAX_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

/** What is said with an error need not be read to its end, if it has one. */
function cutAfter(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = bytes;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= Math.min(left, chunk.length);
      if (left === 0) controller.terminate();
    },
  });
}
