/**
 * Ends the requests over streamable HTTP whose answer will never come: the stream that was to bring it was cut or ended without it, and
 * could not be resumed. The library would wait for the time limit of the request, which a dead server does not shorten.
 */
import { type JSONRPCMessage, ProtocolError, type StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

type Deliver = NonNullable<StreamableHTTPClientTransport["onmessage"]>;

/** Ours alone: no server can send this very object. */
const LOST = Object.freeze({ isAnswerLost: true });
const WORDS = "the connection was cut before the answer was complete, so what the server has done of it is unknown";

export const isAnswerLost = (error: unknown): boolean => error instanceof ProtocolError && error.data === LOST;

export function watchAnswers(transport: StreamableHTTPClientTransport): void {
  /** The requests that have no answer yet. */
  const open = new Set<string | number>();
  let deliver: Deliver | undefined;
  // The client sets it when it connects, and looks after it from then on.
  Object.defineProperty(transport, "onmessage", {
    get: () => deliver,
    set: (next: Deliver | undefined) => {
      deliver =
        next &&
        ((message: JSONRPCMessage) => {
          if (!("method" in message) && message.id !== undefined) open.delete(message.id);
          next(message);
        });
    },
  });
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const ids = [message].flat().flatMap((each) => ("method" in each && "id" in each ? [each.id] : []));
    for (const id of ids) open.add(id);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      for (const id of ids)
        if (open.has(id))
          transport.onmessage?.({ jsonrpc: "2.0", id, error: { code: -32_000, message: WORDS, data: LOST } });
    };
    try {
      await send(message, { ...options, onRequestStreamEnd });
    } catch (error) {
      for (const id of ids) open.delete(id);
      throw error;
    }
  };
}
