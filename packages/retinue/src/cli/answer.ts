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

/** Every message of the main agent, piece by piece, with an empty line between two messages. */
export function streamedAnswer(terminal: Pick<Terminal, "out">): Answer {
  let streaming: string | undefined;
  let last = "";
  let hasSpoken = false;
  const open = (messageId: string) => {
    if (streaming === messageId) return;
    close();
    if (hasSpoken) terminal.out("\n");
    hasSpoken = true;
    streaming = messageId;
    last = "";
  };
  const write = (text: string) => {
    terminal.out(visibleText(text));
    if (text !== "") last = text;
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
        write(event.data.deltaContent);
      } else if (event.type === "assistant.message") {
        const wasStreamed = streaming === event.data.messageId;
        if (!wasStreamed && event.data.content !== "") {
          open(event.data.messageId);
          write(event.data.content);
        }
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
