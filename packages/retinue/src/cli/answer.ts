/**
 * What a run prints on standard output: the answer as it comes, only the last message, or every event as a line of JSON.
 *
 * An answer as text has no escape sequences, also where it goes to a file: somebody may look at that on a screen.
 */
import { visibleText } from "@retinue/protocol";
import type { SessionEvent } from "@retinue/sdk";
import type { Terminal } from "./terminal.ts";

export interface Answer {
  receive(event: SessionEvent): void;
  /** The run is over; `text` is the main agent's last message. */
  end(text: string): void;
}

/**
 * Every message of the main agent, piece by piece, with an empty line between two messages.
 *
 * An answer that is cut off comes again with another message id. What is written stays; of the new one, only what follows is written, as
 * long as it begins with the same text.
 */
export function streamedAnswer(terminal: Pick<Terminal, "out" | "note">): Answer {
  let streaming: string | undefined;
  let last = "";
  let hasSpoken = false;
  /** What the message has so far, and what of it was written by an attempt that was cut off and is still to be compared. */
  let text = "";
  let repeated = "";
  const open = (messageId: string) => {
    if (streaming === messageId) return;
    if (streaming !== undefined) {
      repeated = text.length > repeated.length ? text : repeated;
      streaming = messageId;
      text = "";
      return;
    }
    if (hasSpoken) terminal.out("\n");
    hasSpoken = true;
    streaming = messageId;
    last = "";
    text = "";
    repeated = "";
  };
  const write = (piece: string) => {
    if (piece === "") return;
    terminal.out(visibleText(piece));
    last = piece;
  };
  const add = (piece: string) => {
    const known = repeated.slice(text.length, text.length + piece.length);
    text += piece;
    if (piece.startsWith(known)) write(piece.slice(known.length));
    else beginAnew();
  };
  const beginAnew = () => {
    terminal.out(last.endsWith("\n") ? "\n" : "\n\n");
    terminal.note("! the answer was cut off, and what follows is a new one");
    repeated = "";
    write(text);
  };
  const close = () => {
    if (streaming !== undefined && !last.endsWith("\n")) terminal.out("\n");
    streaming = undefined;
  };
  return {
    receive(event) {
      if (event.agentId !== undefined) return;
      if (event.type === "assistant.message_delta") {
        open(event.data.messageId);
        add(event.data.deltaContent);
      } else if (event.type === "assistant.message") {
        const wasStreamed = streaming === event.data.messageId;
        if (!wasStreamed && event.data.content !== "") {
          open(event.data.messageId);
          add(event.data.content);
        }
        if (event.data.content !== "" && text.length < repeated.length) beginAnew();
        close();
      }
    },
    end(text) {
      close();
      if (!hasSpoken) print(terminal, text);
    },
  };
}

/** Nothing until the end, then only the last message. */
export function lastAnswer(terminal: Pick<Terminal, "out">): Answer {
  return { receive: () => undefined, end: (text) => print(terminal, text) };
}

export function eventLines(terminal: Pick<Terminal, "out">): Answer {
  return { receive: (event) => terminal.out(`${JSON.stringify(event)}\n`), end: () => undefined };
}

function print(terminal: Pick<Terminal, "out">, text: string): void {
  if (text !== "") terminal.out(visibleText(text.endsWith("\n") ? text : `${text}\n`));
}
